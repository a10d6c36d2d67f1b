//! A store in a folder on the local disk.
//!
//! Files appear atomically: each is written under a temporary name nearby and then linked to its own name. Reads are
//! positional, so threads share open files.

mod handles;
mod links;
mod lock;
mod put;
mod root;
mod secrets;

use std::future::ready;
use std::io::{self, ErrorKind, IoSliceMut, Read as _};
use std::ops::Range;
use std::path::{Component, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};

use self::handles::{Handles, OpenFile};
pub use self::root::{LocalEntry, LocalKind, LocalRoot};
pub use self::secrets::readable_by_everyone;
use super::coalesce::{MERGED_BYTES_MAX, coalesce};
use super::{
    BoxFuture, Capabilities, Content, Deletion, Entry, EntryKind, Extent, FileWriter, LocalReads, Locations, Lock,
    Locks, ReadAt, Vfs, WriteMode, check_path, join, split,
};
use crate::cpu::Cpu;
use crate::error::{Error, Result};

/// Reading a gap of one page costs less than another system call.
const GAP_BYTES: u64 = 4096;

/// The number of entries that certainly fit the C library's listing buffer of 32 KiB, if names are as long as those of
/// fragments.
const ENTRIES_AT_ONCE: usize = 256;
/// The most listings of a folder that keeps changing.
const LISTINGS_MAX: usize = 16;

/// A store of the files in a folder.
///
/// ```
/// use bytes::Bytes;
/// use hyperslab::{blocking::block_on, vfs::{LocalVfs, VfsExt}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = LocalVfs::new(folder);
/// block_on(store.put("a/b", vec![Bytes::from_static(b"bytes")]))?;
/// assert_eq!(std::fs::read(folder.join("a/b"))?, b"bytes");
/// assert!(block_on(store.size("../outside")).is_err());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct LocalVfs {
    root: LocalRoot,
    handles: Arc<Handles>,
}

