//! Reading: for each batch fetch, decode, assemble.

use super::{Batch, Query, ReadResult};
use crate::array::Array;
use crate::error::{Error, Result};

/// The batches of a streamed read, in the order of the query's layout.
#[derive(Debug)]
pub struct Batches {
    array: Array,
    query: Query,
}

impl Batches {
    /// The next batch; `None` after the last.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        let _ = (&self.array, &self.query);
        unimplemented!()
    }
}

/// What [`Array::verify`] has to say about one file.
#[derive(Debug)]
pub struct Finding {
    /// The file, from the root of the store.
    pub path: String,
    /// What is wrong with it; `None` where it was read without complaint.
    pub error: Option<Error>,
    /// Tiles that were decoded.
    pub tiles: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

impl Array {
    /// Everything that the query asks for, at once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the query does not fit the schema; [`Error::Corrupt`] and
    /// [`Error::Io`] name the file.
    pub async fn read(&self, query: &Query) -> Result<ReadResult> {
        let _ = query;
        unimplemented!()
    }

    /// The same in batches of at most `query.batch_bytes` bytes.
    pub fn batches(&self, query: Query) -> Batches {
        Batches {
            array: self.clone(),
            query,
        }
    }

    /// How many cells the query finds.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub async fn count(&self, query: &Query) -> Result<u64> {
        let _ = query;
        unimplemented!()
    }

    /// Reads every tile of every fragment, and reports on each file.
    ///
    /// # Errors
    /// None for damage, which is reported; only what keeps the check itself from going on.
    pub async fn verify(&self, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let _ = report;
        unimplemented!()
    }
}
