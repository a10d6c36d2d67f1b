//! Which number a program sees for which failure: one table.

use fuser::Errno;
use hyperslab::Error;

/// Why the file system said no.
#[derive(Debug)]
pub enum Refusal {
    /// There is no such name. Nothing is wrong.
    Absent,
    /// The file was forgotten, or is no longer what it was.
    Stale,
    /// A folder where a file is needed.
    IsFolder,
    /// A file where a folder is needed.
    NoFolder,
    /// A file or folder has no extended attribute of this name.
    NoAttribute,
    /// A component of a path that is longer than any can be.
    NameTooLong,
    /// Something else than reading.
    ReadOnly,
    /// No answer within the time allowed.
    TimedOut,
    /// A defect of this program.
    Panicked,
    /// The engine's own failure.
    Engine(Error),
    /// The engine's failure to read a file that is there.
    Unreadable(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Refusal {
    /// Whether something that is there could not be read, rather than that there is nothing of the name.
    pub fn is_failure(&self) -> bool {
        let other = [Errno::ENOENT, Errno::ESTALE, Errno::EINTR];
        !other.iter().any(|o| o.code() == errno(self).code())
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("there is no such name"),
            Self::Stale => f.write_str("the file was forgotten; look its name up again"),
            Self::IsFolder => f.write_str("this is a folder"),
            Self::NoFolder => f.write_str("this is no folder"),
            Self::NoAttribute => f.write_str("there is no such attribute"),
            Self::NameTooLong => f.write_str("the name is too long"),
            Self::ReadOnly => f.write_str("nothing can be changed here"),
            Self::TimedOut => f.write_str("no answer within the time allowed"),
            Self::Panicked => f.write_str("the program has a defect; please report what you did"),
            Self::Engine(error) | Self::Unreadable(error) if error.wants_key() => {
                write!(f, "{error}; --key-file gives the key")
            }
            Self::Engine(error) | Self::Unreadable(error) => error.fmt(f),
        }
    }
}

/// The number for a failure.
///
/// A name that makes no sense is `ENOENT`, because shells and tools try names and go on from there;
/// the reason can be read from the folder's `user.hyperslab.error`.
pub fn errno(refusal: &Refusal) -> Errno {
    match refusal {
        Refusal::Absent => Errno::ENOENT,
        Refusal::Stale => Errno::ESTALE,
        Refusal::IsFolder => Errno::EISDIR,
        Refusal::NoFolder => Errno::ENOTDIR,
        Refusal::NoAttribute => Errno::ENODATA,
        Refusal::NameTooLong => Errno::ENAMETOOLONG,
        Refusal::ReadOnly => Errno::EROFS,
        Refusal::TimedOut => Errno::ETIMEDOUT,
        Refusal::Panicked => Errno::EIO,
        // Readers of Zarr take a chunk that is absent for cells that nobody wrote.
        Refusal::Unreadable(Error::NotFound { .. } | Error::InvalidArgument(_)) => Errno::EIO,
        Refusal::Engine(error) | Refusal::Unreadable(error) => match error {
            lost if lost.is_lost() => Errno::EIO,
            Error::NotFound { .. } | Error::InvalidArgument(_) => Errno::ENOENT,
            Error::AlreadyExists { .. } => Errno::EEXIST,
            Error::UnsupportedVersion { .. } | Error::Unsupported(_) => Errno::EOPNOTSUPP,
            Error::Key { .. } => Errno::EACCES,
            Error::LimitExceeded { .. } | Error::NoMemory { .. } => Errno::EFBIG,
            Error::Cancelled => Errno::EINTR,
            // What the engine may learn to say in future is a failure to read, like the rest.
            Error::Corrupt { .. } | Error::Io { .. } | _ => Errno::EIO,
        },
    }
}
