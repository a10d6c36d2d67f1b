//! The view of an array, a group or a folder of arrays as files of a server: the tree that `fuse-mount` shows.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::vfs;
use hyperslab::view::{FileType, Node, NodeKind, Source, View};

use super::http::ReadNext;
use super::tree::{Contents, Entry, Found, OpenFile, Refusal, Tree};
use crate::time_args::or_now;

/// How long new writes may be missing.
const TTL: Duration = Duration::from_secs(1);

/// A view that shows new writes soon.
#[derive(Debug)]
pub(super) struct Slices {
    view: Arc<View>,
    refreshed: Mutex<Instant>,
}

/// A file of the view, from a byte on.
#[derive(Debug)]
struct Slice {
    view: Arc<View>,
    node: Node,
    at: u64,
}

impl Slices {
    /// # Errors
    /// The source cannot be read or shown.
    pub(super) fn new(source: Source) -> anyhow::Result<Self> {
        let view = View::new(source, or_now(None)?);
        block_on(view.lookup(""))?;
        let refreshed = Mutex::new(Instant::now());
        let view = Arc::new(view);
        Ok(Self { view, refreshed })
    }

    fn refresh(&self) {
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        if refreshed.elapsed() >= TTL {
            *refreshed = Instant::now();
            // A clock before 1970 was refused at the start.
            self.view.refresh(or_now(None).unwrap_or(u64::MAX));
        }
    }
}

impl Tree for Slices {
    fn find(&self, name: &str) -> Result<Found, Refusal> {
        self.refresh();
        let node = block_on(self.view.lookup(name))?.ok_or_else(Refusal::absent)?;
        Ok(match node.kind {
            NodeKind::Dir | NodeKind::Link => Found::Folder,
            NodeKind::File { size } => Found::File(OpenFile {
                size,
                // Other bytes have another id.
                etag: Some(format!("\"{:016x}\"", node.id)),
                source: Box::new(Slice {
                    view: Arc::clone(&self.view),
                    node,
                    at: 0,
                }),
            }),
        })
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, Refusal> {
        let mut entries = Vec::new();
        for entry in block_on(self.view.list(folder))? {
            let size = match entry.file_type {
                FileType::Dir | FileType::Link => None,
                // A listed file that cannot be read has its reason in its own answer.
                FileType::File => match block_on(self.view.lookup(&vfs::join(folder, &entry.name))) {
                    Ok(Some(Node {
                        kind: NodeKind::File { size },
                        ..
                    })) => Some(size),
                    _ => Some(0),
                },
            };
            let name = entry.name;
            entries.push(Entry { name, size });
        }
        Ok(entries)
    }
}

impl Contents for Slice {
    fn within(self: Box<Self>, range: Range<u64>) -> Result<Box<dyn ReadNext>, Refusal> {
        let at = range.start;
        Ok(Box::new(Self { at, ..*self }))
    }
}

impl ReadNext for Slice {
    fn read_next(&mut self, most: usize) -> io::Result<Bytes> {
        let range = self.at..self.at + most as u64;
        let bytes = block_on(self.view.read(&self.node, range)).map_err(io::Error::other)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }
}
