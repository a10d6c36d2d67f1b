//! Gives listings to a store that cannot list, from its manifest.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future;
use futures_util::lock::Mutex;

use super::{MANIFEST, Manifest};
use crate::error::{Error, Result};
use crate::vfs::mem::children;
use crate::vfs::{
    BoxFuture, Capabilities, Content, Deletion, Entry, EntryKind, Extent, FileWriter, Neighbours, Vfs, VfsExt,
    WriteMode, join,
};

/// A store that answers from the manifest in its root, if it has one, and otherwise from `inner`.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "line", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// use std::sync::Arc;
/// use hyperslab::vfs::{ManifestVfs, manifest};
///
/// // The publisher of a folder writes its manifest. Readers then need no listings.
/// manifest::write(&*context.vfs, "").await?;
/// let published = Context::new(Arc::new(ManifestVfs::new(Arc::clone(&context.vfs))));
/// Array::open(&published, "line", &OpenOptions::default()).await?;
/// # Ok(()) }) }
/// ```
pub struct ManifestVfs {
    inner: Arc<dyn Vfs>,
    state: Mutex<State>,
    lists: Mutex<ListingSource>,
    /// Whether `inner` may be able to list.
    is_checked: bool,
}

/// The source of listings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListingSource {
    /// The manifest, if there is one. `inner` is not asked to list.
    Unasked,
    /// Undecided: the next listing shows whether `inner` can list.
    Unknown,
    /// `inner`. Other programs may have changed the store since the manifest was written.
    Given,
    /// The manifest, because `inner` cannot list.
    Refused,
}

#[derive(Clone)]
enum State {
    Unread,
    Absent,
    Present(Arc<Manifest>),
    /// This store has written something since, so the manifest may be out of date.
    Outdated,
}

impl ManifestVfs {
    /// Wraps `inner`. The manifest is read at the first call and trusted for listings.
    pub fn new(inner: Arc<dyn Vfs>) -> Self {
        Self::with(inner, ListingSource::Unasked)
    }

    /// Wraps an `inner` that may be able to list. If it can, its listings are used instead of the manifest, which is out
    /// of date once another program has written. The first listing is requested together with the manifest. If the store
    /// has no listings, no more are requested. If the listing fails for another reason, so does the call.
    pub fn checked(inner: Arc<dyn Vfs>) -> Self {
        Self::with(inner, ListingSource::Unknown)
    }

    fn with(inner: Arc<dyn Vfs>, lists: ListingSource) -> Self {
        Self {
            inner,
            state: Mutex::new(State::Unread),
            lists: Mutex::new(lists),
            is_checked: lists == ListingSource::Unknown,
        }
    }

    /// Lists `dir` in `inner` and reads the manifest, as needed.
    async fn sources(&self, dir: &str) -> Result<(Option<Result<Vec<Entry>>>, Option<Arc<Manifest>>)> {
        let mut lists = self.lists.lock().await;
        match *lists {
            ListingSource::Unasked | ListingSource::Refused => {
                drop(lists);
                Ok((None, self.manifest().await?))
            }
            ListingSource::Given => {
                drop(lists);
                let (manifest, listed) = future::join(self.manifest(), self.inner.list(dir)).await;
                Ok((Some(listed), manifest?))
            }
            // Concurrent listings wait for this one to decide.
            ListingSource::Unknown => {
                let (manifest, listed) = future::join(self.manifest(), self.inner.list(dir)).await;
                let manifest = manifest?;
                *lists = match (&listed, &manifest) {
                    // It may succeed next time, and the manifest may lack what was written since.
                    (Err(e), Some(_)) if !cannot_list(e) => return Err(unlisted(e)),
                    (_, None) => ListingSource::Given,
                    (Ok(entries), _) if !entries.is_empty() => ListingSource::Given,
                    (_, Some(manifest)) if !manifest.children(dir).is_empty() => ListingSource::Refused,
                    _ => ListingSource::Unknown,
                };
                Ok((Some(listed), manifest))
            }
        }
    }

