//! Counts open files.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often each file is open, by inode.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(Mutex<HashMap<u64, u64>>);

impl OpenFiles {
    /// Counts an opened file.
    pub(crate) fn open(&self, ino: u64) {
        *self.lock().entry(ino).or_default() += 1;
    }

    /// Counts a closed file.
    pub(crate) fn close(&self, ino: u64) {
        let mut files = self.lock();
        let Some(times) = files.get_mut(&ino) else { return };
        *times -= 1;
        if *times == 0 {
            files.remove(&ino);
        }
    }

    /// The number of open files.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no file is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        // Code under the lock does not panic, so the data is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_open_until_its_last_close() {
        let files = OpenFiles::default();
        files.close(7);
        files.open(7);
        files.open(7);
        files.close(7);
        assert!(!files.is_empty());
        files.close(7);
        assert!(files.is_empty());
    }
}
