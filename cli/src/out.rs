//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::signals::{Pending, beside};

const BUFFER_BYTES: usize = 1 << 20;

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
    },
    /// A pipe, a device or standard output: what is written is gone.
    Stream(BufWriter<Box<dyn Write + Send>>),
}

impl Out {
    /// `-` is standard output.
    pub(crate) fn create(name: &str) -> Result<Self> {
        if name == "-" {
            return Ok(Self::stream("standard output", Box::new(io::stdout())));
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
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let half = Pending::new(beside(&path)?);
        let file = File::create(half.path()).with_context(|| {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists());
            let hint = folder.map_or_else(String::new, |p| format!("; make the folder {} first", p.display()));
            format!("cannot write {name}{hint}")
        })?;
        Ok(Self {
            name: name.to_owned(),
            sink: Sink::File {
                file: BufWriter::with_capacity(BUFFER_BYTES, file),
                half,
                path,
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

    /// Everything has been written: the file appears under its name.
    pub(crate) fn finish(self) -> Result<()> {
        let done = match self.sink {
            Sink::Stream(mut stream) => stream.flush(),
            Sink::File { mut file, half, path } => file.flush().and_then(|()| half.keep_as(&path)),
        };
        done.map_err(|e| failed(&self.name, e))
    }
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
