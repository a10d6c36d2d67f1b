//! An array as it was in a window of time: immutable, and cheap to clone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::context::Context;
use crate::filter::Key;
use crate::format::condition::StoredCondition;
use crate::format::enumeration::Enumeration;
use crate::format::schema::Schema;
use crate::scalar::ScalarRange;
use crate::sort::sort_by_number;

use super::fragment::Fragment;

/// An array in a window of time: its schema and the fragments that are visible.
///
/// A snapshot never changes. To see later writes, open the array again with [`Array::at`].
#[derive(Debug, Clone)]
pub struct Array(pub(crate) Arc<Snapshot>);

/// What an [`Array`] shares between its clones.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) context: Context,
    pub(crate) path: String,
    pub(crate) options: OpenOptions,
    pub(crate) schema: Arc<Schema>,
    /// The schema's file in `__schema`, or its path below the array where it is older than that folder.
    pub(crate) schema_name: String,
    pub(crate) fragments: Vec<Arc<Fragment>>,
    /// Oldest first.
    pub(crate) deletes: Vec<Delete>,
    /// Files of array metadata below the array, oldest first.
    pub(crate) metadata_files: Vec<String>,
    /// Those that were asked for, by name.
    pub(crate) enumerations: Mutex<HashMap<String, Arc<Enumeration>>>,
}

/// A delete commit.
#[derive(Debug, Clone)]
pub(crate) struct Delete {
    /// Its path below the array, which lists of processed conditions name.
    pub(crate) path: String,
    /// When, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The condition of the cells that stay.
    pub(crate) keep: StoredCondition,
}

/// A closed window of time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Writes before this are not seen.
    pub start_ms: u64,
    /// Writes after this are not seen.
    pub end_ms: u64,
}

impl Window {
    /// All of time, the future too. libtiledb stops at now unless it is told otherwise; the engine has no
    /// clock, and its callers that have one pass [`Window::at`].
    pub const ALL: Self = Self {
        start_ms: 0,
        end_ms: u64::MAX,
    };

    /// Everything up to and including `t` milliseconds since 1970.
    pub const fn at(t: u64) -> Self {
        Self { start_ms: 0, end_ms: t }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::ALL
    }
}

/// How to open an array.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The writes to see.
    pub window: Window,
    /// The key of an encrypted array.
    pub key: Option<Key>,
}

impl Array {
    /// The schema that results are read with: the latest in the window.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.0.schema
    }

    /// The array's path in its store.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The store, the processors and the cache the array uses.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The key it was opened with.
    pub fn key(&self) -> Option<&Key> {
        self.0.options.key.as_ref()
    }

    /// The window it was opened in.
    pub fn window(&self) -> Window {
        self.0.options.window
    }

    /// The visible fragments, oldest first: a later one wins where two hold the same cell.
    pub fn fragments(&self) -> &[Arc<Fragment>] {
        &self.0.fragments
    }

    /// The times at which something was written or deleted, in milliseconds since 1970, each once, oldest first.
    pub fn times(&self) -> Vec<u64> {
        let deletes = self.deletes().iter().map(|d| d.time_ms);
        let mut times: Vec<u64> = self.fragments().iter().map(|f| f.end_ms).chain(deletes).collect();
        sort_by_number(&mut times, |t| *t);
        times.dedup();
        times
    }

    /// The times of the deletes that count, in milliseconds since 1970, oldest first. Numbers of cells of fragments
    /// include the cells that these hide.
    pub fn delete_times(&self) -> Vec<u64> {
        self.deletes().iter().map(|d| d.time_ms).collect()
    }

    /// The delete commits that count, oldest first.
    pub(crate) fn deletes(&self) -> &[Delete] {
        &self.0.deletes
    }

    /// The same snapshot with these of its fragments only.
    pub(crate) fn with_fragments(&self, fragments: Vec<Arc<Fragment>>) -> Self {
        let s = &*self.0;
        Self(Arc::new(Snapshot {
            context: s.context.clone(),
            path: s.path.clone(),
            options: s.options.clone(),
            schema: Arc::clone(&s.schema),
            schema_name: s.schema_name.clone(),
            fragments,
            deletes: s.deletes.clone(),
            metadata_files: s.metadata_files.clone(),
            enumerations: Mutex::default(),
        }))
    }

    /// The smallest box around all visible cells, a closed range a dimension; `None` if nothing
    /// was written.
    pub fn non_empty_domain(&self) -> Option<Vec<ScalarRange>> {
        self.fragments()
            .iter()
            .filter_map(|f| f.non_empty_domain().map(<[_]>::to_vec))
            .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.union(b)).collect())
    }
}
