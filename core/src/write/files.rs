//! The data files of a fragment, written concurrently.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;

use super::field::{Fields, WrittenField};
use super::pack::PackedTile;
use crate::error::Result;
use crate::format::data_file::{self, FieldFile};
use crate::format::schema::Schema;
use crate::limits;
use crate::vfs::{FileWriter, Vfs, VfsExt, join};

/// All data files of a fragment. A small fragment takes one `put` per file. The files of a large one are written
/// concurrently, in parts.
pub(super) struct Files {
    vfs: Arc<dyn Vfs>,
    files: Vec<File>,
    waiting: u64,
    /// Bytes that may be buffered before they are written.
    waiting_max: u64,
    sync: bool,
}

struct File {
    path: String,
    /// Parts that are not written yet.
    parts: Vec<Bytes>,
    writer: Option<Box<dyn FileWriter>>,
}

impl Files {
    pub(super) fn new(vfs: Arc<dyn Vfs>, dir: &str, schema: &Schema, fields: &Fields, sync: bool) -> Self {
        let mut files = Vec::new();
        for WrittenField { id, field, .. } in &fields.list {
            let parts = [
                Some(FieldFile::Fixed),
                field.cell.is_var().then_some(FieldFile::Var),
                field.nullable.then_some(FieldFile::Validity),
            ];
            for part in parts.into_iter().flatten() {
                let path = join(dir, &data_file::file_name(schema, fields.version, *id, part));
                files.push(File {
                    path,
                    parts: Vec::new(),
                    writer: None,
                });
            }
        }
        Self {
            vfs,
            files,
            waiting: 0,
            waiting_max: limits::PUT_BYTES,
            sync,
        }
    }

    /// Lowers the limit of buffered bytes to `bytes`.
    pub(super) fn within(&mut self, bytes: u64) {
        self.waiting_max = self.waiting_max.min(bytes);
    }

    /// Adds tiles, ordered by tile and then by field. Writes them out once enough bytes are buffered.
    pub(super) async fn add(&mut self, tiles: Vec<Vec<PackedTile>>) -> Result<()> {
        for tile in tiles {
            let parts = tile
                .into_iter()
                .flat_map(|p| [Some(p.fixed), p.var.map(|v| v.0), p.validity]);
            for (file, part) in self.files.iter_mut().zip(parts.flatten()) {
                self.waiting += part.len() as u64;
                file.parts.push(part);
            }
        }
        if self.waiting < self.waiting_max {
            return Ok(());
        }
        self.waiting = 0;
        let vfs = self.vfs.as_ref();
        try_join_all(self.files.iter_mut().map(|f| f.flush(vfs))).await?;
        if self.sync {
            let writers = self.files.iter_mut().filter_map(|f| f.writer.as_mut());
            writers.for_each(|w| w.start_sync());
        }
        Ok(())
    }

    pub(super) async fn finish(self) -> Result<()> {
        let vfs = self.vfs.as_ref();
        try_join_all(self.files.into_iter().map(|f| f.finish(vfs))).await?;
        Ok(())
    }

    /// Removes the parts written so far, as far as the store can.
    pub(super) async fn abort(self) {
        for writer in self.files.into_iter().filter_map(|f| f.writer) {
            // Readers ignore what remains.
            let _ = writer.abort().await;
        }
    }
}

impl File {
    async fn flush(&mut self, vfs: &dyn Vfs) -> Result<()> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => vfs.create(&self.path).await?,
        };
        for part in merged(std::mem::take(&mut self.parts)) {
            writer.append(part).await?;
        }
        self.writer = Some(writer);
        Ok(())
    }

    async fn finish(mut self, vfs: &dyn Vfs) -> Result<()> {
        if self.writer.is_none() {
            return vfs.put(&self.path, merged(self.parts)).await;
        }
        self.flush(vfs).await?;
        match self.writer {
            Some(writer) => writer.finish().await,
            None => Ok(()),
        }
    }
}

/// Joins small neighbouring parts, so that small tiles do not cost a call each.
fn merged(parts: Vec<Bytes>) -> Vec<Bytes> {
    const SMALL: usize = 64 << 10;
    let mut out: Vec<Bytes> = Vec::with_capacity(parts.len());
    let mut gathered = Vec::new();
    for part in parts {
        if part.len() < SMALL {
            gathered.extend_from_slice(&part);
            continue;
        }
        if !gathered.is_empty() {
            out.push(Bytes::from(std::mem::take(&mut gathered)));
        }
        out.push(part);
    }
    if !gathered.is_empty() {
        out.push(Bytes::from(gathered));
    }
    out
}
