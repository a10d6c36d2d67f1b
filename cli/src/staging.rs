//! A store as it will be: what makes arrays and groups exist is held back until all else is there.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hyperslab::vfs::{BoxFuture, Entry, FileWriter, MemVfs, Vfs};

use crate::gate::Gate;

/// Files and folders by which readers know that something exists.
const MARKS: [&str; 5] = [
    "__schema",
    "__array_schema.tdb",
    "__group",
    "__tiledb_group.tdb",
    "__manifest.json",
];

/// Something half made in a store that has no names to give: it is written in its place, and its marks last.
#[derive(Clone)]
pub(crate) struct Staging {
    inner: Arc<dyn Vfs>,
    /// The folder that is made, whose own path may have any names in it.
    dir: Arc<str>,
    /// The marks so far, under their paths.
    held: MemVfs,
    gate: Arc<Gate>,
}

impl Staging {
    /// Holds back what would be put in the folder `dir` of `inner`.
    pub(crate) fn new(inner: Arc<dyn Vfs>, dir: &str) -> Self {
        Self {
            inner,
            dir: dir.into(),
            held: MemVfs::new(),
            gate: Arc::default(),
        }
    }

    /// Puts the marks, those of what lies within before those of what it lies in.
    pub(crate) async fn publish(&self) -> hyperslab::Result<()> {
        let mut files = self.held.files();
        files.sort_by_key(|(path, _)| std::cmp::Reverse(path.split('/').count()));
        for (path, bytes) in files {
            let _passed = self.gate.pass().await;
            self.inner.put(&path, vec![bytes]).await?;
        }
        Ok(())
    }

    /// Lets nothing more be written, and removes the folder. A request that is not answered in time may still come
    /// through: its file belongs to nothing that readers know of.
    pub(crate) fn abandon(&self) {
        self.gate.close();
        // There is nobody to tell of a failure.
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
