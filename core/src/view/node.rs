//! Files and folders of a view.

use std::sync::Arc;

use bytes::Bytes;

use super::chunk::ZarrChunk;
use super::fixed_layout::FixedLayout;
use super::hash::hash;
use super::shard::Shard;
use super::slice::Slice;

/// A file or folder of the view, as of the time of its lookup. Its contents and size never change.
#[derive(Debug, Clone)]
pub struct Node {
    /// A hash of the content, the same in every process; never 0 or 1.
    pub id: u64,
    /// The time of the newest write that it shows, in milliseconds since 1970.
    pub modified_ms: u64,
    /// File, folder or link.
    pub kind: NodeKind,
    /// Approximate bytes of its cells in the store; 0 for generated files.
    pub stored_bytes: u64,
    /// Whether other files have the same stored bytes, so that sums should leave it out: the bytes of a dense array count
    /// in `tiles`.
    pub counted_elsewhere: bool,
    /// Facts by name, such as shape and type.
    pub facts: Vec<(&'static str, String)>,
    pub(super) content: Content,
}

/// File, folder or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A file of exactly this size.
    File {
        /// Size in bytes.
        size: u64,
    },
    /// A folder.
    Dir,
    /// A link to a folder; see [`Node::target`].
    Link,
}

impl NodeKind {
    /// The type without the size.
    pub const fn file_type(self) -> FileType {
        match self {
            Self::File { .. } => FileType::File,
            Self::Dir => FileType::Dir,
            Self::Link => FileType::Link,
        }
    }

    /// Whether it is a folder.
    pub const fn is_dir(self) -> bool {
        matches!(self, Self::Dir)
    }
}

/// The type of a name in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A file.
    File,
    /// A folder.
    Dir,
    /// A link to a folder. [`View::list`](super::View::list) follows it.
    Link,
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: String,
    /// File, folder or link.
    pub file_type: FileType,
}

impl DirEntry {
    pub(super) fn file(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            file_type: FileType::File,
        }
    }

    pub(super) fn dir(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            file_type: FileType::Dir,
        }
    }

    pub(super) fn link(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            file_type: FileType::Link,
        }
    }
}

/// The source of a file's bytes.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Dir,
    /// The target, as a path from the folder of the link.
    Link(String),
    Text(Bytes),
    /// A file whose cells can be read separately.
    Fixed(Arc<Slice>, Arc<FixedLayout>),
    /// A file that is encoded from start to end.
    Streamed(Arc<Slice>),
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
            counted_elsewhere: false,
            facts: Vec::new(),
            content: Content::Dir,
        }
    }

    pub(super) fn link(path: &str, modified_ms: u64, target: String) -> Self {
        Self {
            kind: NodeKind::Link,
            content: Content::Link(target),
            ..Self::dir(path, modified_ms)
        }
    }

    /// A node whose stored bytes other files have too.
    pub(super) fn counted_elsewhere(self) -> Self {
        Self {
            counted_elsewhere: true,
            ..self
        }
    }

    /// The target of a link, as a path from the folder of the link; `None` for files and folders.
    pub fn target(&self) -> Option<&str> {
        match &self.content {
            Content::Link(target) => Some(target),
            _ => None,
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
            counted_elsewhere: false,
            facts: Vec::new(),
            content: Content::Text(text),
        }
    }
}

/// The id of the folder or link at `path`.
pub fn dir_id(path: &str) -> u64 {
    hash(&[b"dir", path.as_bytes()])
}
