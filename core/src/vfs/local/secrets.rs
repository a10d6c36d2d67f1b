//! Whether a file that holds a secret is kept like one.

use std::path::Path;

/// Whether every user of the machine may read the file, as far as its own permissions go.
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
