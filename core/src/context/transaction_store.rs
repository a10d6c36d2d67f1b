//! The store of a transaction: refuses writes after an abort, and keeps the marker files of a creation in memory.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;

use super::transaction::{Revocable, Transaction, take};
use crate::error::{Error, Result};
use crate::format::folders::is_marker;
use crate::vfs::manifest::MANIFEST;
use crate::vfs::{BoxFuture, Entry, FileWriter, LocalReads, Lock, Vfs, last_part, side_by_side};

pub(super) struct TransactionVfs(pub(super) Transaction);

impl TransactionVfs {
    fn store(&self) -> &dyn Vfs {
        &*self.0.0.store
    }

    /// The store that holds the file or folder at `path`.
    fn of(&self, path: &str) -> &dyn Vfs {
        match &self.0.0.creation {
            // The path of the new folder itself may contain any name.
            Some(creation) if path.strip_prefix(&creation.dir).is_some_and(is_held) && !self.0.state().published => {
                &creation.markers
            }
            _ => self.store(),
        }
    }

    fn has_markers(&self) -> bool {
        self.0.0.creation.is_some()
    }
}

/// Whether a creation writes this file last. Readers over HTTP find arrays in the manifest.
fn is_held(path: &str) -> bool {
    is_marker(path) || last_part(path) == MANIFEST
}

impl Vfs for TransactionVfs {
    fn inner(&self) -> Option<&dyn Vfs> {
        Some(self.store())
    }

    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>> {
        self.of(path).read(path, ranges)
    }

    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes> {
        self.of(path).read_all(path)
    }

    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64> {
        self.of(path).size(path)
    }

    fn read_tail<'a>(&'a self, path: &'a str, bytes: u64) -> BoxFuture<'a, (u64, Bytes)> {
        self.of(path).read_tail(path, bytes)
    }

    fn read_tails<'a>(&'a self, paths: &'a [String], bytes: u64) -> BoxFuture<'a, Vec<Result<(u64, Bytes)>>> {
        if !self.has_markers() {
            return self.store().read_tails(paths, bytes);
        }
        let one = move |path: &'a String| async move { Ok(self.read_tail(path, bytes).await) };
        Box::pin(side_by_side(paths.iter().map(one)))
    }

    fn read_files<'a>(&'a self, files: &'a [(Arc<str>, Vec<Range<u64>>)]) -> BoxFuture<'a, Vec<Vec<Bytes>>> {
        if !self.has_markers() {
            return self.store().read_files(files);
        }
        let one = move |(path, ranges): &'a (Arc<str>, Vec<Range<u64>>)| self.read(path, ranges);
        Box::pin(side_by_side(files.iter().map(one)))
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        let Some(creation) = &self.0.0.creation else {
            return self.store().list(dir);
        };
        Box::pin(async move {
            let mut entries = self.store().list(dir).await?;
            entries.extend(creation.markers.list(dir).await?);
            entries.sort();
            entries.dedup_by(|a, b| a.name == b.name);
            Ok(entries)
        })
    }

    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            self.of(path).put(path, parts).await
        })
    }

    fn overwrite<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            self.of(path).overwrite(path, parts).await
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            let inner = self.of(path).create(path).await?;
            let writer: Box<dyn FileWriter> = Box::new(Writer {
                inner: self.0.state().writers.add(inner),
                transaction: self.0.clone(),
            });
            Ok(writer)
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            self.of(dir).create_dir(dir).await
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            self.of(path).remove(path).await
        })
    }

    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            if let Some(creation) = &self.0.0.creation {
                creation.markers.remove_dir(dir).await?;
            }
            self.store().remove_dir(dir).await
        })
    }

    fn lock<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        Box::pin(async move {
            let Some(lock) = self.store().lock(dir, name).await? else {
                return Ok(None);
            };
            let lock: Box<dyn Lock> = Box::new(self.0.state().locks.add(lock));
            Ok(Some(lock))
        })
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.of(dir).sync(dir)
    }

    fn local_reads(&self) -> Option<&dyn LocalReads> {
        self.store().local_reads().filter(|_| !self.has_markers())
    }
}

impl Lock for Revocable<Box<dyn Lock>> {}

/// A writer that an abort takes away between two calls.
struct Writer {
    inner: Revocable<Box<dyn FileWriter>>,
    transaction: Transaction,
}

impl Writer {
    /// Fails if an earlier call was cancelled, or if the transaction was aborted.
    fn take(&self) -> Result<Box<dyn FileWriter>> {
        take(&self.inner).ok_or(Error::Cancelled)
    }
}

impl FileWriter for Writer {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _underway = self.transaction.enter()?;
            let mut inner = self.take()?;
            let bytes = part.len() as u64;
            let done = inner.append(part).await;
            *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = Some(inner);
            if let Some(report) = self.transaction.0.on_append.get() {
                report(bytes);
            }
            done
        })
    }

    fn start_sync(&mut self) {
        if let Some(inner) = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner) {
            inner.start_sync();
        }
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _underway = self.transaction.enter()?;
            self.take()?.finish().await
        })
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            match self.take() {
                Ok(inner) => inner.abort().await,
                Err(_) => Ok(()),
            }
        })
    }
}
