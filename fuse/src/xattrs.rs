//! Extended attributes: facts about a file, and the reason of its last failure.

use std::ffi::OsStr;

use crate::control;
use crate::errno::{FsError, errno, errno_name};
use crate::filesystem::{FileSystem, join, now_ms};
use crate::reasons::Reason;

/// The prefix of extended attributes.
const XATTR: &str = "user.hyperslab.";

impl FileSystem {
    /// The value of an extended attribute.
    ///
    /// # Errors
    /// [`FsError::NoAttribute`]; [`FsError::Stale`].
    pub fn xattr(&self, ino: u64, name: &OsStr) -> Result<String, FsError> {
        let found = self.xattrs(ino)?.into_iter().find(|(n, _)| name == OsStr::new(n));
        found.map(|(_, value)| value).ok_or(FsError::NoAttribute)
    }

    /// All extended attributes: facts about a slice, and the last failure of a file, or of a folder and the names in it.
    ///
    /// # Errors
    /// [`FsError::Stale`].
    pub fn xattrs(&self, ino: u64) -> Result<Vec<(String, String)>, FsError> {
        if control::has(ino) {
            return Ok(Vec::new());
        }
        let (path, facts) = if let Some(put) = self.put_with(ino) {
            (put.path(ino), put.facts(&self.view, ino))
        } else if let Some(path) = self.new_folder(ino) {
            (path, Vec::new())
        } else {
            let inode = self.inode(ino)?;
            (inode.path, inode.node.facts.clone())
        };
        let facts = facts.into_iter().map(|(name, value)| (format!("{XATTR}{name}"), value));
        let reason = self.reasons.of(&path);
        Ok(facts
            .chain(reason.map(|text| (format!("{XATTR}error"), text)))
            .collect())
    }

    /// Records a failure for the extended attributes of the file or folder and of its parent, and reports it if existing
    /// data cannot be read.
    pub fn complain(&self, ino: u64, refusal: FsError) -> FsError {
        self.complain_of(ino, None, refusal)
    }

    /// Records a failure as [`FileSystem::complain`] does; with a name, of the lookup of that name in the folder.
    pub fn complain_of(&self, ino: u64, name: Option<&str>, refusal: FsError) -> FsError {
        let path = match self.put_with(ino) {
            Some(put) => put.path(ino),
            None => self.path_of_folder(ino).unwrap_or_default(),
        };
        let path = name.map_or_else(|| path.clone(), |name| join(&path, name));
        self.complain_at(&path, name.is_some(), refusal)
    }

    /// Records a failure of the file or folder at a path.
    pub(crate) fn complain_at(&self, path: &str, is_lookup: bool, refusal: FsError) -> FsError {
        let reason = Reason {
            is_lookup,
            number: errno(&refusal).code(),
            why: refusal.to_string(),
            time_ms: now_ms(),
        };
        log::debug!("{path:?}: {}: {}", errno_name(reason.number), reason.why);
        let is_new = self.reasons.record(path, reason);
        if is_new && refusal.is_failure() {
            (self.tell)(path, &refusal);
        }
        refusal
    }
}
