//! Errors, grouped by what the caller can do about them.
//!
//! Decoders do not know paths, so they return [`Malformed`]. Their callers add the path with [`AtPath::at`].

use std::fmt;

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// All errors of this crate, grouped by what the caller can do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file, array, group, attribute or fragment. Check the name.
    #[error("{path}: not found{}", hint(.path, .what))]
    NotFound {
        /// The path that was looked for.
        path: String,
        /// The missing object, and what to do. If empty, the message derives a hint from the path.
        what: String,
    },
    /// An object with this name exists and would be overwritten.
    #[error("{path}: already exists; choose another name or remove it first")]
    AlreadyExists {
        /// The existing path.
        path: String,
    },
    /// A file is damaged. Restore it from a backup.
    #[error("{path}: corrupt {malformed}; restore the file from a backup")]
    Corrupt {
        /// The damaged file.
        path: String,
        /// The damaged structure, its offset, and the problem.
        malformed: Malformed,
    },
    /// The data was written by a newer library.
    #[error(
        "{path}: format version {found} is newer than {supported}, the newest this release reads; upgrade Hyperslab"
    )]
    UnsupportedVersion {
        /// The file with the newer version.
        path: String,
        /// The version in the file.
        found: u32,
        /// The newest version that this release reads.
        supported: u32,
    },
    /// The format allows it, but this release or build does not support it.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The key of an encrypted array is missing or wrong, or a key was given for an array that is not encrypted.
    #[error("{path}: {why}")]
    Key {
        /// The file that could not be decrypted.
        path: String,
        /// The problem with the key.
        why: String,
        /// Whether another key would help. False if the data is not encrypted.
        wanted: bool,
    },
    /// The request is invalid for this array. The message says how to change it.
    #[error("{0}")]
    InvalidArgument(String),
    /// A cell to be written does not fit the array.
    #[error("cell {cell}, counted from 0: {why}")]
    Cell {
        /// Index of the cell in the input, counted from 0.
        cell: u64,
        /// The problem, and the allowed values.
        why: String,
    },
    /// A size limit of this crate or a budget of the caller was exceeded.
    #[error("{what}: {} exceeds the limit of {limit}", counted(*.found))]
    LimitExceeded {
        /// The quantity that is too large, with its unit.
        what: String,
        /// Its size.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Memory allocation failed.
    #[error("{what}: cannot allocate {} bytes; select fewer cells, or read in batches", counted(*.bytes))]
    NoMemory {
        /// The purpose of the memory.
        what: String,
        /// The requested size.
        bytes: u64,
    },
    /// The operation was cancelled before it finished.
    #[error("cancelled")]
    Cancelled,
    /// The store failed. The source has the reason.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// The store's own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The hint for a missing file: `what`, or a hint derived from the folder that the file is in.
fn hint(path: &str, what: &str) -> String {
    let within = |folder: &str| path.split('/').any(|part| part == folder);
    let what = match what {
        "" if within("__fragments") => {
            "it belongs to a committed fragment; if the fragment was vacuumed, open the array or take the snapshot again, or \
             run `hyperslab vacuum` to repair the list of commits; otherwise restore the file from a backup, or remove the fragment's \
             marker from __commits to give up its cells"
        }
        "" if within("__enumerations") => "it holds the values of an enumeration; restore the file from a backup",
        "" if ["__schema", "__commits", "__meta", "__fragment_meta", "__group"]
            .into_iter()
            .any(within) =>
        {
            "the array or group refers to it; open it again, and if that fails, restore the file from a backup"
        }
        given => given,
    };
    if what.is_empty() {
        String::new()
    } else {
        format!(": {what}")
    }
}

/// Formats a number. `u64::MAX` means that counting overflowed.
fn counted(found: u64) -> String {
    if found == u64::MAX {
        "at least 2^64 - 1".into()
    } else {
        found.to_string()
    }
}

impl Error {
    /// An [`Error::InvalidArgument`] with this message.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }

    /// Whether a file that belongs to an array is missing, rather than the requested object.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::NotFound { path, .. } if path.split('/').any(|part| part.starts_with("__")))
    }

    /// Whether another key would help.
    pub fn wants_key(&self) -> bool {
        matches!(self, Self::Key { wanted: true, .. })
    }

    /// An [`Error::Io`] at `path`.
    pub fn io(path: impl Into<String>, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Io {
            path: path.into(),
            source: source.into(),
        }
    }

    /// An [`Error::NotFound`] at `path`. `what` says what was looked for and what to do.
    pub fn not_found(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::NotFound {
            path: path.into(),
            what: what.into(),
        }
    }

    /// A stable name for the kind of error, for bindings in other languages.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "NotFound",
            Self::AlreadyExists { .. } => "AlreadyExists",
            Self::Corrupt { .. } => "Corrupt",
            Self::UnsupportedVersion { .. } => "UnsupportedVersion",
            Self::Unsupported(_) => "Unsupported",
            Self::Key { .. } => "Key",
            Self::InvalidArgument(_) | Self::Cell { .. } => "InvalidArgument",
            Self::LimitExceeded { .. } | Self::NoMemory { .. } => "LimitExceeded",
            Self::Cancelled => "Cancelled",
            Self::Io { .. } => "Io",
        }
    }
}

