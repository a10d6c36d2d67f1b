//! Listings of folders, for programs and for people.

use hyperslab::internals::vfs::percent_encode;
use serde_json::json;

use super::http::{Body, Response};
use super::tree::Entry;

/// The JSON format of nginx: `[{"name","type","size"}]`.
pub(super) fn json(entries: &[Entry]) -> Response {
    let list: Vec<_> = entries
        .iter()
        .map(|e| match e.size {
            Some(size) => json!({"name": e.name, "type": "file", "size": size}),
            None => json!({"name": e.name, "type": "directory"}),
        })
        .collect();
    page("application/json", serde_json::Value::from(list).to_string())
}

/// A page of links, for browsers and for clients that do not read JSON.
pub(super) fn html(path: &str, entries: &[Entry]) -> Response {
    let title = escape(path);
    let mut rows = String::new();
    if path != "/" {
        rows.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for e in entries {
        let slash = if e.size.is_none() { "/" } else { "" };
        let size = e.size.map_or_else(String::new, |n| format!(" <small>{n}</small>"));
        rows.push_str(&format!(
            "<li><a href=\"./{}{slash}\">{}{slash}</a>{size}</li>\n",
            percent_encode(&e.name),
            escape(&e.name)
        ));
    }
    let text = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{rows}</ul>\n"
    );
    page("text/html; charset=utf-8", text)
}

fn page(kind: &str, text: String) -> Response {
    let headers = vec![
        ("Content-Type", kind.to_owned()),
        ("Cache-Control", "no-cache".to_owned()),
        // The page has nothing but names.
        ("Content-Security-Policy", "default-src 'none'".to_owned()),
    ];
    Response {
        status: 200,
        headers,
        body: Body::Bytes(text.into_bytes()),
    }
}

/// The media type of files that browsers can only save.
pub(super) const BYTES: &str = "application/octet-stream";

/// The media type for a name's extension. The data of arrays must not have a text type, because proxies may compress
/// text, which breaks ranges.
pub(super) fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "ico" => "image/x-icon",
        "txt" | "md" | "csv" => "text/plain; charset=utf-8",
        _ => BYTES,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
