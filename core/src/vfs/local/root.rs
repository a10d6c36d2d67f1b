//! Access to a folder that links cannot escape.
//!
//! Links are followed only within the folder. On Linux the kernel checks this when it opens the file (`openat2`), so
//! swapping a link at that moment cannot escape. On other systems `cap-std` opens the path one component at a time.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::vfs::path::{join, split};

/// The kind of a folder entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a device or a socket.
    Special,
    /// A link out of the folder. The flag says whether its target is a folder.
    Outside(bool),
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEntry {
    /// The last part of its name.
    pub name: String,
    /// The kind of the entry, or of its target if it is a link.
    pub kind: LocalKind,
    /// Whether the entry is a link.
    pub is_link: bool,
}

/// A folder on the local disk. Names in it are relative and separated by `/`; the empty name is the folder itself.
#[derive(Debug, Clone)]
pub struct LocalRoot {
    path: PathBuf,
    /// The folder, if it stays open between calls.
    dir: Option<Arc<Dir>>,
}

impl LocalRoot {
    /// The folder at `path`, which may be a link and need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { path, dir: None }
    }

    /// The same folder, kept open for many calls in a row. A folder that takes its place meanwhile is not seen.
    pub(super) fn kept_open(&self) -> Self {
        // If this fails, each call will fail with its own error.
        let dir = self.opened().ok();
        Self { dir, ..self.clone() }
    }

    fn opened(&self) -> io::Result<Arc<Dir>> {
        match &self.dir {
            Some(dir) => Ok(Arc::clone(dir)),
            None => Dir::open_ambient_dir(&self.path, ambient_authority()).map(Arc::new),
        }
    }

    /// The path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the regular file `name` for reading. Also returns its size in bytes.
    ///
    /// # Errors
    /// I/O errors. Fails if `name` is not a regular file, or if a link in its path leads out of the folder.
    pub fn open(&self, name: &str) -> io::Result<(File, u64)> {
        let options = reading();
        regular(self.within(name, |dir, name| dir.open_with(name, &options))?.into_std())
    }

    /// The kind of `name`, following links, and its size in bytes.
    ///
    /// # Errors
    /// I/O errors. Fails if a link in the path leads out of the folder.
    pub fn kind(&self, name: &str) -> io::Result<(LocalKind, u64)> {
        let metadata = self.within(name, |dir, name| dir.metadata(name))?;
        Ok((kind(metadata.file_type()), metadata.len()))
    }

    /// Lists the folder `name` in no particular order. Names that are not Unicode and dangling links are left out.
    ///
    /// # Errors
    /// I/O errors. Fails if a link in the path leads out of the folder.
    pub fn entries(&self, name: &str) -> io::Result<Vec<LocalEntry>> {
        let mut entries = Vec::new();
        for child in self.within(name, |dir, name| dir.read_dir(name))? {
            let child = child?;
            // Skip entries that were removed since the listing.
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

    /// The kind of the target of the link `name`.
    fn linked(&self, name: &str) -> Option<LocalKind> {
        match self.kind(name) {
            Ok((kind, _)) => Some(kind),
            Err(e) if is_outside(&e) => Some(LocalKind::Outside(self.path.join(name).metadata().ok()?.is_dir())),
            Err(_) => None,
        }
    }

    /// Opens the folder `name`.
    pub(super) fn folder(&self, name: &str) -> io::Result<Dir> {
        self.within(name, |dir, name| dir.open_dir(name))
    }

    /// Opens the folder `name`, creating it and its parents if they are missing.
    pub(super) fn folder_made(&self, name: &str) -> io::Result<Dir> {
        match self.folder(name) {
            Err(e) if e.kind() == ErrorKind::NotFound && name.is_empty() => {
                fs::create_dir_all(&self.path)?;
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

    /// Runs `make` with the parent folder of `name` and the last part of `name`. Creates the folder if it is missing.
    pub(super) fn in_folder<T>(&self, name: &str, make: impl Fn(&Dir, &str) -> io::Result<T>) -> io::Result<T> {
        let (folder, own) = split(name);
        match self.folder(folder).and_then(|dir| make(&dir, own)) {
            Err(e) if e.kind() == ErrorKind::NotFound => make(&self.folder_made(folder)?, own),
            made => made,
        }
    }

    /// Runs `open` with the root folder and the path of `name` in it.
    fn within<T>(&self, name: &str, open: impl Fn(&Dir, &Path) -> io::Result<T>) -> io::Result<T> {
        let dir = self.opened()?;
        match open(&dir, Path::new(if name.is_empty() { "." } else { name })) {
            // cap-std refuses all absolute links, even those that lead back in.
            Err(e) if leads_out(&e) => open(&dir, &self.without_links(name)?),
            opened => opened,
        }
    }

    /// The path of `name` in the folder with all links resolved.
    fn without_links(&self, name: &str) -> io::Result<PathBuf> {
        let real = self.path.join(name).canonicalize()?;
        let root = self.path.canonicalize()?;
        match real.strip_prefix(&root) {
            Ok(inside) if inside.as_os_str().is_empty() => Ok(".".into()),
            Ok(inside) => Ok(inside.to_owned()),
            Err(_) => Err(io::Error::other(Outside(root))),
        }
    }
}

/// A link leads out of this folder.
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

/// Whether `cap-std` refused the path. Errors of the system have an error number.
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

/// Options for opening a file to read. Opening a pipe does not block.
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

/// Checks that the file is a regular one, and returns it with its size.
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
    io::Error::other("not a regular file but a pipe, a device or a socket; remove it")
}
