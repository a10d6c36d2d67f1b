//! Tells readers that go through a file in order from readers that jump.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hashlink::LinkedHashMap;

/// The most bytes between the end of a read and the start of the next one of the same reader. Operating systems read ahead,
/// and not always in order.
const NEAR_BYTES: u64 = 1 << 20;
/// The readers of a file that are told apart.
const READERS_MAX: usize = 4;
/// The files whose readers are known.
const FILES_MAX: usize = 1 << 10;

/// The ends of the last reads of files, by id.
#[derive(Debug, Default)]
pub(super) struct Readers(Mutex<LinkedHashMap<u64, Vec<u64>>>);

impl Readers {
    /// Whether a reader goes on where it was, or starts at the beginning of the file. Records the read.
    pub(super) fn goes_on(&self, id: u64, range: &Range<u64>) -> bool {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ends = files.remove(&id).unwrap_or_default();
        let same = ends.iter().position(|end| end.abs_diff(range.start) <= NEAR_BYTES);
        match same {
            Some(i) => drop(ends.remove(i)),
            None if ends.len() >= READERS_MAX => drop(ends.remove(0)),
            None => (),
        }
        ends.push(range.end);
        files.insert(id, ends);
        if files.len() > FILES_MAX {
            files.pop_front();
        }
        same.is_some() || range.start <= NEAR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_jump_are_told_from_those_that_go_on() {
        let readers = Readers::default();
        let read = |id, start: u64| readers.goes_on(id, &(start..start + 4096));
        assert!(read(1, 0) && read(1, 4096));
        assert!(!read(1, 1 << 30), "a jump");
        assert!(read(1, 8192) && read(1, (1 << 30) + 4096), "two readers of a file");
        assert!(!read(2, 1 << 30), "another file");
        for i in 2..6 {
            assert!(!read(1, i << 31));
        }
        assert!(!read(1, (1 << 30) + 8192), "its reader is forgotten");
    }

    #[test]
    fn the_number_of_known_files_is_limited() {
        let readers = Readers::default();
        for id in 0..5000 {
            readers.goes_on(id, &(1..2));
        }
        assert_eq!(readers.0.lock().unwrap().len(), FILES_MAX);
    }
}
