//! The shell of a write: data files, then metadata, then the commit.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;

use super::build::Build;
use super::check;
use super::field::Fields;
use super::identity::Ids;
use super::pack::PackedTile;
use super::sort::{self, Sorted};
use super::tiler::{self, DenseBox, InOrder, Permuted, Tiles};
use super::{Cells, WriteOptions};
use crate::array::Array;
use crate::column::Column;
use crate::error::{AtPath, Error, Result};
use crate::filter::{Key, Nonces};
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::format::data_file::{self, FRAGMENT_METADATA, Part};
use crate::format::fragment::slots::FieldId;
use crate::format::generic_tile;
use crate::format::metadata::{self, Entry};
use crate::format::name;
use crate::format::schema::{Layout, Schema};
use crate::geometry::region::{self, Span};
use crate::geometry::{Frame, Grid, Order};
use crate::limits;
use crate::scalar::ScalarRange;
use crate::vfs::{FileWriter, Vfs, join};

/// A fragment in the making: its folder, its files, and what its metadata will say.
pub(crate) struct Draft {
    array: Array,
    schema: Arc<Schema>,
    schema_name: String,
    fields: Arc<Fields>,
    build: Build,
    files: Files,
    /// The fragment's name.
    pub(crate) name: String,
    sync: bool,
}

impl Draft {
    /// A fragment of `array` with this name's times; nothing is written yet. `special` are the fields
    /// that only consolidated fragments have.
    pub(crate) fn new(array: &Array, times: (u64, u64), special: &[FieldId], ids: &mut Ids, sync: bool) -> Self {
        let schema = Arc::clone(array.schema());
        let version = schema.version.for_new_fragments();
        let name = name::versioned(times.0, times.1, ids.draw(), version);
        let fields = Arc::new(Fields::new(&schema, version, special, array.key(), ids.draw_seed()));
        let dir = fragment_dir(array, version.has_commit_folder(), &name);
        let files = Files::new(Arc::clone(&array.context().vfs), &dir, &schema, &fields);
        let schema_name = array.0.schema_name.clone();
        Self {
            array: array.clone(),
            schema,
            schema_name,
            build: Build::new(&fields),
            fields,
            files,
            name,
            sync,
        }
    }

    pub(crate) fn fields(&self) -> &Arc<Fields> {
        &self.fields
    }

    /// Bytes of data so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.build.bytes()
    }

    /// Tiles so far.
    pub(crate) fn tiles(&self) -> u64 {
        self.build.tiles()
    }

    /// Packs and writes these tiles, a bounded number at a time; while one lot is written the next is
    /// packed.
    pub(crate) async fn add(&mut self, tiles: Arc<dyn Tiles>) -> Result<()> {
        let cpu = self.array.context().cpu;
        let count = tiles.count();
        let tile_bytes: u64 = self
            .fields
            .list
            .iter()
            .map(|f| f.cell_bytes().unwrap_or(32) as u64)
            .sum();
        let cells = if count > 0 { tiles.cells(0).max(1) } else { 1 };
        let lot = (limits::PACK_BYTES / tile_bytes.saturating_mul(cells).max(1)).max(2);
        let job = |start: u64| {
            let (tiles, fields) = (Arc::clone(&tiles), Arc::clone(&self.fields));
            cpu.run(move || tiler::pack_range(tiles.as_ref(), &fields, cpu, start..count.min(start + lot)))
        };
        let mut next = (count > 0).then(|| job(0));
        let mut at = 0;
        while let Some(packing) = next.take() {
            let mut packed = packing.await?;
            let start = at;
            at = count.min(at + lot);
            next = (at < count).then(|| job(at));
            for (tile, packed) in (start..).zip(&mut packed) {
                self.build.add(tiles.cells(tile), packed);
            }
            self.files.add(packed).await?;
        }
        Ok(())
    }

    /// Writes the metadata; the fragment is complete, but nobody sees it before its commit.
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
        let (commit_dir, suffix) = if version.has_commit_folder() {
            (COMMITS_DIR, "wrt")
        } else {
            ("", "ok")
        };
        Ok(Sealed {
            commit: join(commit_dir, &format!("{name}.{suffix}")),
            name,
            array,
            sync,
        })
    }

    /// Removes what was written so far, as far as the store lets us: nobody refers to it.
    pub(crate) async fn discard(array: &Array, name: &str) {
        let version = array.schema().version.for_new_fragments();
        let dir = fragment_dir(array, version.has_commit_folder(), name);
        // The first failure is the one to report; what is left here is invisible to readers.
        let _ = array.context().vfs.remove_dir(&dir).await;
    }
}

