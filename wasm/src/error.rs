//! Failures across the boundary: the engine's become JavaScript errors with a stable `code`, those
//! of a JavaScript store become the engine's.

use hyperslab::Error;
use js_sys::Reflect;
use wasm_bindgen::{JsCast, JsValue};

/// The JavaScript error that stands for `error`: its message, and its kind in `code`.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let mut message = error.to_string();
    if error.wants_key() {
        message.push_str("; the option `key` gives the key");
    }
    let js = js_sys::Error::new(&message);
    js.set_name("HyperslabError");
    // Setting a property of a fresh, ordinary object cannot fail.
    let _ = Reflect::set(&js, &"code".into(), &error.code().into());
    js.into()
}

/// The engine's error for what a store threw while it worked on `path`.
pub(crate) fn from_js(path: &str, thrown: &JsValue) -> Error {
    let text = |name: &str| Reflect::get(thrown, &name.into()).ok().and_then(|v| v.as_string());
    match text("code").as_deref() {
        Some("NotFound") => Error::not_found(path, text("message").unwrap_or_default()),
        Some("AlreadyExists") => Error::AlreadyExists { path: path.to_owned() },
        Some("Unsupported") => Error::Unsupported(text("message").unwrap_or_default()),
        Some("InvalidArgument") => Error::InvalidArgument(text("message").unwrap_or_default()),
        _ if text("name").as_deref() == Some("AbortError") => Error::Cancelled,
        _ => Error::io(path, describe(thrown)),
    }
}

/// What was thrown, in words: anything can be.
fn describe(thrown: &JsValue) -> String {
    match thrown.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => thrown.as_string().unwrap_or_else(|| format!("{thrown:?}")),
    }
}
