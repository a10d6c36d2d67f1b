//! Runs a change without making it: a store that keeps writes in memory and drops them at the end.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use hyperslab::vfs::{BoxFuture, Entry, FileWriter, Lock, MemVfs, Vfs, join};
use hyperslab::{Context, Error};

use crate::store::{Env, Place};

/// A place whose store is never changed.
pub(crate) fn place(url: &str) -> Result<Place> {
    let place = Place::new(url)?;
    let store = DryRun {
        inner: Arc::clone(&place.context.vfs),
        written: MemVfs::new(),
        removed: Mutex::default(),
    };
    let context = Context::new(Arc::new(store));
    Ok(Place { context, ..place })
}

/// The place that a command changes or, in a dry run, a place whose store is never changed.
pub(crate) fn place_to_change(env: &Env, url: &str, dry_run: bool) -> Result<Place> {
    if dry_run {
        return place(url);
    }
    let place = Place::new(url)?;
    env.will_change(&place);
    Ok(place)
}

/// Reads from `inner`, unless a file was written or removed before.
struct DryRun {
    inner: Arc<dyn Vfs>,
    written: MemVfs,
    removed: Mutex<BTreeSet<String>>,
}

impl DryRun {
    fn is_removed(&self, path: &str) -> bool {
        let removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        removed.iter().any(|gone| {
            let rest = path.strip_prefix(gone.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn remove_path(&self, path: &str) {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        removed.insert(path.to_owned());
    }

    async fn has_written(&self, path: &str) -> bool {
        self.written.size(path).await.is_ok()
    }

    /// The store that has the current content of a file.
    async fn of(&self, path: &str) -> hyperslab::Result<&dyn Vfs> {
        if self.has_written(path).await {
            return Ok(&self.written);
        }
        if self.is_removed(path) {
            return Err(Error::not_found(path, ""));
        }
        Ok(&*self.inner)
    }
}

impl Vfs for DryRun {
    fn inner(&self) -> Option<&dyn Vfs> {
        Some(&*self.inner)
    }

    fn read<'a>(&'a self, path: &'a str, ranges: &'a [Range<u64>]) -> BoxFuture<'a, Vec<Bytes>> {
        Box::pin(async move { self.of(path).await?.read(path, ranges).await })
    }

    fn read_all<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Bytes> {
        Box::pin(async move { self.of(path).await?.read_all(path).await })
    }

    fn size<'a>(&'a self, path: &'a str) -> BoxFuture<'a, u64> {
        Box::pin(async move { self.of(path).await?.size(path).await })
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(async move {
            let mut entries = self.inner.list(dir).await?;
            entries.retain(|entry| !self.is_removed(&join(dir, &entry.name)));
            let written = self.written.list(dir).await?;
            entries.retain(|entry| !written.iter().any(|new| new.name == entry.name));
            entries.extend(written);
            entries.sort();
            Ok(entries)
        })
    }

    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        self.written.put(path, parts)
    }

    fn overwrite<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        self.written.overwrite(path, parts)
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        self.written.create(path)
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.written.create_dir(dir)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.remove_path(path);
            if self.has_written(path).await {
                self.written.remove(path).await?;
            }
            Ok(())
        })
    }

    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.remove_path(dir);
            self.written.remove_dir(dir).await
        })
    }

    /// Others are not affected, so nobody waits.
    fn lock<'a>(&'a self, _dir: &'a str, _name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