/// A fragment that only lacks its commit.
pub(crate) struct Sealed {
    array: Array,
    /// The fragment's name.
    pub(crate) name: String,
    /// Its commit's path below the array.
    pub(crate) commit: String,
    sync: bool,
}

impl Sealed {
    /// Makes the fragment visible.
    pub(crate) async fn commit(self) -> Result<String> {
        put(&self.array, &self.commit, Vec::new(), self.sync).await?;
        Ok(self.name)
    }
}

/// Puts a small file below the array and, if asked to, makes it last.
pub(crate) async fn put(array: &Array, path: &str, bytes: Vec<u8>, sync: bool) -> Result<()> {
    let path = join(array.path(), path);
    let vfs = &array.context().vfs;
    vfs.put(&path, vec![Bytes::from(bytes)]).await?;
    if sync { vfs.sync(&path).await } else { Ok(()) }
}

/// The initialisation vectors of a small file.
pub(crate) fn nonces(key: Option<&Key>, ids: &mut Ids) -> Nonces {
    key.map_or_else(Nonces::none, |_| Nonces::new(ids.draw_seed()))
}

fn fragment_dir(array: &Array, in_folder: bool, name: &str) -> String {
    join(&join(array.path(), if in_folder { FRAGMENTS_DIR } else { "" }), name)
}

/// Every data file of a fragment. A small fragment is put in one call a file; of a large one the files
/// arrive in parts, side by side.
struct Files {
    vfs: Arc<dyn Vfs>,
    files: Vec<File>,
    waiting: u64,
}

struct File {
    path: String,
    /// Parts that the store does not have yet.
    parts: Vec<Bytes>,
    writer: Option<Box<dyn FileWriter>>,
}

impl Files {
    fn new(vfs: Arc<dyn Vfs>, dir: &str, schema: &Schema, fields: &Fields) -> Self {
        let mut files = Vec::new();
        for field in &fields.list {
            let parts = [
                Some(Part::Fixed),
                field.cell.is_var().then_some(Part::Var),
                field.nullable.then_some(Part::Validity),
            ];
            for part in parts.into_iter().flatten() {
                let path = join(dir, &data_file::file_name(schema, fields.version, field.id, part));
                files.push(File {
                    path,
                    parts: Vec::new(),
                    writer: None,
                });
            }
        }
        Self { vfs, files, waiting: 0 }
    }

    /// Adds tiles, by tile and then by field, and hands them to the store once enough have gathered.
    async fn add(&mut self, tiles: Vec<Vec<PackedTile>>) -> Result<()> {
        for tile in tiles {
            let parts = tile
                .into_iter()
                .flat_map(|p| [Some(p.fixed), p.var.map(|v| v.0), p.validity]);
            for (file, part) in self.files.iter_mut().zip(parts.flatten()) {
                self.waiting += part.len() as u64;
                file.parts.push(Bytes::from(part));
            }
        }
        if self.waiting < limits::PUT_BYTES {
            return Ok(());
        }
        self.waiting = 0;
        let vfs = self.vfs.as_ref();
        try_join_all(self.files.iter_mut().map(|f| f.flush(vfs))).await?;
        Ok(())
    }

