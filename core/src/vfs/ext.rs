//! Methods of every store, implemented with those of [`Vfs`].

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{StreamExt, TryStreamExt};

use super::{BoxFuture, Content, Deletion, Extent, Lock, Vfs, WriteMode, join, open_url};
use crate::error::{Error, Result};

/// Methods of every store. Each takes a single call of [`Vfs`].
#[allow(
    async_fn_in_trait,
    reason = "the only implementation is the one here, whose futures are `Send`"
)]
pub trait VfsExt: Vfs {
    /// Reads each range, in order. Ranges are in bytes, with an exclusive end.
    ///
    /// Fails with `NotFound` if the file does not exist, and with `Io` if it has too few bytes.
    async fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        Ok(self.fetch(path, Extent::Ranges(ranges)).await?.parts)
    }

    /// Reads the whole file. Fails with `NotFound`.
    async fn read_all(&self, path: &str) -> Result<Bytes> {
        self.fetch(path, Extent::Whole)
            .await
            .map(|content| content.into_tail().1)
    }

    /// Reads the last `bytes` of the file, or all of it if it is shorter. Also returns the size of the file. Fails with
    /// `NotFound`.
    async fn read_tail(&self, path: &str, bytes: u64) -> Result<(u64, Bytes)> {
        self.fetch(path, Extent::Tail(bytes)).await.map(Content::into_tail)
    }

    /// The size of the file in bytes. Fails with `NotFound`.
    async fn size(&self, path: &str) -> Result<u64> {
        Ok(self.fetch(path, Extent::Size).await?.size)
    }

    /// Calls [`VfsExt::read_tail`] for each of `paths` concurrently. The results are in the same order.
    async fn read_tails(&self, paths: &[String], bytes: u64) -> Vec<Result<(u64, Bytes)>> {
        let files: Vec<_> = paths.iter().map(|p| (p.as_str(), Extent::Tail(bytes))).collect();
        let fetched = self.fetch_many(&files);
        fetched.map(|done| done.map(Content::into_tail)).collect().await
    }

    /// Calls [`VfsExt::read`] for each file and its ranges concurrently. The results are in the same order.
    async fn read_files(&self, files: &[(Arc<str>, Vec<Range<u64>>)]) -> Result<Vec<Vec<Bytes>>> {
        let files: Vec<_> = files.iter().map(|(path, r)| (&**path, Extent::Ranges(r))).collect();
        let fetched = self.fetch_many(&files);
        fetched.map_ok(|content| content.parts).try_collect().await
    }

    /// Creates the file atomically. Fails with `AlreadyExists`.
    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        self.write(path, parts, WriteMode::Create)
    }

    /// Creates or replaces the file atomically. If it fails, the existing file stays. Only for files that are not part
    /// of an array, whose files never change.
    fn overwrite<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        self.write(path, parts, WriteMode::Replace)
    }

    /// Removes a file. Succeeds if it does not exist.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()> {
        self.delete(path, Deletion::File)
    }

    /// Removes a folder and everything in it. Succeeds if it does not exist.
    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.delete(dir, Deletion::Folder)
    }

    /// Acquires a lock with [`Locks::acquire`](super::Locks::acquire). Returns `None` if the store has no locks.
    async fn lock(&self, dir: &str, name: &str) -> Result<Option<Box<dyn Lock>>> {
        match self.capabilities().locks {
            Some(locks) => locks.acquire(dir, name).await,
            None => Ok(None),
        }
    }

    /// The result of [`Locks::find_leftovers`](super::Locks::find_leftovers), or nothing if the store has no locks.
    async fn leftovers(&self, dir: &str) -> Result<Vec<String>> {
        match self.capabilities().locks {
            Some(locks) => locks.find_leftovers(dir).await,
            None => Ok(Vec::new()),
        }
    }

    /// The absolute URI of `path`, such as `file:///data/array` or `s3://bucket/array`, if known.
    fn location(&self, path: &str) -> Option<String> {
        self.capabilities().locations?.uri(path)
    }

    /// The store and the path in it of the folder `name` next to the root of this store; `None` if the store cannot look
    /// there. Reads nothing, so the folder may not exist. `name` must not contain `/`.
    ///
    /// # Errors
    /// Errors of opening the store of the folder around this one's root.
    fn neighbour(&self, name: &str) -> Result<Option<(Arc<dyn Vfs>, String)>> {
        if let Some(neighbours) = self.capabilities().neighbours {
            return Ok(neighbours.beside(name).map(|store| (store, String::new())));
        }
        let root = self.location("");
        let around = root
            .as_deref()
            .and_then(|uri| uri.trim_end_matches('/').rsplit_once('/'));
        let Some((folder, _)) = around.filter(|(folder, _)| !folder.ends_with('/')) else {
            return Ok(None);
        };
        match open_url(folder) {
            Ok((store, path)) => Ok(Some((store, join(&path, name)))),
            Err(Error::Unsupported(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<V: Vfs + ?Sized> VfsExt for V {}
