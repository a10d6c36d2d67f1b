//! Deletes: of cells by a condition, of fragments by time.

use crate::array::{Array, Window};
use crate::error::Result;
use crate::query::Condition;
use crate::write::WriteOptions;

/// Deletes the cells of a sparse array that fulfil `condition`, from the time of the write on.
/// Returns the name of the delete commit.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] for a dense array, an unknown field, or a test for null, which
/// the format cannot store.
pub async fn delete(array: &Array, condition: &Condition, options: &WriteOptions) -> Result<String> {
    let _ = (array, condition, options);
    unimplemented!()
}

/// Removes the fragments that lie wholly within `window` and returns their names.
///
/// # Errors
/// [`crate::Error::Io`].
pub async fn delete_fragments(array: &Array, window: Window, options: &WriteOptions) -> Result<Vec<String>> {
    let _ = (array, window, options);
    unimplemented!()
}