    async fn finish(self) -> Result<()> {
        let vfs = self.vfs.as_ref();
        try_join_all(self.files.into_iter().map(|f| f.finish(vfs))).await?;
        Ok(())
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

/// Small parts side by side become one, so that small tiles do not cost a call each.
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

/// Writes one fragment from any number of batches of cells in global order.
///
/// Nothing of it is visible before [`FragmentWriter::finish`] has returned; a writer that is dropped
/// leaves files that readers ignore.
pub struct FragmentWriter {
    draft: Draft,
    /// The box of a dense write, and the cells it still lacks.
    dense: Option<(Vec<ScalarRange>, u64)>,
    tile_cells: u64,
    /// Cells that do not make a whole tile yet.
    rest: Vec<Column>,
    last: Option<check::LastCell>,
}

impl FragmentWriter {
    /// Adds the next cells: every attribute once and, for sparse arrays, every dimension, by name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if columns do not fit the schema or each other, or cells are
    /// out of order, outside the domain, or repeated where the array allows no duplicates.
    pub async fn push(&mut self, columns: Vec<(String, Column)>) -> Result<()> {
        let (columns, cells) = self.draft.fields.arrange(columns)?;
        match &mut self.dense {
            Some((_, missing)) => {
                let over = || {
                    Error::invalid(format!(
                        "the box has no more than {missing} cells left, the batch has {cells}"
                    ))
                };
                *missing = missing.checked_sub(cells as u64).ok_or_else(over)?;
            }
            None => {
                let schema = &self.draft.schema;
                let dims = dimensions(schema, &columns);
                check::inside(schema, &dims)?;
                self.last = check::in_order(schema, &dims, self.last.as_ref())?;
            }
        }
        self.take(columns).await
    }

    /// A writer of sparse cells that goes on with `draft`.
    pub(crate) fn over(draft: Draft) -> Self {
        let tile_cells = draft.schema.capacity.max(1);
        Self {
            draft,
            dense: None,
            tile_cells,
            rest: Vec::new(),
            last: None,
        }
    }

    /// Bytes of data written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.draft.bytes()
    }

    /// Writes what is left and the metadata, without the commit; `None` if there was no cell.
    pub(crate) async fn seal(mut self, processed: Vec<String>) -> Result<Option<Sealed>> {
        let (columns, tile_cells) = (std::mem::take(&mut self.rest), self.tile_cells);
        let cells = columns.first().map_or(0, Column::len);
        self.draft
            .add(Arc::new(InOrder {
                columns,
                cells,
                tile_cells,
            }))
            .await?;
        if self.draft.tiles() == 0 {
            return Ok(None);
        }
        Ok(Some(self.draft.seal(self.dense.map(|d| d.0), processed).await?))
    }

    /// Adds cells that are known to fit.
    pub(crate) async fn take(&mut self, columns: Vec<Column>) -> Result<()> {
        let mut columns = match self.rest.first().map_or(0, Column::len) {
            0 => columns,
            _ => {
                let mut rest = std::mem::take(&mut self.rest);
                rest.iter_mut().zip(&columns).for_each(|(rest, more)| rest.append(more));
                rest
            }
        };
        let cells = columns.first().map_or(0, Column::len);
        let whole = cells - (cells as u64 % self.tile_cells) as usize;
        self.rest = columns.iter_mut().map(|c| c.split_off(whole)).collect();
        self.draft
            .add(Arc::new(InOrder {
                columns,
                cells: whole,
                tile_cells: self.tile_cells,
            }))
            .await
    }

    /// Writes what is left and commits. Returns the fragment's name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a dense box is not full, or there is no cell at all; [`Error::Io`].
    pub async fn finish(self) -> Result<String> {
        if let Some((_, missing @ 1..)) = &self.dense {
            return Err(Error::invalid(format!("the box still lacks {missing} cells")));
        }
        match self.seal(Vec::new()).await? {
            Some(sealed) => sealed.commit().await,
            None => Err(Error::invalid("there is nothing to write: no cell was given")),
        }
    }
}

impl Array {
    /// Writes cells as one fragment and returns its name. This snapshot does not see it; open the
    /// array again to read what was written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if columns do not fit the schema, cells are outside the domain,
    /// or are repeated where the array allows no duplicates; [`Error::Io`].
    pub async fn write(&self, cells: Cells, options: &WriteOptions) -> Result<String> {
        if cells.layout == Layout::Global {
            let mut writer = self.writer(cells.region, options)?;
            writer.push(cells.columns).await?;
            return writer.finish().await;
        }
        let times = (options.timestamp_ms, options.timestamp_ms);
        let mut draft = Draft::new(self, times, &[], &mut Ids::new(options.seed), options.sync);
        let (columns, count) = draft.fields.arrange(cells.columns)?;
        let schema = Arc::clone(self.schema());
        let cpu = self.context().cpu;
        let (tiles, region): (Arc<dyn Tiles>, _) = if schema.is_dense() {
            let (grid, spans, region) = dense_box(&schema, cells.region)?;
            let order = Order::of(if cells.layout == Layout::Unordered {
                Layout::RowMajor
            } else {
                cells.layout
            })?;
            if region::cells(&spans) != Some(count as u64) {
                let sides = region::shape(&spans);
                return Err(Error::invalid(format!(
                    "the box has sides of {sides:?} cells, the columns have {count} cells"
                )));
            }
            let frame = Frame {
                shape: region::shape(&spans),
                order,
            };
            (Arc::new(DenseBox::new(grid, spans, frame, columns)?), Some(region))
        } else {
            if count == 0 {
                return Err(Error::invalid("there is nothing to write: no cell was given"));
            }
            (cpu.run(move || sparse(&schema, columns, cpu)).await?, None)
        };
        let name = draft.name.clone();
        let sealed = match draft.add(tiles).await {
            Ok(()) => draft.seal(region, Vec::new()).await,
            Err(e) => Err(e),
        };
        match sealed {
            Ok(sealed) => sealed.commit().await,
            Err(e) => {
                Draft::discard(self, &name).await;
                Err(e)
            }
        }
    }

