//! Opens stores from paths and URLs, and redacts URLs for messages.

use std::borrow::Cow;
use std::sync::Arc;

use super::Vfs;
use crate::error::{Error, Result};

/// Opens the store at `url`. Returns it with the path in it that `url` names; the empty path is the root. Text without
/// a scheme is a path on the local disk.
///
/// # Errors
/// `Unsupported` if this build does not support the scheme.
pub fn open_url(url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    match scheme(url) {
        None => local(url),
        Some(("file", rest)) => local(rest.strip_prefix("//").unwrap_or(rest)),
        Some((scheme, _)) => remote(scheme, url),
    }
}

/// Opens the store of the single file at `url`. Returns it with the path of the file in it, which may be empty. The same
/// as [`open_url`], but no manifest is read from web servers, which have one for folders only.
///
/// # Errors
/// `Unsupported` if this build does not support the scheme.
pub fn open_file_url(url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    #[cfg(feature = "object-store")]
    if let Some(("http" | "https", _)) = scheme(url) {
        return Ok((Arc::new(super::HttpVfs::new(url)?), String::new()));
    }
    open_url(url)
}

/// The local path named by a path or a `file:` URL, or `None` for other URLs.
pub fn local_path(url: &str) -> Option<&std::path::Path> {
    match scheme(url) {
        None => Some(url.as_ref()),
        Some(("file", rest)) => Some(rest.strip_prefix("//").unwrap_or(rest).as_ref()),
        Some(_) => None,
    }
}

/// The path of `url` relative to the store at `root`, or `None` if it is outside. Links are not followed.
pub fn path_within(root: &str, url: &str) -> Option<String> {
    let parts = |url: &str| match scheme(url) {
        None => ("file".to_owned(), url.to_owned()),
        Some((scheme, rest)) => (
            scheme.to_ascii_lowercase(),
            rest.strip_prefix("//").unwrap_or(rest).to_owned(),
        ),
    };
    let ((root_scheme, root), (scheme, path)) = (parts(root), parts(url));
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    let inside = rest.is_empty() || rest.starts_with('/');
    let names: Vec<&str> = rest.split('/').filter(|p| !p.is_empty()).collect();
    let plain = !names.iter().any(|p| matches!(*p, "." | ".."));
    (scheme == root_scheme && inside && plain).then(|| names.join("/"))
}

/// Appends `name` to the folder at `url`. A query, such as a signature, stays at the end. Also works for paths.
pub fn join_url(url: &str, name: &str) -> String {
    let query = if scheme(url).is_some() {
        url.find(['?', '#'])
    } else {
        None
    };
    let (folder, query) = url.split_at(query.unwrap_or(url.len()));
    format!("{}/{name}{query}", folder.trim_end_matches('/'))
}

/// Replaces the secrets of all URLs in `text` with `***`: user names, passwords and queries. Use it for every message
/// and log entry that may contain a URL.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`');
        let is_url = before.ends_with(|c: char| c.is_ascii_alphanumeric());
        let (url, others) = match is_url {
            true => after.split_at(after.find(ends).unwrap_or(after.len())),
            false => ("", after),
        };
        push_redacted(url, &mut shown);
        rest = others;
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Appends the part of a URL after `://`, redacted, and any punctuation that follows the URL in the sentence.
fn push_redacted(url: &str, shown: &mut String) {
    let host_end = url.find(['/', '?', '#']).unwrap_or(url.len());
    let (host, rest) = url.split_at(host_end);
    match host.rsplit_once('@') {
        Some((_, host)) => shown.extend(["***@", host]),
        None => shown.push_str(host),
    }
    let Some((path, query)) = rest.split_once('?') else {
        shown.push_str(rest);
        return;
    };
    let secret = query.trim_end_matches([')', ':', ';', ',', '.', '\'']);
    shown.extend([path, "?", if secret.is_empty() { "" } else { "***" }]);
    shown.push_str(query.get(secret.len()..).unwrap_or_default());
}

#[cfg(feature = "fs")]
fn local(path: &str) -> Result<(Arc<dyn Vfs>, String)> {
    if path.is_empty() {
        return Err(Error::invalid(
            "the path is empty; give the path of an array, a group or a folder",
        ));
    }
    Ok((Arc::new(super::LocalVfs::new(path)), String::new()))
}

