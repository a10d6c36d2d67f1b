//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::signals::{Pending, beside};

const BUFFER_BYTES: usize = 1 << 20;
/// Links that are followed one after another, as on Linux.
const LINKS_MAX: usize = 40;
/// Bytes that a file can have, for operating systems count them with a sign.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// An output being written.
pub(crate) struct Out {
    /// As messages call it.
    name: String,
    sink: Sink,
}

enum Sink {
    /// Written beside its name, renamed at the end.
    File {
        file: BufWriter<File>,
        half: Pending,
        path: PathBuf,
        force: bool,
    },
    /// A pipe, a device or standard output: what is written is gone.
    Stream(BufWriter<Box<dyn Write + Send>>),
}

impl Out {
    /// `-` is standard output. A file that is there is replaced at the end, but only if `force` allows it.
    pub(crate) fn create(name: &str, force: bool) -> Result<Self> {
        if name == "-" {
            return Ok(Self::stream("standard output", Box::new(io::stdout())));
        }
        if name.contains("://") {
            bail!("cannot write {name}: an export goes to a file of this machine or, with -, to standard output");
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
        let mut half = Pending::new(beside(&path)?);
        let file = File::create(half.path()).with_context(|| {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists());
            let hint = folder.map_or_else(String::new, |p| format!("; make the folder {} first", p.display()));
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

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether what has been written cannot be taken back.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.sink, Sink::Stream(_))
    }

    /// Refuses what there is no room for, before it is made: the file will have at least so many bytes.
    pub(crate) fn make_room(&self, bytes: u64) -> Result<()> {
        let Sink::File { file, .. } = &self.sink else {
            return Ok(());
        };
        let room = free(file.get_ref()).unwrap_or(u64::MAX).min(FILE_BYTES_MAX);
        if room < bytes {
            bail!(
                "cannot write {}: it needs at least {bytes} bytes, and there is room for {room}; select fewer cells, \
                 or take another disk",
                self.name
            );
        }
        Ok(())
    }

    /// Everything has been written: the file appears under its name.
    pub(crate) fn finish(self) -> Result<()> {
        if let Sink::File { path, force: false, .. } = &self.sink {
            // It may have come while this one was written.
            absent(&self.name, path)?;
        }
        let done = match self.sink {
            Sink::Stream(mut stream) => stream.flush(),
            Sink::File {
                mut file, half, path, ..
            } => file.flush().and_then(|()| {
                // Who may read the file that is replaced may read the new one, and nobody else.
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

/// Where links lead, even if nothing is there yet.
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

/// Gives a file the owner of the one that it replaces, if this user may do that.
#[cfg(unix)]
fn keep_owner(path: &Path, replaced: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let _ = std::os::unix::fs::chown(path, Some(replaced.uid()), Some(replaced.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_path: &Path, _replaced: &fs::Metadata) {}

/// Refuses to replace a file with something in it.
fn absent(name: &str, path: &Path) -> Result<()> {
    if path.metadata().is_ok_and(|m| m.len() > 0) {
        bail!("cannot write {name}: the file exists already; choose another name, or replace it with --force");
    }
    Ok(())
}

/// Bytes that are free where a file lies, as far as the system tells.
#[cfg(unix)]
fn free(file: &File) -> Option<u64> {
    let found = rustix::fs::fstatvfs(file).ok()?;
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Other systems are not asked.
#[cfg(not(unix))]
const fn free(_file: &File) -> Option<u64> {
    None
}

/// The failure to write the output of this name.
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
    fn what_there_is_no_room_for_is_refused_beforehand() {
        let dir = tempfile::tempdir().unwrap();
        let out = Out::create(&dir.path().join("out.npy").to_string_lossy(), false).unwrap();
        out.make_room(1).unwrap();
        let refused = out.make_room(1 << 60).unwrap_err().to_string();
        assert!(
            refused.contains("it needs at least 1152921504606846976 bytes, and there is room for "),
            "{refused}"
        );
        Out::create("/dev/null", false).unwrap().make_room(1 << 60).unwrap();
    }
}
