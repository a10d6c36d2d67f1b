//! Opening an array: one round of listings, one round of reads.

use super::snapshot::{Array, OpenOptions, Window};
use crate::context::Context;
use crate::error::Result;

impl Array {
    /// Opens the array at `path` in the store of `context`.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`] if there is no array; [`crate::Error::Key`] without the right key;
    /// [`crate::Error::Corrupt`] and [`crate::Error::Io`] name the file.
    pub async fn open(context: &Context, path: &str, options: &OpenOptions) -> Result<Self> {
        let _ = (context, path, options);
        unimplemented!()
    }

    /// The same array in another window of time, from a fresh look at the store.
    ///
    /// # Errors
    /// As [`Array::open`].
    pub async fn at(&self, window: Window) -> Result<Self> {
        let options = OpenOptions {
            window,
            ..self.0.options.clone()
        };
        Self::open(&self.0.context, &self.0.path, &options).await
    }
}
