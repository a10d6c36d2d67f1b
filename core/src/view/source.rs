//! Opens the source of a view.

use std::path::Path;

use super::resolver::Source;
use crate::array::OpenOptions;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::vfs;

impl Source {
    /// The array, group or folder of arrays at a path or URL, as [`vfs::open_url`] reads it. Reads nothing yet.
    ///
    /// ```
    /// use hyperslab::OpenOptions;
    /// use hyperslab::view::Source;
    /// # fn main() -> hyperslab::Result<()> {
    /// let source = Source::at_url("/data/quakes", OpenOptions::default())?;
    /// assert_eq!(source.name, "quakes");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the URL is not supported or names a local file.
    pub fn at_url(url: &str, options: OpenOptions) -> Result<Self> {
        let (store, path) = vfs::open_url(url)?;
        let local = vfs::local_path(url);
        if local.is_some_and(Path::is_file) {
            return Err(Error::invalid(
                "this is a file; give an array, a group or a folder of arrays",
            ));
        }
        // The query of a URL may contain a signature.
        let unsigned = match local {
            Some(_) => url,
            None => url.split(['?', '#']).next().unwrap_or_default(),
        };
        let last = unsigned.trim_end_matches('/').rsplit('/').next();
        let name = last.filter(|n| !n.is_empty() && *n != ".").unwrap_or("arrays");
        // Groups name their members by absolute paths, even if the source is a relative path.
        let full = local.and_then(|local| std::path::absolute(local).ok());
        Ok(Self {
            context: Context::new(store),
            url: full.map_or_else(|| url.to_owned(), |full| full.to_string_lossy().into_owned()),
            path,
            options,
            name: name.to_owned(),
        })
    }
}
