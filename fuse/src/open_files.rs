//! Which files programs have open, and the bytes of those that are made as a whole.
//!
//! A program reads a file part by part. Were the whole made anew for each part, because other files have pushed it out
//! of the view's memory meanwhile, a copy of two files at once would never end: so an open file keeps its bytes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Open files by their numbers, under a budget in bytes.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<u64, OpenFile>,
    /// Bytes that all of them keep.
    bytes: u64,
}

#[derive(Debug, Default)]
struct OpenFile {
    /// How many times it was opened, less how many times it was closed.
    times: u64,
    whole: Option<Bytes>,
}

impl OpenFiles {
    /// No files yet; together they keep no more than `bytes_max` bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// A program has opened a file.
    pub(crate) fn open(&self, ino: u64) {
        self.lock().files.entry(ino).or_default().times += 1;
    }

    /// A program has closed it. With the last one its bytes go.
    pub(crate) fn close(&self, ino: u64) {
        let mut state = self.lock();
        let Some(file) = state.files.get_mut(&ino) else { return };
        file.times = file.times.saturating_sub(1);
        if file.times == 0 {
            let whole = state.files.remove(&ino).and_then(|f| f.whole);
            state.bytes -= whole.map_or(0, |b| b.len() as u64);
        }
    }

    /// The bytes that an open file has kept.
    pub(crate) fn whole(&self, ino: u64) -> Option<Bytes> {
        self.lock().files.get(&ino)?.whole.clone()
    }

    /// Keeps the bytes of a file while it is open, if there is room.
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

    /// Whether none is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().files.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No foreign code runs while it is held, so what it guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_from_the_first_opening_to_the_last_closing() {
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
    fn no_more_is_kept_than_there_is_room_for() {
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
