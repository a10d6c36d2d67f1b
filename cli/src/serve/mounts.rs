//! Trees under paths of their own, in one tree.

use std::collections::BTreeMap;
use std::ops::Range;
use std::{fmt, io};

use bytes::Bytes;

use super::http::ReadNext;
use super::tree::{Contents, Entry, Found, OpenFile, Refusal, Tree};

/// Trees by path, and another tree for all other names. The paths are not listed, because one may be secret, and none is
/// below another.
#[derive(Debug)]
pub(super) struct Mounts {
    named: BTreeMap<String, Box<dyn Tree>>,
    rest: Option<Box<dyn Tree>>,
}

impl Mounts {
    /// Serves each tree below its path, and nothing else.
    pub(super) fn new(named: impl IntoIterator<Item = (String, Box<dyn Tree>)>) -> Self {
        let named = named.into_iter().collect();
        Self { named, rest: None }
    }

    /// Serves all other names from `rest`.
    pub(super) fn over(self, rest: Box<dyn Tree>) -> Self {
        let rest = Some(rest);
        Self { rest, ..self }
    }

    /// The tree that has a name, and the name in it.
    fn tree<'a>(&self, name: &'a str) -> Result<(&dyn Tree, &'a str), Refusal> {
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        let mut splits = ends.map(|at| name.split_at(at));
        let mounted = splits.find_map(|(path, inner)| Some((self.named.get(path)?, inner)));
        match (mounted, &self.rest) {
            (Some((tree, inner)), _) => Ok((&**tree, inner.strip_prefix('/').unwrap_or(inner))),
            (None, Some(rest)) => Ok((&**rest, name)),
            (None, None) => Err(Refusal::absent()),
        }
    }
}

impl Tree for Mounts {
    fn find(&self, name: &str) -> Result<Found, Refusal> {
        let (tree, inner) = self.tree(name)?;
        tree.find(inner)
    }

    fn find_folder(&self, name: &str) -> Result<Found, Refusal> {
        let (tree, inner) = self.tree(name)?;
        tree.find_folder(inner)
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, Refusal> {
        let (tree, inner) = self.tree(folder)?;
        tree.entries(inner)
    }
}

/// Files in memory, by name.
#[derive(Debug)]
pub(super) struct Files(pub(super) BTreeMap<String, Bytes>);

impl Tree for Files {
    fn find(&self, name: &str) -> Result<Found, Refusal> {
        match self.0.get(name) {
            Some(bytes) => Ok(Found::File(file(bytes.clone()))),
            None if self.has_folder(name) => Ok(Found::Folder),
            None => Err(Refusal::absent()),
        }
    }

    fn entries(&self, _: &str) -> Result<Vec<Entry>, Refusal> {
        Err(Refusal::absent())
    }
}

impl Files {
    fn has_folder(&self, name: &str) -> bool {
        let inside = |file: &str| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        name.is_empty() || self.0.keys().any(|file| inside(file))
    }
}

/// A file whose contents are generated for each request.
pub(super) struct Made<F>(pub(super) F);

impl<F> fmt::Debug for Made<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

impl<F: Fn() -> anyhow::Result<Vec<u8>> + Send + Sync> Tree for Made<F> {
    fn find(&self, name: &str) -> Result<Found, Refusal> {
        if !name.is_empty() {
            return Err(Refusal::absent());
        }
        let made = (self.0)().map_err(|error| Refusal {
            status: 500,
            why: crate::errors::sentence(&error),
        })?;
        Ok(Found::File(file(made.into())))
    }

    fn entries(&self, _: &str) -> Result<Vec<Entry>, Refusal> {
        Err(Refusal::absent())
    }
}

fn file(bytes: Bytes) -> OpenFile {
    OpenFile {
        size: bytes.len() as u64,
        etag: None,
        source: Box::new(bytes),
    }
}

impl Contents for Bytes {
    fn within(self: Box<Self>, range: Range<u64>) -> Result<Box<dyn ReadNext>, Refusal> {
        let at = |n: u64| usize::try_from(n).map_or(self.len(), |n| n.min(self.len()));
        Ok(Box::new(self.slice(at(range.start)..at(range.end))))
    }
}

impl ReadNext for Bytes {
    fn read_next(&mut self, most: usize) -> io::Result<Bytes> {
        Ok(self.split_to(most.min(self.len())))
    }
}
