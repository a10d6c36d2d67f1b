//! A store in memory. Operations take effect when their future is created, not when it is polled.

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::{Bytes, BytesMut};

use super::{
    BoxFuture, Capabilities, Content, Deletion, Entry, EntryKind, Extent, FileWriter, Vfs, WriteMode, check_path,
};
use crate::error::{Error, Result};
use crate::sort::sort_by;

/// Files in memory. Folders are name prefixes, as on object stores. Clones share the files.
///
/// ```
/// use bytes::Bytes;
/// use hyperslab::{blocking::block_on, vfs::{MemVfs, VfsExt}};
/// # fn main() -> hyperslab::Result<()> {
/// let store = MemVfs::new();
/// block_on(store.put("folder/file", vec![Bytes::from_static(b"0123456789")]))?;
/// let parts = block_on(store.read("folder/file", &[0..2, 8..10]))?;
/// assert_eq!(parts, ["01", "89"]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemVfs {
    files: Arc<RwLock<BTreeMap<String, Bytes>>>,
}

impl MemVfs {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The path and contents of every file, sorted by path.
    pub fn files(&self) -> Vec<(String, Bytes)> {
        self.reading()
            .iter()
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect()
    }

    /// Puts `bytes` at `path`, replacing any existing file.
    pub fn replace(&self, path: impl Into<String>, bytes: impl Into<Bytes>) {
        self.writing().insert(path.into(), bytes.into());
    }

    fn get(&self, path: &str) -> Result<Bytes> {
        self.reading()
            .get(path)
            .cloned()
            .ok_or_else(|| Error::not_found(path, ""))
    }

    fn insert(&self, path: &str, bytes: Bytes) -> Result<()> {
        check_path(path)?;
        let mut files = self.writing();
        if files.contains_key(path) {
            return Err(Error::AlreadyExists { path: path.to_owned() });
        }
        files.insert(path.to_owned(), bytes);
        Ok(())
    }

    fn reading(&self) -> RwLockReadGuard<'_, BTreeMap<String, Bytes>> {
        self.files.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Bytes>> {
        self.files.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vfs for MemVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            failures_are_final: true,
            ..Capabilities::default()
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        let whole = self.get(path);
        Box::pin(ready(whole.and_then(|whole| Content::of(path, whole, extent))))
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(ready(Ok(children(&self.reading(), dir, |bytes| bytes.len() as u64))))
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        let bytes = concat(parts);
        Box::pin(ready(match mode {
            WriteMode::Create => self.insert(path, bytes),
            WriteMode::Replace => check_path(path).map(|()| self.replace(path, bytes)),
        }))
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        let writer: Box<dyn FileWriter> = Box::new(MemWriter {
            store: self.clone(),
            path: path.to_owned(),
            bytes: BytesMut::new(),
        });
        Box::pin(ready(Ok(writer)))
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(ready(check_path(dir)))
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        match what {
            Deletion::File => drop(self.writing().remove(path)),
            Deletion::Folder => {
                let prefix = format!("{path}/");
                self.writing()
                    .retain(|file, _| !(path.is_empty() || file.starts_with(&prefix)));
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }
}

/// Lists the direct children of `dir` among the paths of `files`, sorted by name.
pub(super) fn children<T>(files: &BTreeMap<String, T>, dir: &str, size: impl Fn(&T) -> u64) -> Vec<Entry> {
    let prefix = if dir.is_empty() {
        String::new()
    } else {
        format!("{dir}/")
    };
    let mut entries = Vec::new();
    let mut from = prefix.clone();
    while let Some((path, file)) = files
        .range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded))
        .next()
    {
        let Some(rest) = path.strip_prefix(&prefix) else { break };
        if let Some((name, _)) = rest.split_once('/') {
            entries.push(Entry {
                name: name.to_owned(),
                kind: EntryKind::Dir,
            });
            // Skip everything in this folder: '0' follows '/'.
            from = format!("{prefix}{name}0");
        } else {
            entries.push(Entry {
                name: rest.to_owned(),
                kind: EntryKind::File(Some(size(file))),
            });
            from = format!("{path}\0");
        }
    }
    // The path "a.b" sorts before "a/b", but the name "a.b" sorts after "a".
    sort_by(&mut entries, Ord::cmp);
    entries
}

struct MemWriter {
    store: MemVfs,
    path: String,
    bytes: BytesMut,
}

impl FileWriter for MemWriter {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        self.bytes.extend_from_slice(&part);
        Box::pin(ready(Ok(())))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(ready(self.store.insert(&self.path, self.bytes.freeze())))
    }
}

/// Joins buffers. A single one is not copied.
fn concat(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut whole = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    for part in parts {
        whole.extend_from_slice(&part);
    }
    whole.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_names_not_as_paths() {
        let store = MemVfs::new();
        for path in ["a/1", "a.b", "a/2", "b"] {
            store.replace(path, "x");
        }
        let list = |dir| children(&store.reading(), dir, |bytes| bytes.len() as u64);
        assert_eq!(
            list("").into_iter().map(|e| e.name).collect::<Vec<_>>(),
            ["a", "a.b", "b"]
        );
        assert_eq!(list("a").len(), 2);
        assert_eq!(list("c"), []);
    }
}
