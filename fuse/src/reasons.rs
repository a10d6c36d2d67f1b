//! The reasons of failed requests, by path.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashlink::LinkedHashMap;

/// The most paths whose reasons are kept.
const PATHS_MAX: usize = 1024;

/// The last failure of each path, for the paths that failed last.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    /// Ordered from the oldest to the newest failure.
    by_path: Mutex<LinkedHashMap<String, Reason>>,
}

/// Why a request about a path failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    /// Whether the path was looked up. If not, it exists, and its contents could not be read.
    pub(crate) is_lookup: bool,
    /// The error number.
    pub(crate) number: i32,
    /// The reason in words.
    pub(crate) why: String,
    /// When it failed, in milliseconds since 1970.
    pub(crate) time_ms: u64,
}

impl Reasons {
    /// Keeps a reason. Returns whether the path had none before, or one with another error number.
    pub(crate) fn record(&self, path: &str, reason: Reason) -> bool {
        let number = reason.number;
        let mut by_path = self.lock();
        // Removed first, so that it becomes the newest.
        let before = by_path.remove(path);
        if by_path.len() >= PATHS_MAX {
            by_path.pop_front();
        }
        by_path.insert(path.to_owned(), reason);
        before.is_none_or(|b| b.number != number)
    }

    /// Forgets the reason of a path after a success of the same kind of request.
    pub(crate) fn withdraw(&self, path: &str, is_lookup: bool) {
        let mut by_path = self.lock();
        if by_path.get(path).is_some_and(|r| r.is_lookup == is_lookup) {
            by_path.remove(path);
        }
    }

    /// The newest reason of a file, or of a folder and the names in it: `name: why`.
    pub(crate) fn of(&self, path: &str) -> Option<String> {
        let by_path = self.lock();
        by_path.iter().rev().find_map(|(failed, reason)| {
            if failed == path {
                return Some(reason.why.clone());
            }
            let (folder, name) = failed.rsplit_once('/').unwrap_or(("", failed));
            (folder == path).then(|| format!("{name}: {}", reason.why))
        })
    }

    /// All reasons, the newest first.
    pub(crate) fn newest(&self) -> Vec<(String, Reason)> {
        let by_path = self.lock();
        by_path
            .iter()
            .rev()
            .map(|(path, reason)| (path.clone(), reason.clone()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, LinkedHashMap<String, Reason>> {
        // Code under the lock does not panic, so the data is consistent.
        self.by_path.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(number: i32, is_lookup: bool) -> Reason {
        Reason {
            is_lookup,
            number,
            why: format!("error {number}"),
            time_ms: 7,
        }
    }

    #[test]
    fn a_folder_tells_the_newest_reason_of_its_names() {
        let reasons = Reasons::default();
        assert!(reasons.record("a/b", reason(5, false)));
        assert!(reasons.record("c", reason(2, true)));
        assert!(!reasons.record("c", reason(2, true)) && reasons.record("c", reason(5, true)));
        assert_eq!(reasons.of("a/b").as_deref(), Some("error 5"));
        assert_eq!(reasons.of("a").as_deref(), Some("b: error 5"));
        assert_eq!(reasons.of("").as_deref(), Some("c: error 5"));
        // A folder tells its own reason too, if it is newer.
        reasons.record("a", reason(9, false));
        assert_eq!(reasons.of("a").as_deref(), Some("error 9"));
        let paths: Vec<String> = reasons.newest().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a", "c", "a/b"]);
    }

    #[test]
    fn a_success_withdraws_reasons_of_its_kind() {
        let reasons = Reasons::default();
        reasons.record("a", reason(5, false));
        reasons.withdraw("a", true);
        assert!(reasons.of("a").is_some());
        reasons.withdraw("a", false);
        assert_eq!(reasons.of("a"), None);
    }

    #[test]
    fn the_oldest_reasons_are_dropped() {
        let reasons = Reasons::default();
        for i in 0..=PATHS_MAX {
            reasons.record(&i.to_string(), reason(5, true));
            reasons.record("1", reason(5, true));
        }
        assert_eq!(reasons.newest().len(), PATHS_MAX);
        assert!(reasons.of("0").is_none() && reasons.of("1").is_some());
    }
}
