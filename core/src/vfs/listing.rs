//! The lists of files that web servers give: nginx's and Caddy's JSON, and HTML pages of links. Pure.

use serde::Deserialize;

use super::path::percent_decode;
use super::{Entry, EntryKind};
use crate::sort::sort_by;

/// What a server's answer for a folder turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum FolderIndex {
    /// The folder's children, sorted by name.
    Entries(Vec<Entry>),
    /// Not a list in any form known here.
    Unknown,
}

/// Reads the answer `text` of content type `kind`.
pub fn parse_index(kind: &str, text: &str) -> FolderIndex {
    let entries = if kind.contains("json") {
        serde_json::from_str::<Vec<Item>>(text)
            .ok()
            .map(|items| items.into_iter().filter_map(Item::entry).collect())
    } else if kind.contains("html") {
        // A page of links is a listing only if it says so; every server's own does.
        let title =
            text.contains("Index of") || text.contains("Directory listing") || text.contains("directory listing");
        title.then(|| links(text).filter_map(|link| entry_of_link(&link)).collect())
    } else {
        None
    };
    entries.map_or(FolderIndex::Unknown, |entries| FolderIndex::Entries(in_order(entries)))
}

/// The children of a folder in the order of [`Vfs::list`](super::Vfs::list), none of them named twice.
pub fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    sort_by(&mut entries, Ord::cmp);
    entries.dedup_by(|a, b| a.name == b.name);
    entries
}

/// One child in JSON: `type` is nginx's and our own server's, `is_dir` is Caddy's.
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

/// The targets of the page's links.
fn links(html: &str) -> impl Iterator<Item = String> {
    html.split("href=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let link = rest.get(1..)?.split(quote).next()?;
        Some(link.replace("&amp;", "&").replace("&#39;", "'").replace("&quot;", "\""))
    })
}

/// A link to a child: relative, of one part. Others lead up, sort the page or leave it.
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
    fn a_home_page_is_no_listing() {
        check("text/html", r#"<a href="about">About us</a>"#, "unknown");
        check("application/json", r#"{"error":"no"}"#, "unknown");
        check("image/png", "", "unknown");
    }
}
