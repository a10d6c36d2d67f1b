//! Writes the cells of a file in batches that fit a memory budget. Each batch becomes a fragment, and at the end all
//! fragments are merged into one.

use anyhow::{Context as _, Result, ensure};
use hyperslab::maintain::{ConsolidateOptions, Mode};
use hyperslab::schema::Schema;
use hyperslab::{Array, Cpu, Query, Scalar, ScalarRange, Window, WriteOptions, maintain};

use crate::input::{BatchLimit, Shape, Stream, boxes};
use crate::sizes::{ALL_CORES_BYTES, PROGRAM_BYTES, show};
use crate::store::{Env, Place, seed};
use crate::write::{Target, write_table};

/// The least memory for a write, whatever the budget.
const BYTES_MIN: u64 = 40 << 20;
/// A batch of text may take a sixth of the budget, because its values, their sorted copy and the compressed tiles are
/// in memory too.
const BATCH_SHARE: u64 = 6;
/// The cache may take an eighth of the budget.
const CACHE_SHARE: u64 = 8;

/// The memory that `--memory` allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget(u64);

impl Budget {
    /// A budget of this many bytes for the whole program.
    pub(crate) fn new(memory: u64) -> Self {
        Self(memory)
    }

    /// The most bytes of cells in a batch.
    pub(crate) fn batch_bytes(self) -> u64 {
        self.free() / BATCH_SHARE
    }

    /// The memory left for cells: the budget less what the program itself takes.
    fn free(self) -> u64 {
        self.0.saturating_sub(PROGRAM_BYTES).max(BYTES_MIN)
    }

    /// The same place, used with as many cores and as large a cache as the budget allows.
    pub(crate) fn within(self, place: &Place) -> Place {
        let mut place = place.clone();
        place.context = place.context.with_cache_bytes(self.free() / CACHE_SHARE);
        if self.0 < ALL_CORES_BYTES {
            place.context = place.context.with_cpu(Cpu::Inline);
        }
        place
    }

    /// Returns an error if cells of this many bytes do not fit in memory at once. `what` is the operation that needs
    /// them, and `remedy` a way around it.
    pub(crate) fn check_whole(self, bytes: u64, what: &str, remedy: &str) -> Result<()> {
        let needed = bytes.saturating_mul(BATCH_SHARE) / 2 + PROGRAM_BYTES;
        ensure!(
            needed <= self.0.max(BYTES_MIN + PROGRAM_BYTES),
            "{what} needs all cells of the file in memory: {}, about {} in total, but --memory allows {}; raise \
             --memory, or {remedy}",
            show(bytes),
            show(needed),
            show(self.0)
        );
        Ok(())
    }
}

/// A box of a dense array that the cells of a file fill in the file's order.
#[derive(Debug)]
pub(crate) struct BoxCells {
    /// The box.
    pub(crate) region: Vec<ScalarRange>,
    /// Its lengths, and the order of the cells.
    pub(crate) shape: Shape,
    /// The length of an additional last axis of the file, which holds the values of each cell.
    pub(crate) values: Option<u64>,
}

impl BoxCells {
    /// A part of the box, given by ranges that count from its start and exclude their end.
    fn part(&self, schema: &Schema, ranges: &[(u64, u64)]) -> Result<Vec<ScalarRange>> {
        let axes = schema.dimensions.iter().zip(&self.region).zip(ranges);
        let part = axes.map(|((dimension, whole), (start, end))| {
            let first = whole.lo.as_i128().context("the box has an axis without integers")?;
            let at = |n: u64| {
                let value = Scalar::from_i128(dimension.datatype, first + i128::from(n));
                value.context("the box is larger than its datatype")
            };
            Ok(ScalarRange {
                lo: at(*start)?,
                hi: at(end.saturating_sub(1))?,
            })
        });
        part.collect()
    }

    /// The shape of the file's cells for such ranges.
    fn shape_of(&self, ranges: &[(u64, u64)]) -> Shape {
        let lengths = ranges.iter().map(|(a, b)| b - a).chain(self.values);
        Shape {
            lengths: lengths.collect(),
            layout: self.shape.layout,
        }
    }
}

/// The destination of a write in batches.
pub(crate) struct Batched<'a> {
    pub(crate) env: &'a Env,
    /// The array, which has no fragments yet.
    pub(crate) place: &'a Place,
    pub(crate) timestamp_ms: u64,
    pub(crate) budget: Budget,
}

