//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::signals::{Pending, beside};

const BUFFER_BYTES: usize = 1 << 20;

/// An output being written.
pub(crate) enum Out {
    /// Written beside its name, renamed at the end.
    File {
        file: BufWriter<File>,
        half: Pending,
        name: PathBuf,
    },
    /// A pipe, a device or standard output: what is written is gone.
    Stream(BufWriter<Box<dyn Write + Send>>),
}

impl Out {
    /// `-` is standard output.
    pub(crate) fn create(name: &str) -> Result<Self> {
        if name == "-" {
            return Ok(Self::Stream(BufWriter::with_capacity(
                BUFFER_BYTES,
                Box::new(io::stdout()),
            )));
        }
        let path = Path::new(name);
        let special = path.metadata().is_ok_and(|m| !m.is_file());
        if special {
            let file = File::options()
                .write(true)
                .open(path)
                .with_context(|| format!("cannot write {name}"))?;
            return Ok(Self::Stream(BufWriter::with_capacity(BUFFER_BYTES, Box::new(file))));
        }
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let half = Pending::new(beside(&path)?);
        let file = File::create(half.path()).with_context(|| {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists());
            let hint = folder.map_or_else(String::new, |p| format!("; make the folder {} first", p.display()));
            format!("cannot write {name}{hint}")
        })?;
        Ok(Self::File {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            half,
            name: path,
        })
    }

    /// Everything has been written: the file appears under its name.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Stream(mut stream) => stream.flush().context("cannot write the output"),
            Self::File { mut file, half, name } => {
                let done = file.flush().and_then(|()| half.keep_as(&name));
                done.with_context(|| format!("cannot write {}", name.display()))
            }
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(bytes),
            Self::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Stream(stream) => stream.flush(),
        }
    }
}
