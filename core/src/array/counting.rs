//! Which fragments are opened, and what becomes of those that cannot be.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Which fragments an open array has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counting<'a> {
    /// Those that readers see.
    Visible,
    /// Those too that others replace, and of all those that can be opened: what keeps the others from it is told here.
    All(&'a Mutex<Vec<Error>>),
}

impl Counting<'_> {
    /// Forgets what an earlier attempt told.
    pub(super) fn begin(self) {
        if let Self::All(damaged) = self {
            damaged.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Whether a fragment was left out because a file of it is not there.
    pub(super) fn lacks_files(self) -> bool {
        let Self::All(damaged) = self else { return false };
        let damaged = damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.iter().any(|e| matches!(e, Error::NotFound { .. }))
    }

    /// What was read of a fragment, or nothing where its error is told and the fragment left out.
    pub(super) fn bear<T>(self, read: Result<T>) -> Result<Option<T>> {
        match (self, read) {
            (_, Ok(read)) => Ok(Some(read)),
            (Self::Visible, Err(e)) => Err(e),
            (Self::All(_), Err(e)) => {
                self.tell(e);
                Ok(None)
            }
        }
    }

    /// Tells what is wrong, where somebody wants to know.
    pub(super) fn tell(self, error: Error) {
        if let Self::All(damaged) = self {
            damaged.lock().unwrap_or_else(PoisonError::into_inner).push(error);
        }
    }
}
