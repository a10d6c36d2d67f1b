//! What every operation needs from outside.

use std::sync::Arc;

use crate::vfs::Vfs;

/// A store.
#[derive(Clone)]
pub struct Context {
    /// The store.
    pub vfs: Arc<dyn Vfs>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Context(..)")
    }
}
