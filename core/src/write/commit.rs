//! The I/O of a write: data files, then metadata, then the commit.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::build::MetadataBuilder;
use super::field::Fields;
use super::files::Files;
use super::tiler::{self, Tiles};
use crate::array::Array;
use crate::context::Context;
use crate::cpu::Cpu;
use crate::error::{AtPath, Error, Result};
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::format::data_file::FRAGMENT_METADATA;
use crate::format::fragment::slots::FieldId;
use crate::format::name;
use crate::format::schema::{ArrayType, Schema};
use crate::format::version::Version;
use crate::identity::Ids;
use crate::limits;
use crate::scalar::ScalarRange;
use crate::vfs::{VfsExt, join};

/// A fragment being written: its folder, its files, and its metadata so far.
pub(crate) struct Draft {
    array: Array,
    schema: Arc<Schema>,
    schema_name: String,
    fields: Arc<Fields>,
    build: MetadataBuilder,
    files: Files,
    /// The fragment's name.
    pub(crate) name: String,
    /// Bytes of tiles packed at a time.
    packing: u64,
    sync: bool,
}

impl Draft {
    /// Starts a dense or sparse fragment of `array` with these timestamps in its name. Writes nothing yet. `special`
    /// lists the fields that only consolidated fragments have.
    pub(crate) fn new(
        array: &Array,
        kind: ArrayType,
        times: (u64, u64),
        special: &[FieldId],
        ids: &mut Ids,
        sync: bool,
    ) -> Self {
        let schema = Arc::clone(array.schema());
        let version = schema.version.for_new_fragments();
        let name = name::versioned(times.0, times.1, ids.draw(), version);
        let fields = Arc::new(Fields::new(
            &schema,
            kind,
            version,
            special,
            array.key(),
            ids.draw_seed(),
        ));
        let dir = fragment_dir(array, version.has_commit_folder(), &name);
        array.context().register(&dir);
        let files = Files::new(Arc::clone(&array.context().vfs), &dir, &schema, &fields, sync);
        let schema_name = array.0.schema_name.clone();
        Self {
            array: array.clone(),
            schema,
            schema_name,
            build: MetadataBuilder::new(&fields),
            fields,
            files,
            name,
            packing: limits::PACK_BYTES,
            sync,
        }
    }

    /// Limits the buffers to a small part of `memory_bytes`. One lot is packed while the previous one is written, and
    /// each lot is held both as cells and as filtered bytes.
    pub(crate) fn within(mut self, memory_bytes: u64) -> Self {
        self.packing = self.packing.min(memory_bytes / 16);
        self.files.within(memory_bytes / 32);
        self.fields.spare.keep_at_most(self.packing);
        self
    }

    /// The array the fragment belongs to.
    pub(super) fn array(&self) -> &Array {
        &self.array
    }

    /// The schema the fragment is written with.
    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub(crate) fn fields(&self) -> &Arc<Fields> {
        &self.fields
    }

    /// The threads that check its cells.
    pub(super) fn cpu(&self) -> Cpu {
        self.array.context().cpu
    }

