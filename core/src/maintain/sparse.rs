//! Consolidation of sparse fragments: the history of their cells, written as one fragment within a memory budget.

use std::sync::Arc;

use futures_util::future::try_join;

use super::options::{Merge, times};
use crate::array::sections::load_index;
use crate::array::{Array, Fragment};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::format::fragment::slots::FieldId;
use crate::format::schema::{ArrayType, Layout, Schema};
use crate::geometry::CellOrder;
use crate::identity::Ids;
use crate::query::merge::SparseQuery;
use crate::query::merge::gather::FinalCells;
use crate::query::merge::layer::SparseLayer;
use crate::query::merge::merge_stream::MergeStream;
use crate::query::merge::order::CellKey;
use crate::write::FragmentWriter;
use crate::write::commit::{Draft, Sealed};
use crate::write::writer::dimensions;

/// Loaded tiles take at most this fraction of the memory. Their cells are sorted, gathered and written, with one copy
/// each, while the next tiles are loaded.
const HELD: u64 = 12;

/// One tile of each source takes at most this fraction of the memory, since it is held in any case.
pub(super) const TILES: u64 = 4;

/// The error if the memory does not suffice for one tile of each fragment. Those tiles take `held` bytes.
pub(super) fn too_little(held: u64, memory_bytes: u64) -> Error {
    Error::LimitExceeded {
        what: "bytes of memory to merge these fragments, with a tile of each in memory (give more memory; check for \
               damaged metadata with `hyperslab verify`)"
            .into(),
        found: held.saturating_mul(TILES),
        limit: memory_bytes,
    }
}

/// Merges `run`, oldest first, into one fragment, or into several if it grows too large, or into none if no cells are
/// left. The fragments are not committed yet.
pub(super) async fn merge(array: &Array, run: &[Arc<Fragment>], m: &Merge, ids: &mut Ids) -> Result<Vec<Sealed>> {
    let mut written = Vec::new();
    let sealed = write(array, run, m, ids, &mut written).await;
    if sealed.is_err() {
        for name in &written {
            Draft::discard(array, name).await;
        }
    }
    sealed
}

/// Writes the fragments without committing them. Their names are appended to `written`.
async fn write(
    array: &Array,
    run: &[Arc<Fragment>],
    m: &Merge,
    ids: &mut Ids,
    written: &mut Vec<String>,
) -> Result<Vec<Sealed>> {
    let mut history = History::new(array, run, m).await?;
    let mut output = Output {
        array,
        m,
        times: times(run),
        special: history.filter.special.clone(),
        processed: history.query.processed.names.clone(),
        ids,
        written,
        writer: None,
        sealed: Vec::new(),
    };
    let mut columns = history.next().await?;
    while let Some(these) = columns {
        // While some cells are packed and written, the next are loaded and sorted.
        columns = try_join(history.next(), output.take(these)).await?.0;
    }
    output.finish().await
}

/// The versions of the cells of all fragments, in global order.
struct History<'a> {
    array: &'a Array,
    query: Arc<SparseQuery>,
    stream: MergeStream,
    filter: Filter,
    memory_bytes: u64,
    /// The memory that merging all cells at once would take.
    all_bytes: u64,
    /// The last cell returned.
    last: Option<CellKey>,
}

/// Which versions and which of their fields are written.
#[derive(Debug, Clone)]
struct Filter {
    special: Vec<FieldId>,
    /// Whether to drop deleted cells.
    purge: bool,
    /// Whether the rest is only the newest version of each cell.
    newest_only: bool,
}

