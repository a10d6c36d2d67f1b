//! Maps failures to error numbers.

use std::borrow::Cow;

use fuser::Errno;
use hyperslab::Error;

/// The reason why a request failed.
#[derive(Debug)]
pub enum FsError {
    /// No file or folder has this name. This is not a failure.
    Absent,
    /// The inode was forgotten, or the file has changed.
    Stale,
    /// A folder was given instead of a file.
    IsFolder,
    /// A file was given instead of a folder.
    NoFolder,
    /// A file or folder was given instead of a link.
    NoLink,
    /// The file or folder has no extended attribute of this name.
    NoAttribute,
    /// A component of the path is too long.
    NameTooLong,
    /// The request would write.
    ReadOnly,
    /// The request timed out.
    TimedOut,
    /// A bug in this program.
    Panicked,
    /// An error of the engine.
    Engine(Error),
    /// An error of the engine while reading an existing file.
    Unreadable(Error),
}

impl From<Error> for FsError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl FsError {
    /// Whether reading existing data failed. False if the name does not exist.
    pub fn is_failure(&self) -> bool {
        let other = [Errno::ENOENT, Errno::ESTALE, Errno::EINTR];
        !other.iter().any(|o| o.code() == errno(self).code())
    }
}

impl std::fmt::Display for FsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("no such file or folder"),
            Self::Stale => f.write_str("the file is out of date; open it again"),
            Self::IsFolder => f.write_str("this is a folder"),
            Self::NoFolder => f.write_str("this is not a folder"),
            Self::NoLink => f.write_str("this is not a link"),
            Self::NoAttribute => f.write_str("no such extended attribute"),
            Self::NameTooLong => f.write_str("the name is too long"),
            Self::ReadOnly => f.write_str("the file system is read-only"),
            Self::TimedOut => f.write_str("timed out; try again, or mount with a larger --timeout"),
            Self::Panicked => f.write_str("internal error; please report it"),
            Self::Engine(error) | Self::Unreadable(error) if error.wants_key() => {
                write!(f, "{error}; pass the key with --key-file")
            }
            Self::Engine(error) | Self::Unreadable(error) => error.fmt(f),
        }
    }
}

// Display includes the error of the engine.
impl std::error::Error for FsError {}

/// The error number of a failure.
///
/// An invalid name is `ENOENT`, because shells and tools probe names and continue after that error. The reason is in
/// the folder's extended attribute `user.hyperslab.error`.
pub fn errno(refusal: &FsError) -> Errno {
    match refusal {
        FsError::Absent => Errno::ENOENT,
        FsError::Stale => Errno::ESTALE,
        FsError::IsFolder => Errno::EISDIR,
        FsError::NoFolder => Errno::ENOTDIR,
        FsError::NoLink => Errno::EINVAL,
        FsError::NoAttribute => Errno::ENODATA,
        FsError::NameTooLong => Errno::ENAMETOOLONG,
        FsError::ReadOnly => Errno::EROFS,
        FsError::TimedOut => Errno::ETIMEDOUT,
        FsError::Panicked => Errno::EIO,
        // Zarr readers treat a missing chunk as unwritten, so these must not be `ENOENT`.
        FsError::Unreadable(Error::NotFound { .. } | Error::InvalidArgument(_)) => Errno::EIO,
        FsError::Engine(error) | FsError::Unreadable(error) => match error {
            lost if lost.is_lost() => Errno::EIO,
            Error::NotFound { .. } | Error::InvalidArgument(_) => Errno::ENOENT,
            Error::AlreadyExists { .. } => Errno::EEXIST,
            Error::UnsupportedVersion { .. } | Error::Unsupported(_) => Errno::EOPNOTSUPP,
            Error::Key { .. } => Errno::EACCES,
            Error::LimitExceeded { .. } | Error::NoMemory { .. } => Errno::EFBIG,
            Error::Cancelled => Errno::EINTR,
            // Unknown future errors of the engine are failed reads.
            Error::Corrupt { .. } | Error::Io { .. } | _ => Errno::EIO,
        },
    }
}

/// The name of an error number, such as `EIO`. Numbers that this program does not use stay numbers.
pub(crate) fn errno_name(number: i32) -> Cow<'static, str> {
    const NAMES: [(Errno, &str); 21] = [
        (Errno::EACCES, "EACCES"),
        (Errno::EDQUOT, "EDQUOT"),
        (Errno::EEXIST, "EEXIST"),
        (Errno::EFBIG, "EFBIG"),
        (Errno::EINTR, "EINTR"),
        (Errno::EINVAL, "EINVAL"),
        (Errno::EIO, "EIO"),
        (Errno::EISDIR, "EISDIR"),
        (Errno::EMFILE, "EMFILE"),
        (Errno::ENAMETOOLONG, "ENAMETOOLONG"),
        (Errno::ENODATA, "ENODATA"),
        (Errno::ENOENT, "ENOENT"),
        (Errno::ENOSPC, "ENOSPC"),
        (Errno::ENOTDIR, "ENOTDIR"),
        (Errno::ENOTEMPTY, "ENOTEMPTY"),
        (Errno::EOPNOTSUPP, "EOPNOTSUPP"),
        (Errno::EPERM, "EPERM"),
        (Errno::EROFS, "EROFS"),
        (Errno::ESTALE, "ESTALE"),
        (Errno::ETIMEDOUT, "ETIMEDOUT"),
        (Errno::EXDEV, "EXDEV"),
    ];
    let name = NAMES.iter().find(|(errno, _)| errno.code() == number);
    name.map_or_else(|| number.to_string().into(), |(_, name)| (*name).into())
}
