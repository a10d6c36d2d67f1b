//! Creates arrays and groups in stores without renames: the files that make them exist are written last.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hyperslab::vfs::{BoxFuture, Entry, FileWriter, MemVfs, Vfs};

use crate::gate::Gate;

/// Files and folders by which readers recognize arrays and groups.
const MARKS: [&str; 5] = [
    "__schema",
    "__array_schema.tdb",
    "__group",
    "__tiledb_group.tdb",
    "__manifest.json",
];

/// An unfinished array or folder in a store without renames. It is written in place, and its marker files last.
#[derive(Clone)]
pub(crate) struct Staging {
    inner: Arc<dyn Vfs>,
    /// The new folder. Its own path may contain any of the names.
    dir: Arc<str>,
    /// The marker files so far, by path.
    held: MemVfs,
    gate: Arc<Gate>,
}

impl Staging {
    /// Holds back the marker files in the folder `dir` of `inner`.
    pub(crate) fn new(inner: Arc<dyn Vfs>, dir: &str) -> Self {
        Self {
            inner,
            dir: dir.into(),
            held: MemVfs::new(),
            gate: Arc::default(),
        }
    }

    /// Writes the marker files, those in the deepest folders first.
    pub(crate) async fn publish(&self) -> hyperslab::Result<()> {
        let mut files = self.held.files();
        files.sort_by_key(|(path, _)| std::cmp::Reverse(path.split('/').count()));
        for (path, bytes) in files {
            let _passed = self.gate.pass().await;
            self.inner.put(&path, vec![bytes]).await?;
        }
        Ok(())
    }

    /// Stops all writes, and removes the folder. A slow request may still create a file later, but it belongs to no
    /// array that readers recognize.
    pub(crate) fn abandon(&self) {
        self.gate.close();
        // An error cannot be reported here.
        let _ = pollster::block_on(self.inner.remove_dir(&self.dir));
    }

    fn holds(&self, path: &str) -> bool {
        let within = path.strip_prefix(&*self.dir).unwrap_or(path);
        within.split('/').any(|part| MARKS.contains(&part))
    }

    fn of(&self, path: &str) -> &dyn Vfs {
        if self.holds(path) { &self.held } else { &*self.inner }
    }
}

impl Vfs for Staging {
    fn inner(&self) -> Option<&dyn Vfs> {
        Some(&*self.inner)
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

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(async move {
            let mut entries = self.inner.list(dir).await?;
            entries.extend(self.held.list(dir).await?);
            entries.sort();
            entries.dedup_by(|a, b| a.name == b.name);
            Ok(entries)
        })
    }

    fn put<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            self.of(path).put(path, parts).await
        })
    }

    fn overwrite<'a>(&'a self, path: &'a str, parts: Vec<Bytes>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            self.of(path).overwrite(path, parts).await
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            Ok(self.gate.guard(self.of(path).create(path).await?))
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.of(dir).create_dir(dir)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, ()> {
        self.of(path).remove(path)
    }

    fn remove_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.held.remove_dir(dir).await?;
            self.inner.remove_dir(dir).await
        })
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        self.of(dir).sync(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_files_are_held_back_only_below_the_new_folder() {
        let store = MemVfs::new();
        let dir = "data/__group/new";
        let staging = Staging::new(Arc::new(store.clone()), dir);
        let put =
            |name: &str| pollster::block_on(staging.put(&format!("{dir}/{name}"), vec![Bytes::from_static(b"x")]));
        put("__schema/__1_1_0").unwrap();
        put("__fragments/f/a0.tdb").unwrap();
        let names = || store.files().into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(names(), ["data/__group/new/__fragments/f/a0.tdb"]);
        pollster::block_on(staging.publish()).unwrap();
        assert_eq!(names().len(), 2);
    }
}