impl LocalVfs {
    /// A store of everything below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: LocalRoot::new(root),
            handles: Arc::default(),
        }
    }

    /// The path on disk, without following links.
    fn place(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            self.root.path().to_owned()
        } else {
            self.root.path().join(path)
        }
    }

    /// The absolute path on disk, without `.` and `..`. Links are not followed, as in libtiledb.
    fn absolute(&self, path: &str) -> Option<PathBuf> {
        check_path(path).ok()?;
        let mut out = PathBuf::new();
        for part in std::path::absolute(self.place(path)).ok()?.components() {
            match part {
                Component::ParentDir => drop(out.pop()),
                Component::CurDir => {}
                part => out.push(part),
            }
        }
        Some(out)
    }

    /// Opens the file `path` without keeping its handle.
    fn once(&self, path: &str) -> Result<OpenFile> {
        check_path(path)?;
        Handles::once(&self.root, path).map_err(failed(path))
    }

    fn ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let known = self.handles.get(path);
        let file = match &known {
            Some(file) => Arc::clone(file),
            None => Arc::new(self.once(path)?),
        };
        if let Some(range) = ranges.iter().find(|r| r.end > file.size) {
            return Err(super::too_short(path, range, file.size));
        }
        // After reading a whole file, the caller will not read more of it.
        if known.is_none() && ranges != [0..file.size] {
            self.handles.keep(path, &file);
        }
        let plan = coalesce(ranges, GAP_BYTES, MERGED_BYTES_MAX)?;
        let fetched = file.read(&plan.fetches).map_err(failed(path))?;
        let fetched: Vec<Bytes> = fetched.into_iter().map(Bytes::from).collect();
        plan.split(path, &fetched)
    }

    /// Lists a folder. The system returns entries one buffer at a time. If another process puts one file and then
    /// removes another in between, a listing could miss both. Long listings are repeated until two agree.
    fn children(&self, dir: &str) -> Result<Vec<Entry>> {
        let mut entries = self.children_once(dir)?;
        for _ in 0..LISTINGS_MAX {
            if entries.len() < ENTRIES_AT_ONCE {
                break;
            }
            let again = self.children_once(dir)?;
            if again == entries {
                break;
            }
            entries = again;
        }
        Ok(entries)
    }

    fn children_once(&self, dir: &str) -> Result<Vec<Entry>> {
        check_path(dir)?;
        let listing = match self.root.entries(dir) {
            Err(e) if is_absent(&e) => return Ok(Vec::new()),
            listing => listing.map_err(failed(dir))?,
        };
        let mut entries = Vec::new();
        for LocalEntry { name, kind, is_link } in listing {
            // Walking down a link that leads up would never end.
            if put::is_temporary(&name) || lock::is_lock(&name) || is_link && links::lead_up(&self.place(dir), &name) {
                continue;
            }
            let kind = match kind {
                // Reading the target of a link that leads out fails with an error that says so.
                LocalKind::Folder | LocalKind::Outside(true) => EntryKind::Dir,
                LocalKind::File | LocalKind::Special | LocalKind::Outside(false) => EntryKind::File(None),
            };
            entries.push(Entry { name, kind });
        }
        entries.sort();
        Ok(entries)
    }

    fn file_size(&self, path: &str) -> Result<u64> {
        check_path(path)?;
        match self.root.kind(path).map_err(failed(path))? {
            (LocalKind::File, size) => Ok(size),
            (LocalKind::Folder, _) => Err(Error::not_found(path, "it is a folder")),
            (LocalKind::Special | LocalKind::Outside(_), _) => Err(failed(path)(root::not_regular())),
        }
    }

    /// The last bytes of a file that is read once.
    fn tail(&self, path: &str, bytes: u64) -> Result<(u64, Bytes)> {
        let file = self.once(path)?;
        let range = file.size.saturating_sub(bytes)..file.size;
        let mut read = file.read(std::slice::from_ref(&range)).map_err(failed(path))?;
        Ok((file.size, read.pop().unwrap_or_default().into()))
    }

    fn whole(&self, path: &str) -> Result<Bytes> {
        check_path(path)?;
        let read = || {
            let (mut file, size) = self.root.open(path)?;
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            file.read_to_end(&mut bytes)?;
            Ok(bytes.into())
        };
        read().map_err(failed(path))
    }

    fn remove_tree(&self, dir: &str) -> Result<()> {
        check_path(dir)?;
        self.handles.forget(dir);
        let (above, own) = split(dir);
        let removed = if dir.is_empty() {
            std::fs::remove_dir_all(self.root.path())
        } else {
            self.root.folder(above).and_then(|above| above.remove_dir_all(own))
        };
        match removed {
            Err(e) if !is_absent(&e) => Err(failed(dir)(e)),
            _ => Ok(()),
        }
    }

    fn remove_file(&self, path: &str) -> Result<()> {
        check_path(path)?;
        self.handles.forget(path);
        let (folder, own) = split(path);
        match self.root.folder(folder).and_then(|dir| dir.remove_file(own)) {
            Err(e) if !is_absent(&e) => Err(failed(path)(e)),
            _ => Ok(()),
        }
    }

    fn sync_tree(&self, path: &str) -> Result<()> {
        check_path(path)?;
        put::sync_tree(&self.root, path).map_err(failed(path))?;
        // The name of the synced file or folder is stored in its parent.
        if path.is_empty() {
            Ok(())
        } else {
            let above = self.root.folder(split(path).0);
            above.and_then(|above| put::sync_one(&above, ".")).map_err(failed(path))
        }
    }
}

impl LocalVfs {
    fn extent(&self, path: &str, extent: Extent<'_>) -> Result<Content> {
        match extent {
            Extent::Whole => self.whole(path).map(|whole| Content::parts(vec![whole])),
            Extent::Tail(bytes) => self.tail(path, bytes).map(Content::tail),
            Extent::Ranges(ranges) => self.ranges(path, ranges).map(Content::parts),
            Extent::Size => self.file_size(path).map(Content::size),
        }
    }
}

