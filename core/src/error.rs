//! What can go wrong, sorted by what a caller can do about it.
//!
//! Decoders know bytes but no paths: they return the small [`Malformed`]. The shell adds the path
//! once, with [`AtPath::at`].

use std::fmt;

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can fail, by what the caller can do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file, array, group, attribute or fragment. Check the name.
    #[error("{path}: not found{}", hint(.path, .what))]
    NotFound {
        /// The path that was looked for.
        path: String,
        /// What was looked for, and what to do; where it is empty, the message tells it by the path.
        what: String,
    },
    /// Something of this name exists and would have been overwritten.
    #[error("{path}: already exists; choose another name or remove it first")]
    AlreadyExists {
        /// The path in the way.
        path: String,
    },
    /// Bytes that are not what the format says. Restore the file from a copy.
    #[error("{path}: corrupt {malformed}; restore the file from a copy")]
    Corrupt {
        /// The damaged file.
        path: String,
        /// Which structure, where and why.
        malformed: Malformed,
    },
    /// Data written by a library that is newer than this one.
    #[error(
        "{path}: format version {found} is newer than {supported}, the newest this release reads; upgrade Hyperslab"
    )]
    UnsupportedVersion {
        /// The file that names the version.
        path: String,
        /// The version in the file.
        found: u32,
        /// The newest version this release reads.
        supported: u32,
    },
    /// The format allows it, this release (or this build) does not do it.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The array is encrypted and no key, or the wrong key, was given (or the other way round).
    #[error("{path}: {why}")]
    Key {
        /// The file that could not be decrypted.
        path: String,
        /// What is wrong with the key.
        why: String,
        /// Whether a key would help, or another one: not where the data is not encrypted at all.
        wanted: bool,
    },
    /// The request itself makes no sense for this array; the message says how to change it.
    #[error("{0}")]
    InvalidArgument(String),
    /// One of the cells that are to be written has no place in the array.
    #[error("cell {cell}, counted from 0: {why}")]
    Cell {
        /// Which of them, in the order in which they were given, counted from 0.
        cell: u64,
        /// Why, and what it would have to be.
        why: String,
    },
    /// A bound of [`crate::limits`] or a caller's budget was exceeded.
    #[error("{what}: {} is over the limit of {limit}", counted(*.found))]
    LimitExceeded {
        /// What is too large, with its unit.
        what: String,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
    },
    /// There is not so much memory.
    #[error("{what}: there is no memory for {} bytes; select fewer cells, or read in batches", counted(*.bytes))]
    NoMemory {
        /// What it is for.
        what: String,
        /// How much was asked for.
        bytes: u64,
    },
    /// The operation was dropped before it finished.
    #[error("cancelled")]
    Cancelled,
    /// The store failed. The source says why.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// The store's own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What a missing file is, and what to do: `what`, or what an array's own folders stand for.
fn hint(path: &str, what: &str) -> String {
    let within = |folder: &str| path.split('/').any(|part| part == folder);
    let what = match what {
        "" if within("__fragments") => {
            "it belongs to a committed fragment; if that was vacuumed just now, open the array again, or let `hyperslab \
             vacuum` mend a list that still names it, else restore the file from a copy, or remove the fragment's marker \
             from __commits to do without its cells"
        }
        "" if within("__enumerations") => "it holds the values of an enumeration; restore the file from a copy",
        "" if ["__schema", "__commits", "__meta", "__fragment_meta", "__group"]
            .into_iter()
            .any(within) =>
        {
            "the array or group names it; open it again, and if that does not help, restore the file from a copy"
        }
        told => told,
    };
    if what.is_empty() {
        String::new()
    } else {
        format!(" ({what})")
    }
}

/// A number, which is the greatest there is where it could not be counted to its end.
fn counted(found: u64) -> String {
    if found == u64::MAX {
        "a number beyond 64 bits".into()
    } else {
        found.to_string()
    }
}

impl Error {
    /// An [`Error::InvalidArgument`] with this message.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }

    /// Whether a file of an array's own is missing, rather than what was asked for.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::NotFound { path, .. } if path.split('/').any(|part| part.starts_with("__")))
    }

    /// Whether a key would help, or another one.
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

    /// An [`Error::NotFound`] at `path`; `what` says what was looked for and what to do.
    pub fn not_found(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::NotFound {
            path: path.into(),
            what: what.into(),
        }
    }

    /// A word that names the kind of error and never changes, for programs in other languages.
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

/// A decoder's complaint: which structure, at which byte of what it was given, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The structure or field that was being read.
    pub what: String,
    /// Offset in bytes from the start of the decoder's input.
    pub offset: u64,
    /// What was expected and what was there.
    pub why: String,
    /// Not damage, but something this release cannot do (an unknown filter, a newer version).
    pub kind: MalformedKind,
}

/// Why a decoder gave up, where that is not plain damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MalformedKind {
    /// The bytes are not what the format says.
    #[default]
    Damaged,
    /// A format version newer than this release: (found, supported).
    NewerVersion(u32, u32),
    /// Legal, but not done here; `what` and `why` name it.
    Unsupported,
    /// Encrypted without a key, plain with a key, or the wrong key.
    Key {
        /// Whether a key would help, or another one.
        wanted: bool,
    },
}

impl Malformed {
    /// Damage in `what` at `offset`.
    pub fn new(what: impl Into<String>, offset: u64, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            offset,
            why: why.into(),
            kind: MalformedKind::Damaged,
        }
    }

    /// A structure that has a version of its own, newer than this release reads.
    pub fn newer(what: &str, found: u32, newest: u32) -> Self {
        let why = format!(
            "{found}, where this release reads {newest} at most; upgrade Hyperslab, or, if no release is so new, restore the file from a copy"
        );
        Self::unsupported(what, why)
    }

    /// Something legal that this release does not do.
    pub fn unsupported(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            offset: 0,
            why: why.into(),
            kind: MalformedKind::Unsupported,
        }
    }

    /// The error of a file at `path`. Apart from [`AtPath`], so that it is compiled once and not for every result.
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

    /// A key that is missing or wrong.
    pub fn key(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            offset: 0,
            why: why.into(),
            kind: MalformedKind::Key { wanted: true },
        }
    }

    /// A key for what is not encrypted.
    pub fn needless_key(what: impl Into<String>) -> Self {
        Self {
            kind: MalformedKind::Key { wanted: false },
            ..Self::key(what, "it is not encrypted; open it without a key")
        }
    }

    /// The same complaint with `base` added to its offset, for a structure nested in another.
    #[must_use]
    pub fn shifted(mut self, base: u64) -> Self {
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

/// Adds the path a decoder could not know.
pub trait AtPath<T> {
    /// Turns a [`Malformed`] into an [`Error`] about the file at `path`.
    ///
    /// # Errors
    /// The same failure, with its path.
    fn at(self, path: &str) -> Result<T>;

    /// The same, where the path has yet to be put together.
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
