//! Writes cells in one call or in batches.

use std::sync::Arc;

use super::boxes::DenseBox;
use super::commit::{Draft, Sealed, names_in, put};
use super::sort::{self, Sorted};
use super::tiler::{InOrder, Permuted, Tiles};
use super::{Cells, WriteOptions, check, clock, indexes};
use crate::array::Array;
use crate::array::latest::commits_since;
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{AtPath, Error, Result};
use crate::format::folders::META_DIR;
use crate::format::generic_tile;
use crate::format::metadata::{self, Entry};
use crate::format::name;
use crate::format::schema::{ArrayType, Layout, Schema};
use crate::geometry::region::{self, Span};
use crate::geometry::{Frame, Grid, Order};
use crate::identity::Ids;
use crate::scalar::ScalarRange;
use crate::vfs::join;

/// Writes one fragment from batches of cells in global order.
///
/// The fragment becomes visible when [`FragmentWriter::finish`] returns. Dropping the writer leaves files that readers
/// ignore. [`Transaction::abort`](crate::Transaction::abort) removes them.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "line", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// // One fragment with the whole domain, in two parts.
/// let mut writer = array.writer(None, &at(10)).await?;
/// writer.push(column(&[0, 1, 2, 3])).await?;
/// writer.push(column(&[4, 5, 6, 7])).await?;
/// assert!(array.at(Window::ALL).await?.fragments().is_empty(), "nothing is visible yet");
/// writer.finish().await?;
/// assert_eq!(array.at(Window::ALL).await?.fragments().len(), 1);
/// # Ok(()) }) }
/// ```
pub struct FragmentWriter {
    draft: Draft,
    /// The box of a dense write, and how many of its cells are still missing.
    dense: Option<(Vec<ScalarRange>, u64)>,
    tile_cells: u64,
    /// Cells that do not fill a whole tile yet.
    rest: Vec<Column>,
    /// The last cell of the previous batch.
    last: Option<check::LastCell>,
}

impl FragmentWriter {
    /// Adds the next cells: every attribute exactly once and, for sparse arrays, every dimension, by name.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if the columns do not match the schema or each other, if an index is beyond its
    ///   enumeration, or if cells are out of order or repeated in an array that allows no duplicates.
    /// - [`Error::Cell`] if a cell is outside the domain.
    pub async fn push(&mut self, columns: Vec<(String, Column)>) -> Result<()> {
        self.draft.array().check_indexes(&columns).await?;
        let (columns, cells) = self.draft.fields().arrange(columns)?;
        match &mut self.dense {
            Some((_, missing)) => {
                let over = || {
                    Error::invalid(format!(
                        "the batch has {cells} cells, but the box has only {missing} cells left to write"
                    ))
                };
                *missing = missing.checked_sub(cells as u64).ok_or_else(over)?;
                self.last = check::ordered(self.draft.schema(), &columns, self.last.as_ref())?;
            }
            None => {
                let schema = self.draft.schema();
                let dims = dimensions(schema, &columns);
                check::inside(schema, &dims, self.draft.cpu())?;
                self.last = check::in_order(schema, &dims, self.last.as_ref())?;
            }
        }
        self.take(columns).await
    }