    /// The manifest, read once until [`Vfs::invalidate`]. Concurrent callers wait for the same read.
    async fn manifest(&self) -> Result<Option<Arc<Manifest>>> {
        let mut state = self.state.lock().await;
        if let State::Unread = *state {
            *state = match self.inner.read_all(MANIFEST).await {
                Ok(json) => State::Present(Arc::new(Manifest::decode(&json, MANIFEST)?)),
                Err(Error::NotFound { .. }) => State::Absent,
                Err(e) => return Err(e),
            };
        }
        Ok(match &*state {
            State::Present(manifest) => Some(Arc::clone(manifest)),
            _ => None,
        })
    }

    async fn outdate(&self) {
        *self.state.lock().await = State::Outdated;
    }
}

/// Whether a store that answers a listing like this has no listings.
fn cannot_list(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. } | Error::Unsupported(_))
}

/// The error for a listing that failed although there is a manifest.
fn unlisted(error: &Error) -> Error {
    let why = "so the manifest cannot be compared with the files, and may lack recent writes; try again";
    Error::io(MANIFEST, format!("listing the files failed ({error}), {why}"))
}

impl Neighbours for ManifestVfs {
    fn beside(&self, name: &str) -> Option<Arc<dyn Vfs>> {
        let store = self.inner.capabilities().neighbours?.beside(name)?;
        let wrap = if self.is_checked { Self::checked } else { Self::new };
        Some(Arc::new(wrap(store)))
    }
}

impl Vfs for ManifestVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        let inner = self.inner.capabilities();
        Capabilities {
            // They would bypass the manifest.
            local_reads: None,
            neighbours: inner.neighbours.map(|_| self as &dyn Neighbours),
            ..inner
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        Box::pin(async move {
            let Some(manifest) = self.manifest().await? else {
                return self.inner.fetch(path, extent).await;
            };
            if extent != Extent::Size
                && let Some(whole) = manifest.inlined(path)
            {
                return Content::of(path, whole, extent);
            }
            match (extent, manifest.files.get(path)) {
                (Extent::Size, Some(file)) => Ok(Content::size(file.size)),
                (Extent::Tail(bytes), Some(file)) => {
                    let range = file.size.saturating_sub(bytes)..file.size;
                    let read = self.inner.fetch(path, Extent::Ranges(&[range])).await?;
                    Ok(Content {
                        size: file.size,
                        ..read
                    })
                }
                _ => self.inner.fetch(path, extent).await,
            }
        })
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(async move {
            match self.sources(dir).await? {
                (Some(Ok(entries)), Some(manifest)) if !entries.is_empty() => Ok(manifest.with_sizes(dir, entries)),
                (_, Some(manifest)) => Ok(manifest.children(dir)),
                (Some(listed), None) => listed,
                (None, None) => self.inner.list(dir).await,
            }
        })
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.write(path, parts, mode).await
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.create(path).await
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.create_dir(dir)
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.outdate().await;
            self.inner.delete(path, what).await
        })
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.sync(dir)
    }

    fn invalidate(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            // An outdated manifest stays unused: it may not have been rewritten.
            if let State::Present(_) | State::Absent = *state {
                *state = State::Unread;
            }
            self.inner.invalidate().await
        })
    }
}

impl Manifest {
    fn children(&self, dir: &str) -> Vec<Entry> {
        children(&self.files, dir, |file| file.size)
    }

    /// Completes a listing of `dir` with the sizes it leaves out, and removes the manifest itself.
    fn with_sizes(&self, dir: &str, mut entries: Vec<Entry>) -> Vec<Entry> {
        entries.retain(|entry| !dir.is_empty() || entry.name != MANIFEST);
        for entry in &mut entries {
            if entry.kind == EntryKind::File(None) {
                let known = self.files.get(&join(dir, &entry.name));
                entry.kind = EntryKind::File(known.map(|file| file.size));
            }
        }
        entries
    }
}
