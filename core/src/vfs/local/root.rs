//! A folder, and what lies below it: no link leads out.
//!
//! Links are followed while they stay below the folder. On Linux the kernel checks this as it opens the file
//! (`openat2`), so a link that is swapped at that moment leads nowhere else. On other systems `cap-std` opens one
//! name of the path after the other.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::vfs::path::{join, split};

/// What a name in a folder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a device or a socket.
    Special,
    /// A link that leads out of the folder, and whether to a folder.
    Outside(bool),
}

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEntry {
    /// The last part of its name.
    pub name: String,
    /// What it is, with links followed.
    pub kind: LocalKind,
    /// Whether a link was followed.
    pub is_link: bool,
}

/// A folder on the local disk. Names in it are relative and `/`-separated; the empty name is the folder itself.
#[derive(Debug, Clone)]
pub struct LocalRoot(PathBuf);

impl LocalRoot {
    /// The folder at `path`, which may be a link and need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where the folder is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Opens the regular file `name` for reading, and says how many bytes it has.
    ///
    /// # Errors
    /// Those of the system; `name` is no regular file, or a link on the way leads out of the folder.
    pub fn open(&self, name: &str) -> io::Result<(File, u64)> {
        let options = reading();
        regular(self.within(name, |dir, name| dir.open_with(name, &options))?.into_std())
    }

    /// The kind of `name`, with links followed, and how many bytes it has.
    ///
    /// # Errors
    /// Those of the system; a link on the way leads out of the folder.
    pub fn kind(&self, name: &str) -> io::Result<(LocalKind, u64)> {
        let metadata = self.within(name, |dir, name| dir.metadata(name))?;
        Ok((kind(metadata.file_type()), metadata.len()))
    }

    /// What is in the folder `name`, in no order. Names that are not Unicode, and links that lead nowhere, are left out.
    ///
    /// # Errors
    /// Those of the system; a link on the way leads out of the folder.
    pub fn entries(&self, name: &str) -> io::Result<Vec<LocalEntry>> {
        let mut entries = Vec::new();
        for child in self.within(name, |dir, name| dir.read_dir(name))? {
            let child = child?;
            // What vanished since the listing is not there.
            let (Ok(own), Ok(found)) = (child.file_name().into_string(), child.file_type()) else {
                continue;
            };
            let is_link = found.is_symlink();
            let kind = if is_link {
                self.linked(&join(name, &own))
            } else {
                Some(kind(found))
            };
            entries.extend(kind.map(|kind| LocalEntry {
                name: own,
                kind,
                is_link,
            }));
        }
        Ok(entries)
    }

    /// The kind of what the link `name` leads to.
    fn linked(&self, name: &str) -> Option<LocalKind> {
        match self.kind(name) {
            Ok((kind, _)) => Some(kind),
            Err(e) if is_outside(&e) => Some(LocalKind::Outside(self.0.join(name).metadata().ok()?.is_dir())),
            Err(_) => None,
        }
    }

    /// The folder `name`.
    pub(super) fn folder(&self, name: &str) -> io::Result<Dir> {
        self.within(name, |dir, name| dir.open_dir(name))
    }

    /// The folder `name`, which is made with those above it where it is missing.
    pub(super) fn folder_made(&self, name: &str) -> io::Result<Dir> {
        match self.folder(name) {
            Err(e) if e.kind() == ErrorKind::NotFound && name.is_empty() => {
                fs::create_dir_all(&self.0)?;
                self.folder(name)
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let (above, own) = split(name);
                match self.folder_made(above)?.create_dir(own) {
                    Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
                    _ => self.folder(name),
                }
            }
            found => found,
        }
    }

    /// Runs `make` in the folder that `name` lies in, with the last part of `name`. If the folder is missing, it is made.
    pub(super) fn in_folder<T>(&self, name: &str, make: impl Fn(&Dir, &str) -> io::Result<T>) -> io::Result<T> {
        let (folder, own) = split(name);
        match self.folder(folder).and_then(|dir| make(&dir, own)) {
            Err(e) if e.kind() == ErrorKind::NotFound => make(&self.folder_made(folder)?, own),
            made => made,
        }
    }

    /// Runs `open` on the folder and the path of `name` in it.
    fn within<T>(&self, name: &str, open: impl Fn(&Dir, &Path) -> io::Result<T>) -> io::Result<T> {
        let dir = Dir::open_ambient_dir(&self.0, ambient_authority())?;
        match open(&dir, Path::new(if name.is_empty() { "." } else { name })) {
            // Absolute links count as leading out, even if they lead back in.
            Err(e) if leads_out(&e) => open(&dir, &self.without_links(name)?),
            opened => opened,
        }
    }

    /// The path of `name` in the folder with all links followed.
    fn without_links(&self, name: &str) -> io::Result<PathBuf> {
        let real = self.0.join(name).canonicalize()?;
        let root = self.0.canonicalize()?;
        match real.strip_prefix(&root) {
            Ok(inside) if inside.as_os_str().is_empty() => Ok(".".into()),
            Ok(inside) => Ok(inside.to_owned()),
            Err(_) => Err(io::Error::other(Outside(root))),
        }
    }
}

/// A link led out of this folder.
#[derive(Debug)]
struct Outside(PathBuf);

impl std::fmt::Display for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a symbolic link points outside {} and is not followed; replace the link with its target, or use the target's own path",
            self.0.display()
        )
    }
}

impl std::error::Error for Outside {}

fn is_outside(e: &io::Error) -> bool {
    e.get_ref().is_some_and(|e| e.is::<Outside>())
}

/// Whether `cap-std` refused a path: the system's own refusals have a number.
fn leads_out(e: &io::Error) -> bool {
    e.kind() == ErrorKind::PermissionDenied && e.raw_os_error().is_none()
}

fn kind(found: cap_std::fs::FileType) -> LocalKind {
    if found.is_dir() {
        LocalKind::Folder
    } else if found.is_file() {
        LocalKind::File
    } else {
        LocalKind::Special
    }
}

/// Options to read a file. Opening a pipe does not wait for a writer.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    options
}

/// The file and its size, if it is a regular one.
pub(super) fn regular(file: File) -> io::Result<(File, u64)> {
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(not_regular());
    }
    Ok((file, found.len()))
}

pub(super) fn not_regular() -> io::Error {
    io::Error::other("it is a pipe, a device or a socket, and no regular file; remove it")
}