/// An error of a decoder: the structure, the offset in its input, and the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The structure or field that was being read.
    pub what: String,
    /// Offset in bytes from the start of the decoder's input.
    pub offset: u64,
    /// The problem: the expected and the actual value.
    pub why: String,
    /// Whether the input is damaged, or valid but not readable by this release.
    pub kind: MalformedKind,
}

/// Why decoding failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MalformedKind {
    /// The bytes do not follow the format.
    #[default]
    Damaged,
    /// The format version is newer than this release: (found, supported).
    NewerVersion(u32, u32),
    /// Valid but not supported by this release; see `what` and `why`.
    Unsupported,
    /// A key is missing, wrong, or not needed.
    Key {
        /// Whether another key would help.
        wanted: bool,
    },
}

impl Malformed {
    /// Damage in `what` at `offset`.
    pub(crate) fn new(what: impl Into<String>, offset: u64, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            offset,
            why: why.into(),
            kind: MalformedKind::Damaged,
        }
    }

    /// A structure whose own version is newer than this release reads.
    pub(crate) fn newer(what: &str, found: u32, newest: u32) -> Self {
        let why = format!(
            "{found} is newer than {newest}, the newest this release reads; upgrade Hyperslab, or if no release is that new, restore the file from a backup"
        );
        Self::unsupported(what, why)
    }

    /// A valid input that this release does not support.
    pub(crate) fn unsupported(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            offset: 0,
            why: why.into(),
            kind: MalformedKind::Unsupported,
        }
    }

    /// The error for the file at `path`. A separate function, so that it is compiled only once.
    #[cold]
    #[inline(never)]
    fn at(self, path: String) -> Error {
        match self.kind {
            MalformedKind::Damaged => Error::Corrupt { path, malformed: self },
            MalformedKind::NewerVersion(found, supported) => Error::UnsupportedVersion { path, found, supported },
            MalformedKind::Unsupported => Error::Unsupported(format!("{path}: {}: {}", self.what, self.why)),
            MalformedKind::Key { wanted } => Error::Key {
                path,
                wanted,
                why: format!("{}: {}", self.what, self.why),
            },
        }
    }

    /// A missing or wrong key.
    pub(crate) fn key(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            offset: 0,
            why: why.into(),
            kind: MalformedKind::Key { wanted: true },
        }
    }

    /// A key for data that is not encrypted.
    pub(crate) fn needless_key(what: impl Into<String>) -> Self {
        Self {
            kind: MalformedKind::Key { wanted: false },
            ..Self::key(what, "it is not encrypted; open it without a key")
        }
    }

    /// The same error with `base` added to its offset, for a nested structure.
    #[must_use]
    pub(crate) fn shifted(mut self, base: u64) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.what, self.offset, self.why)
    }
}

impl std::error::Error for Malformed {}

/// Adds the path to an error of a decoder.
pub trait AtPath<T> {
    /// Turns a [`Malformed`] into an [`Error`] about the file at `path`.
    ///
    /// # Errors
    /// The same failure, with its path.
    fn at(self, path: &str) -> Result<T>;

    /// Same as [`AtPath::at`], with a path that is only built for an error.
    ///
    /// # Errors
    /// The same failure, with its path.
    fn at_with(self, path: impl FnOnce() -> String) -> Result<T>;
}

impl<T> AtPath<T> for Result<T, Malformed> {
    fn at(self, path: &str) -> Result<T> {
        self.at_with(|| path.to_owned())
    }

    fn at_with(self, path: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|m| m.at(path()))
    }
}
