//! Loads the facts about an array that the Zarr view needs besides its schema.

use futures_util::future;

use crate::array::Array;
use crate::array::sections::load_index;
use crate::error::Result;
use crate::view::fill::{Doubts, Facts};

/// Loads the metadata of the array and the needed statistics of its fragments.
///
/// # Errors
/// Errors of reading the metadata of the array and its fragments.
pub(super) async fn load(array: &Array) -> Result<Facts> {
    let doubts = Doubts::of(array);
    let sections = doubts.sections();
    let (metadata, ()) = future::try_join(array.metadata(), load_index(array, &sections)).await?;
    Ok(Facts {
        metadata,
        filled: doubts.settled(),
    })
}
