//! Tracks open files, and keeps the bytes of rendered files while they are open.
//!
//! A program reads a file in parts. If the view's cache evicted the file between two parts, each part would render it
//! again, and a copy of two files at a time would never end.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Open files by inode, with a budget in bytes.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<u64, OpenFile>,
    /// Total bytes of the kept files.
    bytes: u64,
}

#[derive(Debug, Default)]
struct OpenFile {
    /// The number of times the file was opened minus the number of times it was closed.
    times: u64,
    whole: Option<Bytes>,
}

impl OpenFiles {
    /// Creates an empty set that keeps at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// Counts an opened file.
    pub(crate) fn open(&self, ino: u64) {
        self.lock().files.entry(ino).or_default().times += 1;
    }

    /// Counts a closed file, and frees its bytes after the last close.
    pub(crate) fn close(&self, ino: u64) {
        let mut state = self.lock();
        let Some(file) = state.files.get_mut(&ino) else { return };
        file.times = file.times.saturating_sub(1);
        if file.times == 0 {
            let whole = state.files.remove(&ino).and_then(|f| f.whole);
            state.bytes -= whole.map_or(0, |b| b.len() as u64);
        }
    }

    /// The kept bytes of an open file.
    pub(crate) fn whole(&self, ino: u64) -> Option<Bytes> {
        self.lock().files.get(&ino)?.whole.clone()
    }

    /// Keeps the bytes of a file while it is open, if the budget allows.
    pub(crate) fn keep(&self, ino: u64, whole: &Bytes) {
        let mut state = self.lock();
        let bytes = state.bytes.saturating_add(whole.len() as u64);
        if bytes > self.bytes_max {
            return;
        }
        if let Some(file) = state.files.get_mut(&ino).filter(|f| f.whole.is_none()) {
            file.whole = Some(whole.clone());
            state.bytes = bytes;
        }
    }

    /// Whether no file is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().files.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Code under the lock does not panic, so the data is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_until_the_last_close() {
        let files = OpenFiles::new(100);
        let bytes = Bytes::from_static(b"whole");
        files.keep(7, &bytes);
        assert_eq!(files.whole(7), None);
        files.open(7);
        files.open(7);
        files.keep(7, &bytes);
        files.close(7);
        assert_eq!(files.whole(7), Some(bytes));
        files.close(7);
        assert_eq!(files.whole(7), None);
        assert!(files.is_empty());
        files.close(7);
    }

    #[test]
    fn kept_bytes_stay_within_the_budget() {
        let files = OpenFiles::new(100);
        let bytes = |n: usize| Bytes::from(vec![0; n]);
        for ino in [7, 8, 9] {
            files.open(ino);
        }
        files.keep(7, &bytes(60));
        files.keep(7, &bytes(60));
        files.keep(8, &bytes(41));
        files.keep(9, &bytes(40));
        let kept = || [7, 8, 9].map(|ino| files.whole(ino).is_some());
        assert_eq!(kept(), [true, false, true]);
        files.close(7);
        files.keep(8, &bytes(60));
        assert_eq!(kept(), [false, true, true]);
    }
}
