//! The shell of a write: data files, then metadata, then the commit.

use super::{Cells, WriteOptions};
use crate::array::Array;
use crate::column::Column;
use crate::error::Result;
use crate::format::metadata::Entry;
use crate::scalar::ScalarRange;

/// Writes one fragment from any number of batches of cells in global order.
///
/// Nothing of it is visible before [`FragmentWriter::finish`] has returned; a writer that is dropped
/// leaves files that readers ignore.
#[derive(Debug)]
pub struct FragmentWriter {}

impl FragmentWriter {
    /// Adds the next cells: every attribute once and, for sparse arrays, every dimension, by name.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if columns do not fit the schema or each other, or cells are
    /// out of order, outside the domain, or repeated where the array allows no duplicates.
    pub async fn push(&mut self, columns: Vec<(String, Column)>) -> Result<()> {
        let _ = columns;
        unimplemented!()
    }

    /// Writes what is left and commits. Returns the fragment's name.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if a dense box is not full; [`crate::Error::Io`].
    pub async fn finish(self) -> Result<String> {
        unimplemented!()
    }
}

impl Array {
    /// Writes cells as one fragment and returns its name. This snapshot does not see it; open the
    /// array again to read what was written.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if columns do not fit the schema, cells are outside the domain,
    /// or are repeated where the array allows no duplicates; [`crate::Error::Io`].
    pub async fn write(&self, cells: Cells, options: &WriteOptions) -> Result<String> {
        let _ = (cells, options);
        unimplemented!()
    }

    /// Starts a fragment whose cells will arrive in global order. `region` is the box of a dense
    /// write, made of whole tiles; `None` for the whole domain, and for sparse arrays.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] for a box that is not made of whole tiles.
    pub async fn writer(&self, region: Option<Vec<ScalarRange>>, options: &WriteOptions) -> Result<FragmentWriter> {
        let _ = (region, options);
        unimplemented!()
    }

    /// Sets and removes keys of the array's metadata, all at once. No entries, no file.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub async fn write_metadata(&self, entries: &[Entry], options: &WriteOptions) -> Result<()> {
        let _ = (entries, options);
        unimplemented!()
    }
}
