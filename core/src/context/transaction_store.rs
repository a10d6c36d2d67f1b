//! The store of a transaction: refuses writes after an abort, and keeps the marker files of a creation in memory.

use std::sync::PoisonError;

use bytes::Bytes;
use futures_util::stream::BoxStream;

use super::transaction::{Revocable, Transaction, take};
use crate::error::{Error, Result};
use crate::format::folders::is_marker;
use crate::vfs::manifest::MANIFEST;
use crate::vfs::{
    BoxFuture, Capabilities, Content, Deletion, Entry, Extent, FileWriter, Lock, Locks, Vfs, VfsExt, WriteMode,
    fetch_each, last_part,
};

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
}

/// Whether a creation writes this file last. Readers over HTTP find arrays in the manifest.
fn is_held(path: &str) -> bool {
    is_marker(path) || last_part(path) == MANIFEST
}

impl Vfs for TransactionVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        let inner = self.store().capabilities();
        Capabilities {
            // They would miss the marker files.
            local_reads: inner.local_reads.filter(|_| self.0.0.creation.is_none()),
            locks: inner.locks.map(|_| self as &dyn Locks),
            ..inner
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        self.of(path).fetch(path, extent)
    }

    fn fetch_many<'a>(&'a self, files: &'a [(&'a str, Extent<'a>)]) -> BoxStream<'a, Result<Content>> {
        match &self.0.0.creation {
            Some(_) => fetch_each(self, files),
            None => self.store().fetch_many(files),
        }
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

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            self.of(path).write(path, parts, mode).await
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

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _underway = self.0.enter()?;
            if let Some(creation) = &self.0.0.creation {
                creation.markers.delete(path, what).await?;
            }
            self.store().delete(path, what).await
        })
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.of(dir).sync(dir)
    }

    fn invalidate(&self) -> BoxFuture<'_, ()> {
        self.store().invalidate()
    }
}

impl Locks for TransactionVfs {
    fn acquire<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        Box::pin(async move {
            let Some(lock) = self.store().lock(dir, name).await? else {
                return Ok(None);
            };
            let lock: Box<dyn Lock> = Box::new(self.0.state().locks.add(lock));
            Ok(Some(lock))
        })
    }

    fn find_leftovers<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<String>> {
        Box::pin(self.store().leftovers(dir))
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