impl<'a> History<'a> {
    async fn new(array: &'a Array, run: &[Arc<Fragment>], m: &Merge) -> Result<Self> {
        let (schema, version) = (array.schema(), array.schema().version.for_new_fragments());
        let timed = version.has_delete_metadata();
        let newest_only = !timed && !schema.allows_duplicates;
        let mut query = SparseQuery::history(array, run, newest_only)?;
        load_index(array, &query.index()).await?;
        query.take_over_processed(array)?;
        let has_deletes = !query.processed.names.is_empty();
        let mut special = Vec::new();
        if timed {
            special.push(FieldId::Timestamps);
        }
        if version.has_delete_commits() && has_deletes && !m.purge {
            special.extend([FieldId::DeleteTimestamps, FieldId::DeleteConditions]);
        }
        let held = |sum: u64, layer: &SparseLayer| Ok(sum.saturating_add(layer.largest_tile_bytes()?));
        let held = query.layers.iter().try_fold(0, held)?;
        if held > m.memory_bytes / TILES {
            return Err(too_little(held, m.memory_bytes));
        }
        let stream = query.merge_stream()?;
        Ok(Self {
            array,
            all_bytes: stream.bytes_left().saturating_mul(HELD),
            query: Arc::new(query),
            stream,
            filter: Filter {
                special,
                purge: m.purge && has_deletes,
                newest_only,
            },
            memory_bytes: m.memory_bytes,
            last: None,
        })
    }

    /// Returns the next cells, or `None` after the last. The batch is empty if all of its cells are purged.
    async fn next(&mut self) -> Result<Option<Vec<Column>>> {
        let segments = loop {
            let segments = self.stream.take(u64::MAX, 1);
            if !segments.is_empty() {
                break segments;
            }
            if self.stream.is_loaded() {
                return Ok(None);
            }
            let held = self.stream.drop_finished();
            // Tiles in order overlap with few others.
            if held > self.memory_bytes / 2 && !self.query.is_in_order() {
                return Err(self.not_in_order());
            }
            let room = (self.memory_bytes / HELD).saturating_sub(held);
            self.array.load(&self.query, &mut self.stream, room).await?;
        };
        let cells = FinalCells::new(self.stream.runs.clone(), segments);
        self.follow(&cells)?;
        let (cpu, query, filter) = (self.array.context().cpu, Arc::clone(&self.query), self.filter.clone());
        let kept = cpu.run(move || kept(&query.schema, cells.versions(&query, cpu)?, &filter, cpu));
        Ok(Some(kept.await?))
    }

    /// Checks that the cells do not sort before the previous batch. Every batch is sorted, so this keeps the
    /// stream sorted. Fragments that are not in global order themselves, such as some from before 2.0, can only be
    /// sorted as a whole. Rounded coordinates may be out of order, as in the merged fragments, unless cells are dropped.
    fn follow(&mut self, cells: &FinalCells) -> Result<()> {
        if self.query.schema.rounds_coordinates() && !self.filter.purge && !self.filter.newest_only {
            return Ok(());
        }
        let ends = self.query.order.as_ref().and_then(|order| cells.ends(order));
        let Some((first, last)) = ends else { return Ok(()) };
        if self.last.as_ref().is_some_and(|previous| first < *previous) {
            return Err(self.not_in_order());
        }
        self.last = Some(last);
        Ok(())
    }

    fn not_in_order(&self) -> Error {
        Error::LimitExceeded {
            what: "bytes of memory to consolidate fragments whose cells are not in global order on disk (give more \
                   memory, or consolidate fewer fragments at a time)"
                .into(),
            found: self.all_bytes,
            limit: self.memory_bytes,
        }
    }
}

/// The fragments being written: one, or several if one would grow too large.
struct Output<'a> {
    array: &'a Array,
    m: &'a Merge,
    times: (u64, u64),
    special: Vec<FieldId>,
    /// The names of the deletes that are applied or stored with the cells.
    processed: Vec<String>,
    ids: &'a mut Ids,
    written: &'a mut Vec<String>,
    writer: Option<FragmentWriter>,
    sealed: Vec<Sealed>,
}