impl Batched<'_> {
    /// Writes the columns with `wanted` names: into a box, or to the coordinates in the columns of a sparse array.
    pub(crate) async fn write(
        &self,
        stream: &Stream,
        wanted: &dyn Fn(&str) -> bool,
        filled: Option<&BoxCells>,
    ) -> Result<()> {
        let place = self.budget.within(self.place);
        let array = self.env.open_at(&place, Window::ALL).await?;
        let fragments = match filled {
            Some(filled) if filled.shape.lengths.len() != 1 => self.blocks(&array, stream, wanted, filled).await?,
            filled => self.rows(&array, stream, wanted, filled).await?,
        };
        if fragments > 1 {
            self.merge(&place, stream.rows).await?;
        }
        Ok(())
    }

    /// Writes rows in batches: to the coordinates in their columns, or along the only axis of the box. Batches of a box
    /// are whole tiles, which the merge copies unchanged. Returns the number of fragments.
    async fn rows(
        &self,
        array: &Array,
        stream: &Stream,
        wanted: &dyn Fn(&str) -> bool,
        filled: Option<&BoxCells>,
    ) -> Result<u64> {
        let extent = filled.and_then(|_| extents(array).first().copied());
        let mut opened = stream.open()?;
        let mut reader = opened.reader(wanted)?;
        let (mut fragments, mut row) = (0, 0);
        while let Some(mut batch) = reader.next(self.take(extent.unwrap_or(1)))? {
            let end = row + batch.rows() as u64;
            let region = filled.map(|f| f.part(array.schema(), &[(row, end)])).transpose()?;
            if let Some(filled) = filled {
                batch.shape = Some(filled.shape_of(&[(row, end)]));
            }
            let target = region.as_ref().map_or(Target::Table, |r| Target::Region(r));
            write_table(array, batch, target, self.timestamp_ms, row).await?;
            (fragments, row) = (fragments + 1, end);
        }
        Ok(fragments)
    }

    /// Writes cells along several axes, in blocks that are whole along the faster axes.
    async fn blocks(
        &self,
        array: &Array,
        stream: &Stream,
        wanted: &dyn Fn(&str) -> bool,
        filled: &BoxCells,
    ) -> Result<u64> {
        let values = filled.values.unwrap_or(1).max(1);
        let cells = stream.rows_in(self.budget.batch_bytes()) / values;
        let mut opened = stream.open()?;
        let mut reader = opened.reader(wanted)?;
        let (mut fragments, mut row) = (0, 0);
        for ranges in boxes(&filled.shape, cells, &extents(array)) {
            let rows = ranges.iter().map(|(a, b)| b - a).product::<u64>() * values;
            let take = BatchLimit::Rows(usize::try_from(rows)?);
            let batch = reader.next(take)?;
            let mut batch = batch.context("the file has fewer cells than its box")?;
            batch.shape = Some(filled.shape_of(&ranges));
            let region = filled.part(array.schema(), &ranges)?;
            write_table(array, batch, Target::Region(&region), self.timestamp_ms, row).await?;
            (fragments, row) = (fragments + 1, row + rows);
        }
        Ok(fragments)
    }

    fn take(&self, step: u64) -> BatchLimit {
        BatchLimit::Bytes {
            bytes: usize::try_from(self.budget.batch_bytes()).unwrap_or(usize::MAX),
            step: usize::try_from(step).unwrap_or(usize::MAX),
        }
    }

    /// Merges all fragments into one, and removes the originals.
    pub(crate) async fn merge(&self, place: &Place, rows: u64) -> Result<()> {
        let options = || -> Result<WriteOptions> {
            Ok(WriteOptions {
                timestamp_ms: self.timestamp_ms,
                seed: seed()?,
                sync: true,
            })
        };
        let array = self.env.open_at(place, Window::ALL).await?;
        let mut what = ConsolidateOptions::new(Mode::Fragments);
        what.memory_bytes = self.budget.free();
        maintain::consolidate(&array, &what, &options()?)
            .await
            .context("cannot merge the batches of the file; try a larger --memory")?;
        let array = self.env.open_at(place, Window::ALL).await?;
        if !array.schema().is_dense() && !array.schema().allows_duplicates {
            // One merged fragment takes less memory to count than many.
            check_unique(&array, rows, self.budget.batch_bytes()).await?;
        }
        maintain::vacuum(&array, Mode::Fragments, false, &options()?).await?;
        Ok(())
    }
}

/// The extents of the tiles.
fn extents(array: &Array) -> Vec<u64> {
    let dimensions = array.schema().dimensions.iter();
    let extents = dimensions.map(|d| {
        let extent = d.extent.as_ref().and_then(Scalar::as_i128);
        extent.and_then(|n| u64::try_from(n).ok()).unwrap_or(1)
    });
    extents.collect()
}

/// Checks that no coordinates repeat in different batches: a read returns only one of such cells. Within a batch, the
/// write checks that.
async fn check_unique(array: &Array, rows: u64, batch_bytes: u64) -> Result<()> {
    let query = Query {
        batch_bytes,
        ..Query::default()
    };
    let cells = array.count(&query).await?;
    ensure!(
        cells == rows,
        "{} of the {rows} rows have the same coordinates as another row; remove them, or make the array with an import \
         without --unique, which allows them",
        rows.saturating_sub(cells)
    );
    Ok(())
}