#[cfg(not(feature = "fs"))]
fn local(path: &str) -> Result<(Arc<dyn Vfs>, String)> {
    Err(Error::Unsupported(format!("{path}: local files, in this build")))
}

#[cfg(feature = "object-store")]
fn remote(scheme: &str, url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    use super::{HttpVfs, ManifestVfs, ObjectVfs};
    let vfs: Arc<dyn Vfs> = match scheme {
        "http" | "https" => Arc::new(ManifestVfs::checked(Arc::new(HttpVfs::new(url)?))),
        _ => Arc::new(ObjectVfs::from_url(url)?),
    };
    Ok((vfs, String::new()))
}

#[cfg(not(feature = "object-store"))]
fn remote(scheme: &str, url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    let why = format!("{scheme} addresses, in this build; build it with the feature `object-store`");
    Err(Error::Unsupported(format!("{}: {why}", redact(url))))
}

/// The scheme of a URL and the text after the colon. A single letter is a Windows drive, not a scheme.
fn scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let valid = scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (valid && rest.starts_with('/')).then_some((scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::VfsExt;

    #[test]
    fn schemes() {
        assert_eq!(scheme("s3://bucket/x"), Some(("s3", "//bucket/x")));
        assert_eq!(scheme("file:/tmp/x"), Some(("file", "/tmp/x")));
        for path in ["a/b", "/a:b/c", "C:/arrays", "temp@0:100", "./s3:x"] {
            assert_eq!(scheme(path), None, "{path}");
        }
    }

    #[test]
    fn secrets_of_urls_are_not_shown() {
        for (text, shown) in [
            ("no address", "no address"),
            ("cannot open https://h/x: why", "cannot open https://h/x: why"),
            ("https://me:secret@h:80/x/y", "https://***@h:80/x/y"),
            ("https://a@b@h", "https://***@h"),
            ("(https://h/x?X-Amz-Signature=ab/c): why?", "(https://h/x?***): why?"),
            (
                "az://c/x?sig=a%2Fb&se=1 and http://u:p@h?t=1.",
                "az://c/x?*** and http://***@h?***.",
            ),
            ("cannot open 'https://h/?k=1'; try", "cannot open 'https://h/?***'; try"),
            ("https://h/x?sig=a/b.tdb: not found", "https://h/x?***: not found"),
            ("a://", "a://"),
            ("\u{e9}://me@h", "\u{e9}://me@h"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }

    #[test]
    fn names_come_before_the_query() {
        assert_eq!(join_url("https://h/x/?sig=a/b", "y"), "https://h/x/y?sig=a/b");
        assert_eq!(join_url("https://h/x", "y/z"), "https://h/x/y/z");
        assert_eq!(join_url("dir?/x/", "y"), "dir?/x/y");
    }

    #[test]
    fn paths_in_a_store() {
        for (root, url, path) in [
            ("/a/g", "file:///a/g/x/y", Some("x/y")),
            ("file:///a/g/", "/a/g/x/", Some("x")),
            ("/a/g", "/a/g", Some("")),
            ("/a/g", "/a/gg/x", None),
            ("/a/g", "/a/g/../x", None),
            ("s3://b/g", "s3://b/g/x", Some("x")),
            ("s3://b/g", "gs://b/g/x", None),
            ("s3://b/g", "/b/g/x", None),
        ] {
            assert_eq!(path_within(root, url).as_deref(), path, "{root} {url}");
        }
    }

    #[test]
    fn paths_on_the_local_disk() {
        for (url, path) in [
            ("a/b", Some("a/b")),
            ("foo://y", None),
            ("a/x://y", Some("a/x://y")),
            ("file:///tmp/a%20b", Some("/tmp/a%20b")),
            ("s3:/bucket/x", None),
        ] {
            assert_eq!(local_path(url), path.map(std::path::Path::new), "{url}");
        }
    }

    #[cfg(feature = "fs")]
    #[test]
    fn local_paths_and_file_urls() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), "x").unwrap();
        let path = dir.path().to_str().unwrap();
        for url in [path.to_owned(), format!("file://{path}"), format!("file:{path}")] {
            let (vfs, at) = open_url(&url).unwrap();
            assert_eq!(
                crate::blocking::block_on(vfs.read_all(&super::super::join(&at, "f"))).unwrap(),
                "x"
            );
        }
        assert!(open_url("").is_err());
    }
}
