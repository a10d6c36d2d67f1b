//! The output of an export: standard output, or a file that appears complete or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::signals::{Pending, temporary_path};

const BUFFER_BYTES: usize = 1 << 20;
/// The longest chain of links that is followed, as on Linux.
const LINKS_MAX: usize = 40;
/// The most bytes of a file, because operating systems use signed sizes.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// An output being written.
pub(crate) struct Out {
    /// Its name for messages.
    name: String,
    sink: Sink,
}

enum Sink {
    /// Written under a temporary name in the same folder, and renamed at the end.
    File {
        file: BufWriter<File>,
        half: Pending,
        path: PathBuf,
        force: bool,
    },
    /// A pipe, a device or standard output, which cannot be rewritten.
    Stream(BufWriter<Box<dyn Write + Send>>),
}

impl Out {
    /// Opens an output; `-` is standard output. An existing file is replaced at the end, and only with `force`.
    pub(crate) fn create(name: &str, force: bool) -> Result<Self> {
        if name == "-" {
            return Ok(Self::stream("standard output", Box::new(io::stdout())));
        }
        if name.contains("://") {
            bail!("cannot write {name}: an export goes to a local file or, with -, to standard output");
        }
        let path = Path::new(name);
        let special = path.metadata().is_ok_and(|m| !m.is_file());
        if special {
            let file = File::options()
                .write(true)
                .open(path)
                .with_context(|| format!("cannot write {name}"))?;
            return Ok(Self::stream(name, Box::new(file)));
        }
        // The target of a link is replaced, not the link.
        let path = resolved(path);
        if !force {
            absent(name, &path)?;
        }
        let mut half = Pending::new(temporary_path(&path)?);
        let file = File::create(half.path()).with_context(|| {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists());
            let hint = folder.map_or_else(String::new, |p| format!("; create the folder {} first", p.display()));
            format!("cannot write {name}{hint}")
        })?;
        half.hold();
        Ok(Self {
            name: name.to_owned(),
            sink: Sink::File {
                file: BufWriter::with_capacity(BUFFER_BYTES, file),
                half,
                path,
                force,
            },
        })
    }

    fn stream(name: &str, stream: Box<dyn Write + Send>) -> Self {
        Self {
            name: name.to_owned(),
            sink: Sink::Stream(BufWriter::with_capacity(BUFFER_BYTES, stream)),
        }
    }

    /// Its name for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether written bytes cannot be replaced.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.sink, Sink::Stream(_))
    }

    /// Returns an error if the disk has no room for a file of at least `bytes` bytes.
    pub(crate) fn make_room(&self, bytes: u64) -> Result<()> {
        let Sink::File { file, .. } = &self.sink else {
            return Ok(());
        };
        let room = free(file.get_ref()).unwrap_or(u64::MAX).min(FILE_BYTES_MAX);
        if room < bytes {
            bail!(
                "cannot write {}: it needs at least {bytes} bytes, but there is room for {room}; select fewer cells, \
                 or use another disk",
                self.name
            );
        }
        Ok(())
    }

    /// Completes the output: a file appears under its name.
    pub(crate) fn finish(self) -> Result<()> {
        if let Sink::File { path, force: false, .. } = &self.sink {
            // Another process may have created it in the meantime.
            absent(&self.name, path)?;
        }
        let done = match self.sink {
            Sink::Stream(mut stream) => stream.flush(),
            Sink::File {
                mut file, half, path, ..
            } => file.flush().and_then(|()| {
                // The new file gets the owner and the permissions of the replaced one.
                if let Ok(replaced) = path.metadata() {
                    keep_owner(half.path(), &replaced);
                    fs::set_permissions(half.path(), replaced.permissions())?;
                }
                half.keep_as(&path)
            }),
        };
        done.map_err(|e| failed(&self.name, e))
    }
}

/// Resolves links, even if their target does not exist.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Gives a file the owner of the file that it replaces, if this user may do that.
#[cfg(unix)]
fn keep_owner(path: &Path, replaced: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let _ = std::os::unix::fs::chown(path, Some(replaced.uid()), Some(replaced.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_path: &Path, _replaced: &fs::Metadata) {}

/// Returns an error if the file exists and is not empty.
fn absent(name: &str, path: &Path) -> Result<()> {
    if path.metadata().is_ok_and(|m| m.len() > 0) {
        bail!("cannot write {name}: the file exists already; choose another name, or replace it with --force");
    }
    Ok(())
}

/// Free bytes on the disk of a file, if the system reports them.
#[cfg(unix)]
pub(crate) fn free(file: &File) -> Option<u64> {
    let found = rustix::fs::fstatvfs(file).ok()?;
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Not implemented for other systems.
#[cfg(not(unix))]
pub(crate) const fn free(_file: &File) -> Option<u64> {
    None
}

/// The error for an output that cannot be written.
pub(crate) fn failed(name: &str, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot write {name}"))
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::File { file, .. } => file.write(bytes),
            Sink::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File { file, .. } => file.flush(),
            Sink::Stream(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn an_output_without_room_is_refused_beforehand() {
        let dir = tempfile::tempdir().unwrap();
        let out = Out::create(&dir.path().join("out.npy").to_string_lossy(), false).unwrap();
        out.make_room(1).unwrap();
        let refused = out.make_room(1 << 60).unwrap_err().to_string();
        assert!(
            refused.contains("it needs at least 1152921504606846976 bytes, but there is room for "),
            "{refused}"
        );
        Out::create("/dev/null", false).unwrap().make_room(1 << 60).unwrap();
    }
}
