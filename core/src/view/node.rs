//! What a path leads to.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::chunk::Chunk;
use super::shard::Shard;
use super::slice::{FixedLayout, Slice};
use crate::array::Array;

/// A file or a folder of the view, pinned to the moment it was looked up at: its bytes and its size
/// never change.
#[derive(Debug, Clone)]
pub struct Node {
    /// The same for the same content, also in another process; never 0 or 1.
    pub id: u64,
    /// When the newest write that it shows was made, in milliseconds since 1970.
    pub modified_ms: u64,
    /// What it is.
    pub kind: NodeKind,
    /// Bytes of the store that its cells take, about; 0 for what is made up.
    pub stored_bytes: u64,
    /// Facts about it, by name: shape, type, and so on.
    pub facts: Vec<(&'static str, String)>,
    pub(super) content: Content,
}

/// File or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A file of exactly this many bytes.
    File {
        /// Bytes.
        size: u64,
    },
    /// A folder.
    Dir,
}

impl NodeKind {
    /// Whether it is a folder.
    pub const fn is_dir(self) -> bool {
        matches!(self, Self::Dir)
    }
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
}

impl DirEntry {
    pub(super) fn file(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_dir: false,
        }
    }

    pub(super) fn dir(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_dir: true,
        }
    }
}

/// Where the bytes come from.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Dir,
    Text(Bytes),
    /// Any cell can be read alone.
    Fixed(Arc<Slice>, Arc<FixedLayout>),
    /// Made as a whole; kept in the cache, and made again if it was dropped.
    Rendered(Arc<Slice>),
    Chunk(Arc<Chunk>),
    /// Bytes of a file as they are, with an index behind them.
    Shard(Arc<Chunk>, Arc<Shard>),
}

impl Node {
    pub(super) fn dir(path: &str, modified_ms: u64) -> Self {
        Self {
            id: dir_id(path),
            modified_ms,
            kind: NodeKind::Dir,
            stored_bytes: 0,
            facts: Vec::new(),
            content: Content::Dir,
        }
    }

    pub(super) fn text(path: &str, modified_ms: u64, text: impl Into<Bytes>) -> Self {
        let text = text.into();
        Self {
            id: hash(&[b"text", path.as_bytes(), &text]),
            modified_ms,
            kind: NodeKind::File {
                size: text.len() as u64,
            },
            stored_bytes: 0,
            facts: Vec::new(),
            content: Content::Text(text),
        }
    }
}

/// The id of the folder at a path.
pub fn dir_id(path: &str) -> u64 {
    hash(&[b"dir", path.as_bytes()])
}

/// An array at a moment.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) array: Array,
    /// A number that stands for everything a reader may see of it: its schema, fragments and deletes, and the window
    /// where that cuts through a fragment.
    pub(super) fingerprint: u64,
    /// When it was last written to or deleted from.
    pub(super) modified_ms: u64,
}

impl Snapshot {
    pub(super) fn new(array: Array) -> Self {
        let schema = format!("{:?}", array.schema());
        let window = array.window();
        let mut parts = vec![array.path().as_bytes(), schema.as_bytes()];
        parts.extend(array.fragments().iter().map(|f| f.name.as_bytes()));
        parts.extend(array.deletes().iter().map(|d| d.path.as_bytes()));
        // Of such fragments two windows that hold the same ones show other cells.
        let bounds = [window.start_ms.to_le_bytes(), window.end_ms.to_le_bytes()];
        if array.fragments().iter().any(|f| f.is_partly_within(window)) {
            parts.extend(bounds.iter().map(<[u8; 8]>::as_slice));
        }
        let fingerprint = hash(&parts);
        let modified_ms = array.times().last().copied().unwrap_or(0);
        Self {
            array,
            fingerprint,
            modified_ms,
        }
    }
}

/// A 64-bit number that is the same everywhere and differs wherever the parts differ.
pub(super) fn hash(parts: &[&[u8]]) -> u64 {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    let digest = sha.finalize();
    let first: [u8; 8] = std::array::from_fn(|i| digest.get(i).copied().unwrap_or(0));
    // 0 means "no such file" to a kernel, and 1 the root.
    u64::from_le_bytes(first).max(2)
}
