//! Walks through everything below a folder.

use super::{Entry, EntryKind, Vfs, VfsExt, check_path, join, split};
use crate::error::{Error, Result};
use crate::limits::{ENTRIES_MAX, FOLDER_DEPTH_MAX};

/// A file or folder found by [`walk`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// Its path relative to the folder being walked.
    pub path: String,
    /// The size of a file in bytes; `None` for a folder.
    pub size: Option<u64>,
}

/// Returns everything below the folder `root` except paths for which `skips` returns true. Folders come before their
/// contents. If a listing leaves out sizes, they are requested.
///
/// # Errors
/// - Errors of the store.
/// - `LimitExceeded` if folders are nested more than 64 deep, or there are more than four million files and
///   folders, because a server may return endless listings.
/// - `InvalidArgument` if a listed name is not valid in a path.
pub async fn walk(vfs: &dyn Vfs, root: &str, skips: impl Fn(&str) -> bool) -> Result<Vec<Walked>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for Entry { name, kind } in vfs.list(&join(root, &folder)).await? {
            let path = join(&folder, &name);
            if skips(&path) {
                continue;
            }
            check_path(&path)?;
            if name.is_empty() || name.contains('/') {
                let why = format!("{name:?}, listed in {:?}, is not a valid name", join(root, &folder));
                return Err(Error::invalid(why));
            }
            let size = match kind {
                EntryKind::Dir => None,
                EntryKind::File(Some(size)) => Some(size),
                EntryKind::File(None) => Some(vfs.size(&join(root, &path)).await?),
            };
            if size.is_none() {
                check_depth(&path)?;
                folders.push(path.clone());
            }
            found.push(Walked { path, size });
            if found.len() > ENTRIES_MAX {
                let what = format!("files and folders in {root:?}; name a folder within");
                return Err(over(what, found.len(), ENTRIES_MAX));
            }
        }
    }
    Ok(found)
}

/// Checks that a path has no more than [`FOLDER_DEPTH_MAX`] parts.
///
/// # Errors
/// `LimitExceeded` if it has more.
pub(super) fn check_depth(path: &str) -> Result<()> {
    let depth = path.split('/').count();
    if depth <= FOLDER_DEPTH_MAX {
        return Ok(());
    }
    let (mut start, mut parts) = (path, depth);
    while parts > 3 {
        (start, parts) = (split(start).0, parts - 1);
    }
    Err(over(
        format!("folders within folders in {start:?}"),
        depth,
        FOLDER_DEPTH_MAX,
    ))
}

fn over(what: String, found: usize, limit: usize) -> Error {
    Error::LimitExceeded {
        what,
        found: found as u64,
        limit: limit as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::block_on;
    use crate::vfs::MemVfs;

    #[test]
    fn finds_files_and_folders_but_what_is_skipped() {
        let mem = MemVfs::new();
        for path in ["r/a/b/c", "r/a/x", "r/.hidden", "elsewhere"] {
            mem.replace(path, "12");
        }
        let found = block_on(walk(&mem, "r", |path| path.starts_with('.'))).unwrap();
        let shown: Vec<_> = found.iter().map(|w| (&*w.path, w.size)).collect();
        assert_eq!(
            shown,
            [("a", None), ("a/b", None), ("a/x", Some(2)), ("a/b/c", Some(2))]
        );
    }

    #[test]
    fn folders_without_end_are_refused() {
        let mem = MemVfs::new();
        mem.replace(["d"; 65].join("/") + "/f", "");
        let e = block_on(walk(&mem, "", |_| false)).unwrap_err();
        assert_eq!(e.code(), "LimitExceeded");
        assert!(e.to_string().contains("folders within folders in \"d/d/d\": 65"), "{e}");
        let mem = MemVfs::new();
        mem.replace(["d"; 64].join("/") + "/f", "");
        assert_eq!(block_on(walk(&mem, "", |_| false)).unwrap().len(), 65);
    }
}
