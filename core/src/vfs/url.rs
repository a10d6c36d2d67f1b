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

fn remote(scheme: &str, url: &str) -> Result<(Arc<dyn Vfs>, String)> {
    Err(Error::Unsupported(format!("{url}: {scheme}: in this build")))
}

/// The scheme of a URL and what follows the colon. One letter is a drive on Windows, not a scheme.
fn scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let valid = scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (valid && rest.starts_with('/')).then_some((scheme, rest))
}