    /// Starts a fragment whose cells will arrive in global order. `region` is the box of a dense
    /// write, made of whole tiles; `None` for the whole domain, and for sparse arrays.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a box that is not made of whole tiles.
    pub fn writer(&self, region: Option<Vec<ScalarRange>>, options: &WriteOptions) -> Result<FragmentWriter> {
        let schema = self.schema();
        let times = (options.timestamp_ms, options.timestamp_ms);
        let draft = Draft::new(self, times, &[], &mut Ids::new(options.seed), options.sync);
        let (dense, tile_cells) = if schema.is_dense() {
            let (grid, spans, region) = dense_box(schema, region)?;
            if !grid.is_aligned(&spans) {
                return Err(Error::invalid(
                    "cells in global order need a box of whole tiles; write them in row-major order",
                ));
            }
            let count = |n: Option<u64>| n.ok_or_else(|| Error::invalid("the box has more cells than fit in 64 bits"));
            (Some((region, count(region::cells(&spans))?)), count(grid.tile_cells())?)
        } else {
            (None, schema.capacity.max(1))
        };
        Ok(FragmentWriter {
            draft,
            dense,
            tile_cells,
            rest: Vec::new(),
            last: None,
        })
    }

    /// Sets and removes keys of the array's metadata, all at once. No entries, no file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn write_metadata(&self, entries: &[Entry], options: &WriteOptions) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut ids = Ids::new(options.seed);
        let path = join(
            "__meta",
            &name::plain(options.timestamp_ms, options.timestamp_ms, ids.draw()),
        );
        let payload = metadata::encode(entries);
        let bytes = generic_tile::encode(&payload, self.key(), &nonces(self.key(), &mut ids)).at(&path)?;
        put(self, &path, bytes, options.sync).await
    }
}

/// Sparse cells, checked and sorted.
fn sparse(schema: &Schema, columns: Vec<Column>, cpu: crate::Cpu) -> Result<Arc<dyn Tiles>> {
    let dims = dimensions(schema, &columns);
    check::inside(schema, &dims)?;
    let sorted = sort::sort(schema, &dims, cpu)?;
    let (tile_cells, cells) = (schema.capacity.max(1), columns.first().map_or(0, Column::len));
    Ok(match sorted {
        Sorted::AsGiven => Arc::new(InOrder {
            columns,
            cells,
            tile_cells,
        }),
        Sorted::Permutation(order) => Arc::new(Permuted {
            columns,
            order,
            tile_cells,
        }),
    })
}

/// The columns of the dimensions: they come behind those of the attributes.
pub(crate) fn dimensions<'a>(schema: &Schema, columns: &'a [Column]) -> Vec<&'a Column> {
    columns
        .iter()
        .skip(schema.attributes.len())
        .take(schema.dimensions.len())
        .collect()
}

/// The box of a dense write; the whole domain if none is given.
fn dense_box(schema: &Schema, region: Option<Vec<ScalarRange>>) -> Result<(Grid, Vec<Span>, Vec<ScalarRange>)> {
    let grid = Grid::new(schema)?;
    let region = match (region, &schema.current_domain) {
        (Some(region), _) => region,
        (None, Some(current)) => current.ranges.clone(),
        (None, None) => grid.ranges(&grid.domain()),
    };
    let spans = grid.spans(&region)?;
    if let Some(current) = &schema.current_domain {
        let current = grid.spans(&current.ranges)?;
        if !region::covers(&current, &spans) {
            return Err(Error::invalid(
                "the box leaves the array's current domain; expand the current domain first",
            ));
        }
    }
    Ok((grid, spans, region))
}
