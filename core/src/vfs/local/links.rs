//! Detects symbolic links to parent folders, which would make a walk endless.

use std::fs;
use std::path::Path;

/// Whether the link `name` in `folder` leads to that folder or to a parent of it, either by real path or along
/// `folder`.
pub(super) fn lead_up(folder: &Path, name: &str) -> bool {
    let (Ok(target), Ok(here)) = (fs::canonicalize(folder.join(name)), fs::canonicalize(folder)) else {
        return false;
    };
    here.starts_with(&target)
        || folder
            .ancestors()
            .any(|f| fs::canonicalize(f).is_ok_and(|f| f == target))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use crate::blocking::block_on;
    use crate::vfs::{LocalVfs, Vfs, VfsExt};

    #[test]
    fn links_that_lead_up_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = LocalVfs::new(dir.path());
        for file in ["a/f", "b/f", "c/d/f"] {
            block_on(vfs.put(file, vec!["x".into()])).unwrap();
        }
        let links = [
            ("up", "a", ".."),
            ("self", "a", "."),
            ("to_b", "a", "../b"),
            ("to_a", "b", "../a"),
            ("d", "a", "../c/d"),
        ];
        for (name, folder, target) in links {
            symlink(target, dir.path().join(folder).join(name)).unwrap();
        }
        let names = |folder: &str| {
            let entries = block_on(vfs.list(folder)).unwrap();
            entries.into_iter().map(|e| e.name).collect::<Vec<_>>()
        };
        assert_eq!(names("a"), ["d", "f", "to_b"]);
        assert_eq!(names("a/to_b"), ["f"]);
        assert_eq!(names("b/to_a"), ["d", "f"]);
        assert_eq!(names("a/d"), ["f"]);
    }
}
