//! Runs a change without making it: a store that keeps writes in memory and drops them at the end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use hyperslab::vfs::{
    BoxFuture, Capabilities, Content, Deletion, Entry, Extent, FileWriter, MemVfs, Vfs, VfsExt, WriteMode, join,
};
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
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            // They would miss the files that were written.
            local_reads: None,
            // Others are not affected, so nobody waits.
            locks: None,
            ..self.inner.capabilities()
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        Box::pin(async move { self.of(path).await?.fetch(path, extent).await })
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

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        self.written.write(path, parts, mode)
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        self.written.create(path)
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.written.create_dir(dir)
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        self.remove_path(path);
        self.written.delete(path, what)
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn invalidate(&self) -> BoxFuture<'_, ()> {
        self.inner.invalidate()
    }
}
