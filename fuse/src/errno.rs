//! Maps failures to error numbers.

use std::borrow::Cow;
use std::io;

use fuser::Errno;
use hyperslab::Error;

/// The longest reason of a failed write, in characters.
const REASON_CHARS_MAX: usize = 1000;

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
    /// A file cannot be moved to this folder.
    OtherFolder,
    /// The request timed out.
    TimedOut,
    /// A bug in this program.
    Panicked,
    /// A refused or failed write.
    Refused(Refusal),
    /// An error of the engine.
    Engine(Error),
    /// An error of the engine while reading an existing file.
    Unreadable(Error),
}

/// Why a write was refused or failed. It is kept, because each close of a file reports it.
#[derive(Debug, Clone)]
pub struct Refusal {
    number: Errno,
    why: String,
}

impl Refusal {
    /// A refusal with an error number and a reason.
    pub fn new(number: Errno, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { number, why }
    }

    /// A name or data that does not fit the array.
    pub fn invalid(why: impl Into<String>) -> Self {
        Self::new(Errno::EINVAL, why)
    }

    /// An operation that the file system does not offer.
    pub fn not_permitted(why: impl Into<String>) -> Self {
        Self::new(Errno::EPERM, why)
    }

    /// An error of the disk on which files are staged.
    pub fn of_disk(error: &io::Error) -> Self {
        let number = match error.kind() {
            io::ErrorKind::StorageFull => Errno::ENOSPC,
            _ => error.raw_os_error().map_or(Errno::EIO, Errno::from_i32),
        };
        Self::new(number, format!("cannot stage the file: {error}"))
    }

    /// A failed write of cells: an error of the store if there is one, else of the data.
    pub fn of_write(error: &anyhow::Error) -> Self {
        let mut causes = error.chain();
        let of_system = causes.find_map(|c| c.downcast_ref::<io::Error>()?.raw_os_error());
        let of_engine = error.chain().find_map(|c| c.downcast_ref::<Error>());
        let number = match (of_system, of_engine) {
            (Some(number), _) => Errno::from_i32(number),
            (None, Some(Error::InvalidArgument(_) | Error::Cell { .. }) | None) => Errno::EINVAL,
            (None, Some(Error::NotFound { .. })) => Errno::EIO,
            (None, Some(error)) => engine_errno(error),
        };
        // The reason may quote a column of any length.
        let why = format!("{error:#}");
        let shown: String = why.chars().take(REASON_CHARS_MAX).collect();
        let rest = if shown.len() < why.len() { "…" } else { "" };
        Self::new(number, shown + rest)
    }

    /// The same failure with a copy of the reason.
    pub fn of(error: &FsError) -> Self {
        Self::new(errno(error), error.to_string())
    }
}

impl From<Refusal> for FsError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
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
            Self::OtherFolder => f.write_str("files cannot be moved between these folders; copy the file"),
            Self::TimedOut => f.write_str("timed out; try again, or mount with a larger --timeout"),
            Self::Panicked => f.write_str("internal error; please report it"),
            Self::Refused(refusal) => f.write_str(&refusal.why),
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
        FsError::OtherFolder => Errno::EXDEV,
        FsError::TimedOut => Errno::ETIMEDOUT,
        FsError::Panicked => Errno::EIO,
        FsError::Refused(refusal) => refusal.number,
        // Zarr readers treat a missing chunk as unwritten, so these must not be `ENOENT`.
        FsError::Unreadable(Error::NotFound { .. } | Error::InvalidArgument(_)) => Errno::EIO,
        FsError::Engine(error) | FsError::Unreadable(error) => engine_errno(error),
    }
}

fn engine_errno(error: &Error) -> Errno {
    match error {
        lost if lost.is_lost() => Errno::EIO,
        Error::NotFound { .. } | Error::InvalidArgument(_) => Errno::ENOENT,
        Error::AlreadyExists { .. } => Errno::EEXIST,
        Error::UnsupportedVersion { .. } | Error::Unsupported(_) => Errno::EOPNOTSUPP,
        Error::Key { .. } => Errno::EACCES,
        Error::LimitExceeded { .. } | Error::NoMemory { .. } => Errno::EFBIG,
        Error::Cancelled => Errno::EINTR,
        // Unknown future errors of the engine are failed reads.
        Error::Corrupt { .. } | Error::Io { .. } | _ => Errno::EIO,
    }
}

/// The name of an error number, such as `EIO`. Numbers that this program does not use stay numbers.
pub(crate) fn errno_name(number: i32) -> Cow<'static, str> {
    const NAMES: [(Errno, &str); 23] = [
        (Errno::EACCES, "EACCES"),
        (Errno::EBUSY, "EBUSY"),
        (Errno::EDQUOT, "EDQUOT"),
        (Errno::EEXIST, "EEXIST"),
        (Errno::EFBIG, "EFBIG"),
        (Errno::EINTR, "EINTR"),
        (Errno::EINVAL, "EINVAL"),
        (Errno::EIO, "EIO"),
        (Errno::EISDIR, "EISDIR"),
        (Errno::EMFILE, "EMFILE"),
        (Errno::ENAMETOOLONG, "ENAMETOOLONG"),
        (Errno::ENFILE, "ENFILE"),
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