impl Output<'_> {
    async fn take(&mut self, columns: Vec<Column>) -> Result<()> {
        let splits = self.array.schema().version.for_new_fragments().has_commit_folder();
        let bytes_max = if splits { self.m.fragment_bytes_max } else { u64::MAX };
        for piece in pieces(columns, bytes_max) {
            let mut current = match self.writer.take() {
                Some(writer) => writer,
                None => {
                    let (times, special) = (self.times, &self.special);
                    let draft = Draft::new(self.array, ArrayType::Sparse, times, special, self.ids, self.m.sync);
                    self.written.push(draft.name.clone());
                    FragmentWriter::over(draft.within(self.m.memory_bytes))
                }
            };
            current.take(piece).await?;
            if current.bytes() >= bytes_max {
                self.sealed.extend(current.seal(self.processed.clone()).await?);
            } else {
                self.writer = Some(current);
            }
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Vec<Sealed>> {
        if let Some(writer) = self.writer.take() {
            self.sealed.extend(writer.seal(self.processed).await?);
        }
        Ok(self.sealed)
    }
}

/// Splits the cells so that a limit of `bytes_max` per fragment is not exceeded by much.
fn pieces(columns: Vec<Column>, bytes_max: u64) -> Vec<Vec<Column>> {
    let cells = columns.first().map_or(0, Column::len);
    let bytes: usize = columns
        .iter()
        .map(|c| c.data.len() + c.offsets.as_ref().map_or(0, |o| o.len() * 8))
        .sum();
    let wanted = (bytes as u64).div_ceil((bytes_max / 8).max(1)).max(1);
    let step = cells.div_ceil(usize::try_from(wanted).unwrap_or(usize::MAX)).max(1);
    if step >= cells {
        return vec![columns];
    }
    (0..cells)
        .step_by(step)
        .map(|at| columns.iter().map(|c| c.slice(at..at + step)).collect())
        .collect()
}

/// Drops the versions and the fields that are not written.
fn kept(schema: &Schema, mut columns: Vec<Column>, filter: &Filter, cpu: Cpu) -> Result<Vec<Column>> {
    let fields = schema.attributes.len() + schema.dimensions.len();
    if filter.purge {
        let deleted = columns.get(fields + 1).map(|c| c.values::<u64>()).transpose()?;
        let same = match schema.allows_duplicates {
            true => None,
            false => Some(same_place(schema, &columns)?),
        };
        let keep = survivors(&deleted.unwrap_or_default(), same.as_deref());
        if keep.contains(&false) {
            let places: Vec<u32> = (0_u32..).zip(keep).filter(|(_, keep)| *keep).map(|(i, _)| i).collect();
            columns = cpu.try_map(&columns, |c| Ok::<_, Error>(c.picked(&places)))?;
        }
    }
    columns.truncate(fields + filter.special.len());
    Ok(columns)
}

/// Whether each cell has the coordinates of the cell before.
fn same_place(schema: &Schema, columns: &[Column]) -> Result<Vec<bool>> {
    let keys = CellOrder::new(schema, Layout::RowMajor)?.keys(&dimensions(schema, columns))?;
    let cells = columns.first().map_or(0, Column::len);
    let same = |i: usize| i > 0 && CellOrder::compare(&keys, i - 1, &keys, i).is_eq();
    Ok((0..cells).map(same).collect())
}

/// Returns which cells a purge keeps, given their delete timestamps. Cells with equal coordinates are neighbours,
/// newest first; `same[i]` is set if cell `i` has the coordinates of the cell before.
///
/// In an array without duplicates, a deleted cell has hidden the older cells at its coordinates. They are dropped too.
fn survivors(deleted: &[u64], same: Option<&[bool]>) -> Vec<bool> {
    let mut buried = false;
    let mut keep = Vec::with_capacity(deleted.len());
    for (i, &time) in deleted.iter().enumerate() {
        let here = same.and_then(|s| s.get(i)).copied().unwrap_or(false);
        buried = (here && buried) || time != u64::MAX;
        keep.push(!buried);
        buried &= same.is_some();
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_does_not_restore_cells_hidden_by_a_deleted_cell() {
        let never = u64::MAX;
        let deleted = [never, 5, never, 5, never];
        let same = [false, true, true, false, false];
        assert_eq!(survivors(&deleted, Some(&same)), [true, false, false, false, true]);
        assert_eq!(survivors(&deleted, None), [true, false, true, false, true]);
    }
}