    /// A writer of sparse cells that appends to `draft`.
    pub(crate) fn over(draft: Draft) -> Self {
        let tile_cells = draft.schema().capacity.max(1);
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

    /// Writes the remaining cells and the metadata, but no commit. Returns `None` if there are no cells.
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

    /// Adds cells that have been checked already.
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

    /// Writes the remaining cells and commits the fragment. Returns its name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a dense box is not full or there are no cells; [`Error::Io`]. If the commit fails,
    /// the files written so far are removed if the store permits it.
    pub async fn finish(self) -> Result<String> {
        let (array, name) = (self.draft.array().clone(), self.draft.name.clone());
        let sealed = match &self.dense {
            Some((_, missing @ 1..)) => Err(Error::invalid(format!(
                "the box is still missing {missing} cells; push all cells before finishing"
            ))),
            _ => self
                .seal(Vec::new())
                .await
                .and_then(|sealed| sealed.ok_or_else(|| Error::invalid("there are no cells to write"))),
        };
        commit_or_discard(&array, &name, sealed).await
    }

    /// Abandons the fragment and removes its files if the store permits it.
    pub async fn abandon(self) {
        self.draft.abandon().await;
    }
}

impl Array {
    /// Writes cells as one fragment and returns its name. This snapshot does not include the new fragment; open the
    /// array again to read it.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if the columns do not match the schema, an index is beyond its enumeration, the box
    ///   is outside the domain, or cells are repeated in an array that allows no duplicates.
    /// - [`Error::Cell`] if a sparse cell is outside the domain.
    /// - [`Error::Io`].
    pub async fn write(&self, cells: Cells, options: &WriteOptions) -> Result<String> {
        let coordinate = |(name, _): &&(String, Column)| self.schema().dimension(name).is_some();
        if self.schema().is_dense()
            && let Some((name, _)) = cells.columns.iter().find(coordinate)
        {
            return Err(Error::invalid(format!(
                "a dense write fills a box and takes no coordinates, but '{name}' is a dimension: pass the box as the \
                 region (single cells are written by `write_points` of the Rust library, or `hyperslab write --points`)"
            )));
        }
        if cells.layout == Layout::Global {
            let mut writer = self.writer(cells.region, options).await?;
            if let Err(e) = writer.push(cells.columns).await {
                writer.abandon().await;
                return Err(e);
            }
            return writer.finish().await;
        }
        self.check_indexes(&cells.columns).await?;
        let draft = self.draft(self.schema().array_type, options).await?;
        let (columns, count) = draft.fields().arrange(cells.columns)?;
        let schema = Arc::clone(self.schema());
        let (tiles, region): (Arc<dyn Tiles>, _) = if schema.is_dense() {
            check::ordered(&schema, &columns, None)?;
            let (grid, spans, region) = dense_box(&schema, cells.region)?;
            let order = Order::of(match cells.layout {
                Layout::Unordered => Layout::RowMajor,
                other => other,
            })?;
            if region::cells(&spans) != Some(count as u64) {
                let sides = region::shape(&spans);
                return Err(Error::invalid(format!(
                    "the box has sides of {sides:?} cells, but the columns have {count} cells"
                )));
            }
            let frame = Frame {
                shape: region::shape(&spans),
                order,
            };
            (Arc::new(DenseBox::new(grid, spans, frame, columns)?), Some(region))
        } else {
            (self.sorted(columns).await?, None)
        };
        self.complete(draft, tiles, region).await
    }

    /// Writes single cells of a dense array as a sparse fragment. `columns` holds every attribute exactly once and
    /// every dimension, by name, with the cells in any order. Returns the fragment's name.
    ///
    /// For scattered updates this writes far less data than rewriting whole tiles. Until a consolidation folds the
    /// cells into tiles, readers apply them over **all** dense fragments, later ones too. libtiledb does the same; it
    /// reads such fragments but no longer writes them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a sparse array; otherwise the errors of [`Array::write`].
    pub async fn write_points(&self, columns: Vec<(String, Column)>, options: &WriteOptions) -> Result<String> {
        if !self.schema().is_dense() {
            return Err(Error::invalid(
                "the array is sparse: write its cells without the points option",
            ));
        }
        self.check_indexes(&columns).await?;
        let draft = self.draft(ArrayType::Sparse, options).await?;
        let tiles = self.sorted(draft.fields().arrange(columns)?.0).await?;
        self.complete(draft, tiles, None).await
    }

    /// Checks the columns of attributes with an enumeration.
    pub(super) async fn check_indexes(&self, columns: &[(String, Column)]) -> Result<()> {
        for (name, column) in columns {
            let attribute = self.schema().attribute(name).map(|(_, a)| a);
            if let Some(a) = attribute.filter(|a| a.datatype == column.datatype)
                && let Some(enumeration) = &a.enumeration
            {
                indexes::check(a, column, self.enumeration(enumeration).await?.values.len())?;
            }
        }
        Ok(())
    }

    /// Starts a fragment that sorts after committed fragments with the same timestamp.
    pub(super) async fn draft(&self, kind: ArrayType, options: &WriteOptions) -> Result<Draft> {
        let time = options.timestamp_ms;
        let mut ids = Ids::new(options.seed);
        clock::rise_above(&mut ids, &commits_since(self, time).await?, time)?;
        Ok(Draft::new(self, kind, (time, time), &[], &mut ids, options.sync))
    }

    /// Returns the timestamp for a write or delete at `now_ms` by the caller's clock. This is `now_ms`, or 1 ms after
    /// the latest commit if that is later, at most a few seconds ahead. Readers that use the clock wait for it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the latest commit is farther in the future: either the clock is wrong, or that
    /// write was given a future timestamp.
    pub async fn write_time(&self, now_ms: u64) -> Result<u64> {
        clock::after(&commits_since(self, now_ms).await?, now_ms)
    }

