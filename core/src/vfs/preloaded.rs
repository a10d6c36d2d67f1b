//! A store of which some files are in memory.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;

use super::{BoxFuture, Capabilities, Content, Deletion, Entry, Extent, FileWriter, Vfs, WriteMode, fetch_each};
use crate::error::Result;

/// A store that reads some files from memory and everything else from `inner`. Files of arrays never change, so the
/// copies in memory are never out of date.
pub(crate) struct PreloadedVfs {
    inner: Arc<dyn Vfs>,
    files: HashMap<String, Bytes>,
}

impl PreloadedVfs {
    /// The store `inner`, with these files in memory, by path.
    pub(crate) const fn new(inner: Arc<dyn Vfs>, files: HashMap<String, Bytes>) -> Self {
        Self { inner, files }
    }
}

impl Vfs for PreloadedVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        self.inner.capabilities()
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        match self.files.get(path) {
            Some(whole) => Box::pin(async move { Content::of(path, whole.clone(), extent) }),
            None => self.inner.fetch(path, extent),
        }
    }

    fn fetch_many<'a>(&'a self, files: &'a [(&'a str, Extent<'a>)]) -> BoxStream<'a, Result<Content>> {
        if files.iter().any(|(path, _)| self.files.contains_key(*path)) {
            return fetch_each(self, files);
        }
        self.inner.fetch_many(files)
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        self.inner.list(dir)
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        self.inner.write(path, parts, mode)
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        self.inner.create(path)
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.create_dir(dir)
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        self.inner.delete(path, what)
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.inner.sync(dir)
    }

    fn invalidate(&self) -> BoxFuture<'_, ()> {
        self.inner.invalidate()
    }
}
