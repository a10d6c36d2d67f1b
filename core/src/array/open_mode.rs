//! Selects the fragments to open, and how to handle those that cannot be opened.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// The fragments to open.
#[derive(Debug, Clone, Copy)]
pub(super) enum OpenMode<'a> {
    /// Only fragments that readers see.
    Visible,
    /// All fragments that can be opened, including those that consolidated fragments replace. Errors of the others are
    /// collected here.
    All(&'a Mutex<Vec<Error>>),
}

impl OpenMode<'_> {
    /// Clears the errors of an earlier attempt.
    pub(super) fn begin(self) {
        if let Self::All(damaged) = self {
            damaged.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Whether a fragment was skipped because one of its files is missing.
    pub(super) fn lacks_files(self) -> bool {
        let Self::All(damaged) = self else { return false };
        let damaged = damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.iter().any(|e| matches!(e, Error::NotFound { .. }))
    }

    /// Returns what was read of a fragment, or `None` if the fragment is skipped and its error collected.
    pub(super) fn or_skip<T>(self, read: Result<T>) -> Result<Option<T>> {
        match (self, read) {
            (_, Ok(read)) => Ok(Some(read)),
            (Self::Visible, Err(e)) => Err(e),
            (Self::All(_), Err(e)) => {
                self.report(e);
                Ok(None)
            }
        }
    }

    /// Collects an error, if errors are collected.
    pub(super) fn report(self, error: Error) {
        if let Self::All(damaged) = self {
            damaged.lock().unwrap_or_else(PoisonError::into_inner).push(error);
        }
    }
}
