//! Checks the permissions of files that hold secrets.

use std::path::Path;

/// Whether the permissions of the file let every user of the machine read it. Does not consider its folders.
pub fn readable_by_everyone(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let found = std::fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}
