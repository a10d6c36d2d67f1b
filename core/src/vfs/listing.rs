//! Parses the folder listings of web servers: the JSON of nginx and Caddy, and HTML pages of links. Does no I/O.

use serde::Deserialize;

use super::path::percent_decode;
use super::{Entry, EntryKind};
use crate::sort::sort_by;

/// The result of parsing a server's response for a folder.
#[derive(Debug, PartialEq, Eq)]
pub enum FolderIndex {
    /// The folder's children, sorted by name.
    Entries(Vec<Entry>),
    /// The response is not a listing in a known form.
    Unknown,
}

/// Parses the response `text` with the content type `kind`.
pub fn parse_index(kind: &str, text: &str) -> FolderIndex {
    let entries = if kind.contains("json") {
        serde_json::from_str::<Vec<Item>>(text)
            .ok()
            .map(|items| items.into_iter().filter_map(Item::entry).collect())
    } else if kind.contains("html") {
        // Most servers say in the page that it is a listing. Otherwise it must consist of nothing but links.
        let title =
            text.contains("Index of") || text.contains("Directory listing") || text.contains("directory listing");
        ((title && !is_cut(text)) || is_bare(text))
            .then(|| links(text).filter_map(|link| entry_of_link(&link)).collect())
    } else {
        None
    };
    entries.map_or(FolderIndex::Unknown, |entries| FolderIndex::Entries(in_order(entries)))
}

/// Whether the response `body` with the content type `kind` to a request for a file, or part of one, is a web page.
/// Many sites serve such a page with status 200 for files that do not exist.
pub fn is_page(kind: &str, body: &[u8]) -> bool {
    let body = body.trim_ascii();
    let starts = |with: &[u8]| body.get(..with.len()).is_some_and(|b| b.eq_ignore_ascii_case(with));
    let ends = |with: &[u8]| body.last_chunk::<7>().is_some_and(|b| b.eq_ignore_ascii_case(with));
    kind.contains("html") && (starts(b"<!doctype html") || starts(b"<html") || ends(b"</html>"))
}

/// Sorts the children of a folder as [`Vfs::list`](super::Vfs::list) does, and removes duplicate names.
pub fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    sort_by(&mut entries, Ord::cmp);
    entries.dedup_by(|a, b| a.name == b.name);
    entries
}

/// One child in JSON. nginx and our own server use `type`, Caddy uses `is_dir`.
#[derive(Deserialize)]
struct Item {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    is_dir: Option<bool>,
    size: Option<u64>,
}

impl Item {
    fn entry(self) -> Option<Entry> {
        let is_dir = self.kind.as_deref() == Some("directory") || self.is_dir == Some(true);
        let name = self.name.trim_end_matches('/').to_owned();
        let kind = if is_dir {
            EntryKind::Dir
        } else {
            EntryKind::File(self.size)
        };
        usable(&name).then_some(Entry { name, kind })
    }
}

/// Whether the page is truncated, so that links may be missing.
fn is_cut(html: &str) -> bool {
    let lower = html.to_ascii_lowercase();
    lower.contains("<html") && !lower.contains("</html")
}

/// Whether a page consists of nothing but links, one per line in a `<pre>`, as Go's file server writes it. A site's
/// fallback page has a title, scripts or a body.
fn is_bare(html: &str) -> bool {
    let is_link =
        |line: &str| line.starts_with("<a href=\"") && line.ends_with("</a>") && line.matches('<').count() == 2;
    let Some((head, list)) = html.split_once("<pre>") else {
        return false;
    };
    head.lines()
        .all(|line| ["", "<!doctype html>"].contains(&line) || line.starts_with("<meta name=\"viewport\" "))
        && list
            .trim_end()
            .strip_suffix("</pre>")
            .is_some_and(|links| links.lines().all(|line| line.is_empty() || is_link(line)))
}

/// The targets of all links of the page.
fn links(html: &str) -> impl Iterator<Item = String> {
    html.split("href=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let link = rest.get(1..)?.split(quote).next()?;
        Some(link.replace("&amp;", "&").replace("&#39;", "'").replace("&quot;", "\""))
    })
}

/// Converts a link to a child, which is relative and has one part. Other links lead up, sort the page or leave it.
fn entry_of_link(link: &str) -> Option<Entry> {
    let link = link.strip_prefix("./").unwrap_or(link);
    let (link, is_dir) = link.strip_suffix('/').map_or((link, false), |l| (l, true));
    if link.contains(['/', '?', '#', ':']) {
        return None;
    }
    let name = percent_decode(link)?;
    usable(&name).then_some(Entry {
        name,
        kind: if is_dir { EntryKind::Dir } else { EntryKind::File(None) },
    })
}

