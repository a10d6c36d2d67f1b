//! Loads what the Zarr view tells of an array beside its schema.

use futures_util::future;

use crate::array::Array;
use crate::array::sections::load_index;
use crate::error::Result;
use crate::view::fill::{Doubts, Facts};

/// Loads the metadata of the array, and the statistics of fragments that matter.
///
/// # Errors
/// Those of reading the metadata of the array and of its fragments.
pub(super) async fn load(array: &Array) -> Result<Facts> {
    let doubts = Doubts::of(array);
    let sections = doubts.sections();
    let (metadata, ()) = future::try_join(array.metadata(), load_index(array, &sections)).await?;
    Ok(Facts {
        metadata,
        filled: doubts.settled(),
    })
}
