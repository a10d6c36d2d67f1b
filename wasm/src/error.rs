//! Converts errors between Rust and JavaScript: the engine's errors become JavaScript errors with a stable `code`,
//! and errors of a JavaScript store become [`Error`].

use hyperslab::Error;
use js_sys::Reflect;
use wasm_bindgen::{JsCast, JsValue};

/// The JavaScript error for `error`, with its message and its `code`.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let mut message = error.to_string();
    if error.wants_key() {
        message.push_str("; set the option `key`");
    }
    let js = js_sys::Error::new(&message);
    js.set_name("HyperslabError");
    // Setting a property of a fresh, ordinary object cannot fail.
    let _ = Reflect::set(&js, &"code".into(), &error.code().into());
    js.into()
}

/// The engine's error for a value that a store threw in a call for `path`.
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

/// The message of a thrown value, which may be of any type.
fn describe(thrown: &JsValue) -> String {
    match thrown.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => thrown.as_string().unwrap_or_else(|| format!("{thrown:?}")),
    }
}