    /// Returns the timestamp for a change of the metadata, as [`Array::write_time`] does for a write.
    ///
    /// # Errors
    /// The errors of [`Array::write_time`].
    pub async fn metadata_time(&self, now_ms: u64) -> Result<u64> {
        let dir = join(self.path(), META_DIR);
        clock::after(&names_in(self.context(), &dir).await?, now_ms)
    }

    /// Checks and sorts sparse cells.
    async fn sorted(&self, columns: Vec<Column>) -> Result<Arc<dyn Tiles>> {
        if columns.first().is_none_or(Column::is_empty) {
            return Err(Error::invalid("there are no cells to write"));
        }
        let (schema, cpu) = (Arc::clone(self.schema()), self.context().cpu);
        cpu.run(move || sparse(&schema, columns, cpu)).await
    }

    /// Writes and commits the fragment. If anything before the commit fails, removes its files as far as possible.
    async fn complete(
        &self,
        mut draft: Draft,
        tiles: Arc<dyn Tiles>,
        region: Option<Vec<ScalarRange>>,
    ) -> Result<String> {
        let name = draft.name.clone();
        let sealed = match draft.add(tiles).await {
            Ok(()) => draft.seal(region, Vec::new()).await,
            Err(e) => Err(e),
        };
        commit_or_discard(self, &name, sealed).await
    }

    /// Starts a fragment whose cells will be pushed in global order. `region` is the box of a dense write and must
    /// consist of whole tiles. `None` means the whole domain; always `None` for sparse arrays.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the box does not consist of whole tiles; [`Error::Io`].
    pub async fn writer(&self, region: Option<Vec<ScalarRange>>, options: &WriteOptions) -> Result<FragmentWriter> {
        let schema = self.schema();
        let draft = self.draft(schema.array_type, options).await?;
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

    /// Sets and removes keys of the array's metadata atomically. Writes no file if `entries` is empty.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn write_metadata(&self, entries: &[Entry], options: &WriteOptions) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let (mut ids, time) = (Ids::new(options.seed), options.timestamp_ms);
        let there = names_in(self.context(), &join(self.path(), META_DIR)).await?;
        clock::rise_above(&mut ids, &there, time)?;
        let path = join(META_DIR, &name::plain(time, time, ids.draw()));
        let payload = metadata::encode(entries);
        let bytes = generic_tile::encode(&payload, self.key(), &ids.nonces(self.key())).at(&path)?;
        put(self, &path, bytes, options.sync).await
    }
}

/// Commits a fragment, or removes its files if sealing it failed.
pub(super) async fn commit_or_discard(array: &Array, name: &str, sealed: Result<Sealed>) -> Result<String> {
    match sealed {
        Ok(sealed) => sealed.commit().await,
        Err(e) => {
            Draft::discard(array, name).await;
            Err(e)
        }
    }
}

/// Checks and sorts sparse cells.
fn sparse(schema: &Schema, columns: Vec<Column>, cpu: Cpu) -> Result<Arc<dyn Tiles>> {
    let dims = dimensions(schema, &columns);
    check::inside(schema, &dims, cpu)?;
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

/// The columns of the dimensions, which follow the attributes.
pub(crate) fn dimensions<'a>(schema: &Schema, columns: &'a [Column]) -> Vec<&'a Column> {
    columns
        .iter()
        .skip(schema.attributes.len())
        .take(schema.dimensions.len())
        .collect()
}

/// The box of a dense write, or the whole domain if none is given.
pub(super) fn dense_box(
    schema: &Schema,
    region: Option<Vec<ScalarRange>>,
) -> Result<(Grid, Vec<Span>, Vec<ScalarRange>)> {
    let grid = Grid::new(schema)?;
    let limits = grid.limits(schema)?;
    let spans = match region {
        Some(region) => grid.spans(&region)?,
        None => limits.clone(),
    };
    for ((axis, span), limits) in grid.axes.iter().zip(&spans).zip(limits) {
        if !limits.covers(*span) {
            let current = axis.range(limits).shown(axis.datatype);
            let why = format!(
                "is outside the current domain, {current}; expand it first with `hyperslab evolve --expand-domain`"
            );
            return Err(axis.refused(&axis.range(*span), &why));
        }
    }
    // The metadata stores coordinates in the dimensions' own types, whatever type the caller used.
    let region = grid.ranges(&spans);
    Ok((grid, spans, region))
}
