//! From what a user types to a store.

use std::sync::Arc;

use super::Vfs;
use crate::error::{Error, Result};

/// The store that `url` names, rooted at what it names, and the path in it of what it names (the
/// empty path: the root itself). A text without a scheme is a path on the local disk.
///
/// # Errors
/// `Unsupported` for a scheme that this build does not know.
pub fn open_url(url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    match scheme(url) {
        None => local(url),
        Some(("file", rest)) => local(rest.strip_prefix("//").unwrap_or(rest)),
        Some((scheme, _)) => remote(scheme, url),
    }
}

/// The path on the local disk that a path or a `file:` URL names; `None` for other URLs.
pub fn local_path(url: &str) -> Option<&std::path::Path> {
    match scheme(url) {
        None => Some(url.as_ref()),
        Some(("file", rest)) => Some(rest.strip_prefix("//").unwrap_or(rest).as_ref()),
        Some(_) => None,
    }
}

/// The path of what `url` names in the store at `root`, if it lies there. Links are not followed.
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

#[cfg(feature = "fs")]
fn local(path: &str) -> Result<(Arc<dyn Vfs>, String)> {
    if path.is_empty() {
        return Err(Error::invalid("the path is empty; name an array, a group or a folder"));
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
        "http" | "https" => Arc::new(ManifestVfs::new(Arc::new(HttpVfs::new(url)?))),
        _ => Arc::new(ObjectVfs::from_url(url)?),
    };
    Ok((vfs, String::new()))
}

#[cfg(not(feature = "object-store"))]
fn remote(scheme: &str, url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    Err(Error::Unsupported(format!("{url}: {scheme}: in this build")))
}

/// The scheme of a URL and what follows the colon. One letter is a drive on Windows, not a scheme.
fn scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let valid = scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (valid && rest.starts_with('/')).then_some((scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        assert_eq!(scheme("s3://bucket/x"), Some(("s3", "//bucket/x")));
        assert_eq!(scheme("file:/tmp/x"), Some(("file", "/tmp/x")));
        for path in ["a/b", "/a:b/c", "C:/arrays", "temp@0:100", "./s3:x"] {
            assert_eq!(scheme(path), None, "{path}");
        }
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