impl Vfs for LocalVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            failures_are_final: true,
            local_reads: Some(self),
            locks: Some(self),
            locations: Some(self),
            // By their locations.
            neighbours: None,
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        Box::pin(async move { self.extent(path, extent) })
    }

    /// Reads the files on all cores. Opens the root only once.
    fn fetch_many<'a>(&'a self, files: &'a [(&'a str, Extent<'a>)]) -> BoxStream<'a, Result<Content>> {
        let fetch = move || {
            let batch = Self {
                root: self.root.kept_open(),
                handles: Arc::clone(&self.handles),
            };
            let one = |(path, extent): &(&str, Extent<'_>)| Ok(batch.extent(path, *extent));
            Cpu::default().try_map(files, one).unwrap_or_else(|e| vec![Err(e)])
        };
        stream::once(async move { stream::iter(fetch()) }).flatten().boxed()
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(async move { self.children(dir) })
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            check_path(path)?;
            let written = match mode {
                WriteMode::Create => put::put(&self.root, path, &parts),
                WriteMode::Replace => {
                    let put = put::overwrite(&self.root, path, &parts);
                    self.handles.forget(path);
                    put
                }
            };
            written.map_err(failed(path))
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        Box::pin(async move {
            check_path(path)?;
            let file = put::Pending::new(&self.root, path).map_err(failed(path))?;
            let writer: Box<dyn FileWriter> = Box::new(LocalWriter {
                path: path.to_owned(),
                file,
            });
            Ok(writer)
        })
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            check_path(dir)?;
            self.root.folder_made(dir).map(drop).map_err(failed(dir))
        })
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match what {
                Deletion::File => self.remove_file(path),
                Deletion::Folder => self.remove_tree(path),
            }
        })
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.sync_tree(dir) })
    }
}

impl Locations for LocalVfs {
    fn uri(&self, path: &str) -> Option<String> {
        Some(format!("file://{}", self.absolute(path)?.to_str()?))
    }
}

impl Locks for LocalVfs {
    fn acquire<'a>(&'a self, dir: &'a str, name: &'a str) -> BoxFuture<'a, Option<Box<dyn Lock>>> {
        Box::pin(async move {
            check_path(dir)?;
            match self.root.folder(dir) {
                Ok(folder) => Ok(lock::acquire(folder, name).await),
                Err(_) => Ok(None),
            }
        })
    }

    fn find_leftovers<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            check_path(dir)?;
            let found = match self.root.folder(dir).and_then(|dir| put::leftovers(&dir)) {
                Err(e) if is_absent(&e) => Vec::new(),
                found => found.map_err(failed(dir))?,
            };
            Ok(found.into_iter().map(|name| join(dir, &name)).collect())
        })
    }
}

impl LocalReads for LocalVfs {
    fn open<'a>(&'a self, path: &'a str) -> Result<Box<dyn ReadAt + 'a>> {
        check_path(path)?;
        let file = self.handles.open(&self.root, path).map_err(failed(path))?;
        Ok(Box::new(LocalFile { path, file }))
    }
}

struct LocalFile<'a> {
    path: &'a str,
    file: Arc<OpenFile>,
}

impl ReadAt for LocalFile<'_> {
    fn size(&self) -> u64 {
        self.file.size
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> Result<()> {
        self.check(at, out.len())?;
        self.file.read_exact(out, at).map_err(failed(self.path))
    }

    fn read_parts_at(&self, parts: &mut [IoSliceMut<'_>], at: u64) -> Result<()> {
        self.check(at, parts.iter().map(|p| p.len()).sum())?;
        self.file.read_parts(parts, at).map_err(failed(self.path))
    }

    fn reads_parts_at_once(&self) -> bool {
        handles::PARTS_AT_ONCE
    }
}

impl LocalFile<'_> {
    /// Checks that the file has this many bytes from `at` on.
    fn check(&self, at: u64, bytes: usize) -> Result<()> {
        let range = at..at.saturating_add(bytes as u64);
        if range.end > self.size() {
            return Err(super::too_short(self.path, &range, self.size()));
        }
        Ok(())
    }
}

struct LocalWriter {
    path: String,
    file: put::Pending,
}

impl FileWriter for LocalWriter {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(ready(self.file.append(&part).map_err(failed(&self.path))))
    }

    fn start_sync(&mut self) {
        self.file.start_sync();
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.file.finish().map_err(failed(&self.path)) })
    }
}

fn is_absent(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Converts an I/O error at `path` to the crate's error.
fn failed(path: &str) -> impl Fn(io::Error) -> Error {
    move |e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Error::not_found(path, ""),
        ErrorKind::IsADirectory => Error::not_found(path, "it is a folder"),
        ErrorKind::AlreadyExists => Error::AlreadyExists { path: path.to_owned() },
        _ => Error::io(path, e),
    }
}

#[cfg(test)]
mod tests;
