//! The files of a store, such as a bucket, as files of a server. Pages cannot read buckets themselves, because their
//! requests must be signed or the bucket does not allow pages of other origins.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyperslab::Error;
use hyperslab::blocking::block_on;
use hyperslab::vfs::manifest::MANIFEST;
use hyperslab::vfs::{self, EntryKind, Vfs, VfsExt as _};

use super::http::ReadNext;
use super::tree::{Contents, Entry, Found, OpenFile, Refusal, Tree};
use crate::store::Place;

/// Bytes of a file that are requested at a time.
const PIECE_BYTES: u64 = 2 << 20;
/// Sizes of files that are remembered.
const SIZES_MAX: usize = 1 << 16;

/// A folder of a store.
pub(super) struct Stored {
    vfs: Arc<dyn Vfs>,
    root: String,
    /// The sizes of files that were found. Files of arrays never change, except for manifests.
    sizes: Mutex<HashMap<String, u64>>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Stored {
    pub(super) fn new(place: &Place) -> Self {
        Self {
            vfs: Arc::clone(&place.context.vfs),
            root: place.path.clone(),
            sizes: Mutex::default(),
        }
    }

    /// The size of a file; `None` if there is no such file.
    fn size(&self, path: &str) -> Result<Option<u64>, Error> {
        let known = self
            .sizes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .copied();
        if known.is_some() {
            return Ok(known);
        }
        let size = match block_on(self.vfs.size(path)) {
            Ok(size) => size,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if vfs::last_part(path) != MANIFEST {
            let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            if sizes.len() >= SIZES_MAX {
                sizes.clear();
            }
            sizes.insert(path.to_owned(), size);
        }
        Ok(Some(size))
    }

    /// Whether a folder has anything in it. Stores list an absent folder as an empty one.
    fn has_folder(&self, path: &str) -> Result<bool, Refusal> {
        vfs::check_path(path)?;
        Ok(!block_on(self.vfs.list(path))?.is_empty())
    }
}

impl Tree for Stored {
    fn find(&self, name: &str) -> Result<Found, Refusal> {
        if name.is_empty() {
            return Ok(Found::Folder);
        }
        vfs::check_path(name)?;
        let path = vfs::join(&self.root, name);
        if let Some(size) = self.size(&path)? {
            let vfs = Arc::clone(&self.vfs);
            let source = Box::new(Whole { vfs, path });
            return Ok(Found::File(OpenFile {
                size,
                etag: None,
                source,
            }));
        }
        match self.has_folder(&path)? {
            true => Ok(Found::Folder),
            false => Err(Refusal::absent()),
        }
    }

    fn find_folder(&self, name: &str) -> Result<Found, Refusal> {
        // A web server may send a listing for a folder, whose size is not that of a file.
        match name.is_empty() || self.has_folder(&vfs::join(&self.root, name))? {
            true => Ok(Found::Folder),
            false => self.find(name),
        }
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, Refusal> {
        let path = vfs::join(&self.root, folder);
        let mut entries = Vec::new();
        for vfs::Entry { name, kind } in block_on(self.vfs.list(&path))? {
            let size = match kind {
                EntryKind::Dir => None,
                EntryKind::File(Some(size)) => Some(size),
                // Skip files that were removed in the meantime.
                EntryKind::File(None) => match self.size(&vfs::join(&path, &name))? {
                    Some(size) => Some(size),
                    None => continue,
                },
            };
            entries.push(Entry { name, size });
        }
        Ok(entries)
    }
}

/// A file of a store.
struct Whole {
    vfs: Arc<dyn Vfs>,
    path: String,
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Contents for Whole {
    fn within(self: Box<Self>, range: Range<u64>) -> Result<Box<dyn ReadNext>, Refusal> {
        let mut part = Part {
            file: *self,
            range,
            piece: Bytes::new(),
        };
        // An error must be known before the answer begins.
        part.fill()?;
        Ok(Box::new(part))
    }
}

/// A range of a file, of which a piece is fetched.
#[derive(Debug)]
struct Part {
    file: Whole,
    /// The bytes that are not fetched yet.
    range: Range<u64>,
    piece: Bytes,
}

impl Part {
    /// Fetches the next piece.
    fn fill(&mut self) -> Result<(), Error> {
        let end = self.range.end.min(self.range.start.saturating_add(PIECE_BYTES));
        let piece = self.range.start..end;
        if piece.is_empty() {
            return Ok(());
        }
        let mut parts = block_on(self.file.vfs.read(&self.file.path, &[piece]))?;
        self.piece = parts.pop().unwrap_or_default();
        self.range.start = end;
        Ok(())
    }
}

impl ReadNext for Part {
    fn read_next(&mut self, most: usize) -> io::Result<Bytes> {
        if self.piece.is_empty() {
            self.fill().map_err(io::Error::other)?;
        }
        Ok(self.piece.split_to(most.min(self.piece.len())))
    }
}
