//! Helpers for tests of the file system without a kernel.

use std::ffi::OsStr;

use hyperslab_fuse::errno::{FsError, errno};
use hyperslab_fuse::filesystem::{Attributes, FileSystem, ROOT};

/// Looks up a path from the root.
pub fn find(files: &FileSystem, path: &str) -> Result<Attributes, FsError> {
    let mut found = files.attributes(ROOT)?;
    for name in path.split('/') {
        found = files.lookup(found.ino, OsStr::new(name))?;
    }
    Ok(found)
}

/// The error number of a failure.
pub fn number(refusal: FsError) -> i32 {
    i32::from(errno(&refusal))
}
