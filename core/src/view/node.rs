//! Files and folders of a view.

use std::sync::Arc;

use bytes::Bytes;

use super::chunk::ZarrChunk;
use super::shard::Shard;
use super::slice::{FixedLayout, Slice};
use super::snapshot::hash;

/// A file or folder of the view, as of the time of its lookup. Its contents and size never change.
#[derive(Debug, Clone)]
pub struct Node {
    /// A hash of the content, the same in every process; never 0 or 1.
    pub id: u64,
    /// The time of the newest write that it shows, in milliseconds since 1970.
    pub modified_ms: u64,
    /// File or folder.
    pub kind: NodeKind,
    /// Approximate bytes of its cells in the store; 0 for generated files.
    pub stored_bytes: u64,
    /// Facts by name, such as shape and type.
    pub facts: Vec<(&'static str, String)>,
    pub(super) content: Content,
}

/// File or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A file of exactly this size.
    File {
        /// Size in bytes.
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

/// The source of a file's bytes.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Dir,
    Text(Bytes),
    /// A file whose cells can be read separately.
    Fixed(Arc<Slice>, Arc<FixedLayout>),
    /// A file that is rendered as a whole and cached; rendered again after its eviction.
    Rendered(Arc<Slice>),
    ZarrChunk(Arc<ZarrChunk>),
    /// Stored bytes of a fragment, followed by an index.
    Shard(Arc<ZarrChunk>, Arc<Shard>),
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

/// The id of the folder at `path`.
pub fn dir_id(path: &str) -> u64 {
    hash(&[b"dir", path.as_bytes()])
}
