//! A local folder as files of a server.

use std::fs::{File, Metadata};
use std::io::{Seek as _, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use hyperslab::internals::vfs::{LocalEntry, LocalKind, LocalRoot};
use hyperslab::vfs;

use super::http::ReadNext;
use super::tree::{Contents, Entry, Found, OpenFile, Refusal, Tree};

/// A folder; links out of it are not followed.
#[derive(Debug)]
pub(super) struct Folder(LocalRoot);

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(LocalRoot::new(path))
    }
}

impl Tree for Folder {
    fn find(&self, name: &str) -> Result<Found, Refusal> {
        match self.0.kind(name)?.0 {
            LocalKind::Folder => Ok(Found::Folder),
            LocalKind::File => {
                let (file, _) = self.0.open(name)?;
                let metadata = file.metadata()?;
                Ok(Found::File(OpenFile {
                    size: metadata.len(),
                    etag: Some(etag(&metadata)),
                    source: Box::new(file),
                }))
            }
            LocalKind::Special | LocalKind::Outside(_) => Err(Refusal::absent()),
        }
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, Refusal> {
        let mut entries = Vec::new();
        for LocalEntry { name, kind, .. } in self.0.entries(folder)? {
            let size = match kind {
                LocalKind::Folder => None,
                // Skip files that were removed in the meantime.
                LocalKind::File => match self.0.kind(&vfs::join(folder, &name)) {
                    Ok((_, size)) => Some(size),
                    Err(_) => continue,
                },
                LocalKind::Special | LocalKind::Outside(_) => continue,
            };
            entries.push(Entry { name, size });
        }
        Ok(entries)
    }
}

impl Contents for File {
    fn within(mut self: Box<Self>, range: Range<u64>) -> Result<Box<dyn ReadNext>, Refusal> {
        self.seek(SeekFrom::Start(range.start))?;
        Ok(self)
    }
}

/// A tag that changes whenever the file is written again.
fn etag(metadata: &Metadata) -> String {
    let nanos = metadata
        .modified()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_nanos());
    format!("\"{nanos:x}-{:x}\"", metadata.len())
}