    /// Bytes of data written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.build.bytes()
    }

    /// Tiles written so far.
    pub(crate) fn tiles(&self) -> u64 {
        self.build.tiles()
    }

    /// Packs and writes these tiles, a bounded number at a time. Packing overlaps with writing.
    pub(crate) async fn add(&mut self, tiles: Arc<dyn Tiles>) -> Result<()> {
        let cpu = self.cpu();
        let count = tiles.count();
        let tile_bytes: u64 = self
            .fields
            .list
            .iter()
            .map(|f| f.field.cell_bytes().unwrap_or(32) as u64)
            .sum();
        let cells = if count > 0 { tiles.cells(0).max(1) } else { 1 };
        let noted = self.fields.list.len() as u64 * limits::TILE_NOTES_BYTES;
        let lot = (self.packing / tile_bytes.saturating_mul(cells).saturating_add(noted)).max(2);
        // Split the lot into pieces so that no core idles at its end.
        let pieces = 2 * cpu.threads() as u64;
        let piece = (lot / pieces).max(1);
        let at_a_time = (lot / piece).min(pieces) as usize;
        let job = |range: Range<u64>| {
            let (tiles, fields) = (Arc::clone(&tiles), Arc::clone(&self.fields));
            cpu.run(move || tiler::pack_range(tiles.as_ref(), &fields, cpu, range))
        };
        let end = |start: u64| {
            let mut to_pack = (start..count).filter(|&t| !tiles.is_stored(t));
            to_pack.nth(piece as usize).unwrap_or(count)
        };
        let mut at = 0;
        let mut jobs = VecDeque::new();
        loop {
            while at < count && jobs.len() < at_a_time {
                let range = at..end(at);
                at = range.end;
                jobs.push_back((range.clone(), job(range)));
            }
            let Some((range, packing)) = jobs.pop_front() else {
                return Ok(());
            };
            let mut packed = packing.await?;
            for (tile, packed) in range.zip(&mut packed) {
                self.build.add(tiles.cells(tile), packed);
            }
            self.files.add(packed).await?;
        }
    }

    /// Writes the metadata. The fragment is complete but invisible until it is committed.
    pub(crate) async fn seal(self, region: Option<Vec<ScalarRange>>, processed: Vec<String>) -> Result<Sealed> {
        let Self {
            array,
            schema,
            schema_name,
            fields,
            build,
            files,
            name,
            sync,
            packing: _,
        } = self;
        let vfs = Arc::clone(&array.context().vfs);
        let version = fields.version;
        let dir = fragment_dir(&array, version.has_commit_folder(), &name);
        files.finish().await?;
        let path = join(&dir, FRAGMENT_METADATA);
        let metadata = build.finish(&schema, &schema_name, &fields, region, processed);
        let metadata = metadata
            .encode(&schema, fields.key.as_ref(), &fields.nonces)
            .at(&path)?;
        vfs.put(&path, vec![Bytes::from(metadata)]).await?;
        if sync {
            vfs.sync(&dir).await?;
        }
        Ok(Sealed {
            commit: commit_path(version, &name),
            name,
            array,
            sync,
        })
    }

    /// Gives the fragment up and removes its files as far as possible.
    pub(crate) async fn abandon(self) {
        self.files.abort().await;
        Self::discard(&self.array, &self.name).await;
    }

    /// Removes the files written so far if the store permits it.
    pub(crate) async fn discard(array: &Array, name: &str) {
        array.context().discard(&draft_dir(array, name)).await;
    }
}

/// A complete fragment that is not committed yet.
pub(crate) struct Sealed {
    pub(super) array: Array,
    /// The fragment's name.
    pub(crate) name: String,
    /// The path of its commit file, relative to the array.
    pub(crate) commit: String,
    pub(super) sync: bool,
}

impl Sealed {
    /// Makes the fragment visible.
    pub(crate) async fn commit(&self) -> Result<String> {
        put_commit(&self.array, &[&self.name], &self.commit, Vec::new(), self.sync).await?;
        Ok(self.name.clone())
    }
}

/// Lists the names in a folder, bypassing cached listings.
pub(crate) async fn names_in(context: &Context, dir: &str) -> Result<Vec<String>> {
    context.vfs.invalidate().await?;
    let entries = context.vfs.list(dir).await?;
    Ok(entries.into_iter().map(|e| e.name).collect())
}

/// Puts a small file that changes what readers of the array see, and syncs it if `sync` is set.
pub(crate) async fn put(array: &Array, path: &str, bytes: Vec<u8>, sync: bool) -> Result<()> {
    put_commit(array, &[], path, bytes, sync).await
}

/// The same for a file that commits these fragments.
pub(crate) async fn put_commit(array: &Array, names: &[&str], path: &str, bytes: Vec<u8>, sync: bool) -> Result<()> {
    let folders: Vec<String> = names.iter().map(|name| draft_dir(array, name)).collect();
    let _commit = array.context().commit(folders.iter().map(String::as_str))?;
    put_file(array, path, bytes, sync).await
}

/// Puts a small file below the array, and syncs it if `sync` is set.
pub(crate) async fn put_file(array: &Array, path: &str, bytes: Vec<u8>, sync: bool) -> Result<()> {
    let path = join(array.path(), path);
    let vfs = &array.context().vfs;
    vfs.put(&path, vec![Bytes::from(bytes)]).await?;
    if !sync {
        return Ok(());
    }
    match vfs.sync(&path).await {
        // Another process no longer needed the file and removed it.
        Err(Error::NotFound { .. }) => Ok(()),
        done => done,
    }
}

/// The path of a fragment's commit file, relative to the array.
pub(super) fn commit_path(version: Version, name: &str) -> String {
    if version.has_commit_folder() {
        join(COMMITS_DIR, &format!("{name}.wrt"))
    } else {
        format!("{name}.ok")
    }
}

/// The folder of a fragment that is being written.
pub(super) fn draft_dir(array: &Array, name: &str) -> String {
    let version = array.schema().version.for_new_fragments();
    fragment_dir(array, version.has_commit_folder(), name)
}

pub(super) fn fragment_dir(array: &Array, in_folder: bool, name: &str) -> String {
    join(&join(array.path(), if in_folder { FRAGMENTS_DIR } else { "" }), name)
}