fn usable(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, text: &str, expect: &str) {
        let shown = match parse_index(kind, text) {
            FolderIndex::Unknown => "unknown".to_owned(),
            FolderIndex::Entries(entries) => entries
                .iter()
                .map(|e| match e.kind {
                    EntryKind::Dir => format!("{}/", e.name),
                    EntryKind::File(None) => e.name.clone(),
                    EntryKind::File(Some(n)) => format!("{}:{n}", e.name),
                })
                .collect::<Vec<_>>()
                .join(" "),
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn pages_are_distinguished_from_files() {
        let page = b"\n<!DOCTYPE html>\n<html><body></body></html>\n";
        assert!(is_page("text/html; charset=utf-8", page));
        assert!(is_page("text/html", b"<html>"), "its start");
        assert!(is_page("text/html", b"body></HTML>\n"), "its end");
        assert!(
            !is_page("text/html", b"\x3c\0\0\0"),
            "a file for which the server has no better type"
        );
        assert!(!is_page("application/octet-stream", page));
        assert!(!is_page("text/html", b""));
    }

    #[test]
    fn nginx_json() {
        let text = r#"[{"name":"b","type":"file","mtime":"Wed, 19 Nov 2025","size":3},{"name":"a","type":"directory","mtime":""}]"#;
        check("application/json", text, "a/ b:3");
        check("application/json; charset=utf-8", "[]", "");
    }

    #[test]
    fn caddy_json() {
        let text = r#"[{"name":"a/","size":4096,"url":"./a/","is_dir":true},{"name":"b","size":3,"url":"./b","is_dir":false}]"#;
        check("application/json", text, "a/ b:3");
    }

    #[test]
    fn python_html() {
        let text = r#"<title>Directory listing for /</title><ul><li><a href="__schema/">__schema/</a></li><li><a href="50%25%20off%20%26.bin">x</a></li></ul>"#;
        check("text/html; charset=utf-8", text, "50% off &.bin __schema/");
    }

    #[test]
    fn apache_and_nginx_html() {
        let text = r#"<title>Index of /d</title><a href="?C=N;O=D">Name</a><a href="/">Parent</a><a href="../">../</a><a href="a.tdb">a.tdb</a><a href="http://x/">x</a>"#;
        check("text/html", text, "a.tdb");
    }

    #[test]
    fn a_truncated_page_is_not_a_listing() {
        let page = "<html><title>Index of /d</title><a href=\"a.tdb\">a.tdb</a><a href=\"b.tdb\">b.tdb</a>\n</HTML>";
        check("text/html", page, "a.tdb b.tdb");
        let cut = page.find("<a href=\"b").unwrap_or_default();
        check("text/html", &page[..cut], "unknown");
    }

    #[test]
    fn go_html() {
        let links =
            "<pre>\n<a href=\"__schema/\">__schema/</a>\n<a href=\"a&amp;b%20c.tdb\">a&amp;b c.tdb</a>\n</pre>\n";
        check("text/html; charset=utf-8", links, "__schema/ a&b c.tdb");
        let head = "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n";
        check(
            "text/html; charset=utf-8",
            &format!("{head}{links}"),
            "__schema/ a&b c.tdb",
        );
        check("text/html; charset=utf-8", &format!("{head}<pre>\n</pre>\n"), "");
    }

    #[test]
    fn a_home_page_is_not_a_listing() {
        for page in [
            r#"<!doctype html><html><head><script src="app.js"></script></head><body><div id="root"></div></body></html>"#,
            "<!doctype html>\n<title>App</title>\n<pre>\n<a href=\"a\">a</a>\n</pre>\n",
            "<pre>\n<a href=\"a\">a</a>\n</pre>\n<script src=\"app.js\"></script>",
            "<pre>\nSee <a href=\"a\">a</a>\n</pre>",
            "<pre>\n<a href=\"a\">a</a> <a href=\"b\">b</a>\n</pre>",
            "",
        ] {
            check("text/html", page, "unknown");
        }
        check("text/html", r#"<a href="about">About us</a>"#, "unknown");
        check("application/json", r#"{"error":"no"}"#, "unknown");
        check("image/png", "", "unknown");
    }
}
