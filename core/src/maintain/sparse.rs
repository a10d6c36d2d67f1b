//! Consolidation of sparse fragments: a merge of streams of cells within a memory budget.
//!
//! Every source holds some of its next tiles. All cells that sort before the smallest last cell of the sources are in
//! memory. They are sorted and written, and the sources that ran empty are filled again.

use std::sync::Arc;

use futures_util::future::try_join;

use super::deletes::{self, Deletes};
use super::options::{Merge, times};
use super::source::{self, MergeSource, Special};
use crate::array::sections::load_index;
use crate::array::{Array, Fragment};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::format::schema::{ArrayType, Layout, Schema};
use crate::geometry::CellOrder;
use crate::identity::Ids;
use crate::query::tile::{FetchList, LocatedTile, TileRef};
use crate::write::FragmentWriter;
use crate::write::commit::{Draft, Sealed};
use crate::write::sort::{self, Sorted};
use crate::write::writer::dimensions;

/// Held cells take at most this fraction of the memory. They are decoded, joined, taken, joined with cells of other
/// sources, sorted and written, with one copy each, while the next cells are read.
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
    let mut streams = Streams::new(array, run, m).await?;
    let mut output = Output {
        array,
        m,
        times: times(run),
        special: streams.filter.special,
        processed: streams.deletes.names.clone(),
        ids,
        written,
        writer: None,
        sealed: Vec::new(),
    };
    let mut columns = streams.next().await?;
    while let Some(these) = columns {
        // While some cells are packed and written, the next are read and sorted.
        columns = try_join(streams.next(), output.take(these)).await?.0;
    }
    output.finish().await
}

/// The cells of all fragments as one stream in global order.
struct Streams<'a> {
    array: &'a Array,
    schema: Arc<Schema>,
    order: CellOrder,
    sources: Vec<MergeSource>,
    deletes: Arc<Deletes>,
    filter: Filter,
    held_bytes: u64,
    /// The coordinates of the last cell returned.
    last: Option<Vec<Column>>,
    memory: Memory,
}

/// The memory budget, and the memory that merging all cells at once would take.
#[derive(Debug, Clone, Copy)]
struct Memory {
    budget: u64,
    all: u64,
}

impl<'a> Streams<'a> {
    async fn new(array: &'a Array, run: &[Arc<Fragment>], m: &Merge) -> Result<Self> {
        let schema = Arc::clone(array.schema());
        let version = schema.version.for_new_fragments();
        let sources: Vec<MergeSource> = run.iter().map(|f| MergeSource::new(f, &schema)).collect();
        let wanted: Vec<_> = sources
            .iter()
            .map(|s| (Arc::clone(&s.fragment), s.sections()))
            .collect();
        load_index(array, &wanted).await?;
        let first_ms = times(run).0;
        let earlier: Vec<String> = run.iter().flat_map(|f| f.index.conditions().iter().cloned()).collect();
        let deletes = Arc::new(Deletes::new(&schema, array.deletes(), first_ms, &earlier)?);
        let special = Special {
            timestamps: version.has_delete_metadata(),
            deletes: version.has_delete_commits() && !m.purge && !deletes.is_empty(),
        };
        let filter = Filter {
            special,
            purge: m.purge && !deletes.is_empty(),
            newest_only: !special.timestamps && !schema.allows_duplicates,
        };
        let tiles: Vec<Vec<u64>> = sources.iter().map(MergeSource::tile_bytes).collect::<Result<_>>()?;
        let held = tiles
            .iter()
            .filter_map(|t| t.iter().max())
            .fold(0, |sum: u64, n| sum.saturating_add(*n));
        if held > m.memory_bytes / TILES {
            return Err(too_little(held, m.memory_bytes));
        }
        // A source with a single tile holds it whatever its size.
        let larger = tiles.iter().filter(|t| t.len() > 1);
        let sizes: Vec<u64> = larger
            .map(|t| t.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)))
            .collect();
        let memory = Memory {
            budget: m.memory_bytes,
            all: sizes.iter().copied().fold(0, u64::saturating_add).saturating_mul(HELD),
        };
        Ok(Self {
            array,
            order: CellOrder::new(&schema, Layout::Global)?,
            schema,
            sources,
            deletes,
            filter,
            held_bytes: share(m.memory_bytes / HELD, sizes),
            last: None,
            memory,
        })
    }

    /// Returns the next cells, or `None` after the last. The batch is empty if all of its cells are purged.
    async fn next(&mut self) -> Result<Option<Vec<Column>>> {
        let dry: Vec<usize> = (0..self.sources.len())
            .filter(|&i| self.sources[i].len() == 0 && self.sources[i].has_more())
            .collect();
        self.fill(&dry).await?;
        if self.sources.iter().all(|s| s.len() == 0) {
            return Ok(None);
        }
        let counts = loop {
            let bound = bound(&self.schema, &self.order, &self.sources)?;
            let last = bound.as_ref().map(|b| b.1.as_slice());
            let counts = counts(&self.schema, &self.order, &self.sources, last)?;
            match bound {
                // All of its loaded cells have the same coordinates, and the next ones may too.
                Some((at, _)) if counts.iter().all(|&n| n == 0) => self.fill(&[at]).await?,
                _ => break counts,
            }
        };
        // Newest first, so that among equal cells with equal timestamps the one of the later fragment comes first.
        let parts: Vec<Vec<Column>> = self
            .sources
            .iter_mut()
            .zip(counts)
            .rev()
            .filter(|(_, n)| *n > 0)
            .map(|(s, n)| s.take(n))
            .collect();
        let (cpu, schema, filter) = (self.array.context().cpu, Arc::clone(&self.schema), self.filter);
        let columns = cpu.run(move || merged(&schema, parts, filter, cpu)).await?;
        self.follow(&columns)?;
        Ok(Some(columns))
    }

    /// Checks that the batch does not sort before the previous one. Every batch is sorted, so this keeps the stream
    /// sorted. Fragments that are not in global order themselves, such as some from before 2.0, can only be sorted as a
    /// whole. Rounded coordinates may be out of order, as in the merged fragments, unless cells are dropped.
    fn follow(&mut self, batch: &[Column]) -> Result<()> {
        if self.schema.rounds_coordinates() && !self.filter.purge && !self.filter.newest_only {
            return Ok(());
        }
        let Some(end) = batch.first().map(Column::len).filter(|&n| n > 0) else {
            return Ok(());
        };
        let place = |i: usize| -> Vec<Column> {
            let dims = dimensions(&self.schema, batch);
            dims.into_iter().map(|c| c.slice(i..i + 1)).collect()
        };
        if let Some(last) = &self.last
            && source::compare(&self.order, &place(0), last)?.is_lt()
        {
            return Err(Error::LimitExceeded {
                what: "bytes of memory to consolidate fragments whose cells are not in global order on disk \
                       (give more memory, or consolidate fewer fragments at a time)"
                    .into(),
                found: self.memory.all,
                limit: self.memory.budget,
            });
        }
        self.last = Some(place(end - 1));
        Ok(())
    }

    /// Loads the next tiles of the sources `which` concurrently.
    async fn fill(&mut self, which: &[usize]) -> Result<()> {
        let (mut jobs, mut list) = (Vec::new(), FetchList::default());
        for &i in which {
            for tile in self.sources[i].want(self.held_bytes)? {
                let fields: Vec<_> = tile.into_iter().map(TileRef::located).collect::<Result<_>>()?;
                fields.iter().for_each(|field| list.add(field));
                jobs.push((i, fields));
            }
        }
        if jobs.is_empty() {
            return Ok(());
        }
        let decoding = self.array.fetch_tiles(list, self.array.context().cpu).await?;
        let (cpu, latest) = (decoding.cpu, Arc::clone(&self.schema));
        let decoded = cpu.run(move || {
            let flat: Vec<_> = jobs.iter().flat_map(|(_, fields)| fields).collect();
            let decode = |tile: &&LocatedTile| tile.decode(&*decoding.files, decoding.key.as_ref(), &latest);
            let columns = cpu.try_map(&flat, decode)?;
            let mut columns = columns.into_iter();
            let mut sources: Vec<(usize, Vec<Vec<Column>>)> = Vec::new();
            for (i, fields) in &jobs {
                let tile = columns.by_ref().take(fields.len()).collect();
                match sources.last_mut() {
                    Some((last, tiles)) if last == i => tiles.push(tile),
                    _ => sources.push((*i, vec![tile])),
                }
            }
            Ok::<_, Error>(sources)
        });
        for (i, tiles) in decoded.await? {
            self.sources[i].accept(tiles, &self.schema, &self.deletes, cpu)?;
        }
        Ok(())
    }
}

/// The fragments being written: one, or several if one would grow too large.
struct Output<'a> {
    array: &'a Array,
    m: &'a Merge,
    times: (u64, u64),
    special: Special,
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
                    let special = self.special.fields();
                    let draft = Draft::new(
                        self.array,
                        ArrayType::Sparse,
                        self.times,
                        &special,
                        self.ids,
                        self.m.sync,
                    );
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

/// The bytes that each source may hold so that all hold at most `bytes` together. Sources smaller than their share
/// leave the rest to the others.
fn share(mut bytes: u64, mut sizes: Vec<u64>) -> u64 {
    sizes.sort_unstable();
    for (&size, sources) in sizes.iter().zip((1..=sizes.len() as u64).rev()) {
        let even = bytes / sources;
        if size > even {
            return even;
        }
        bytes -= size;
    }
    u64::MAX
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

/// The smallest last cell of the sources with more tiles, and the index of its source. `None` if everything is loaded.
fn bound(schema: &Schema, order: &CellOrder, sources: &[MergeSource]) -> Result<Option<(usize, Vec<Column>)>> {
    let mut least: Option<(usize, Vec<Column>)> = None;
    for (i, source) in sources.iter().enumerate().filter(|(_, s)| s.has_more()) {
        let Some(last) = source.last(schema) else { continue };
        let smaller = match &least {
            Some((_, least)) => source::compare(order, &last, least)?.is_lt(),
            None => true,
        };
        if smaller {
            least = Some((i, last));
        }
    }
    Ok(least)
}

/// The number of cells of each source that sort before the bound. All cells if there is no bound.
fn counts(schema: &Schema, order: &CellOrder, sources: &[MergeSource], bound: Option<&[Column]>) -> Result<Vec<usize>> {
    let count = |s: &MergeSource| bound.map_or(Ok(s.len()), |b| s.before(schema, order, b));
    sources.iter().map(count).collect()
}

/// Which cells and which of their fields are written.
#[derive(Debug, Clone, Copy)]
struct Filter {
    special: Special,
    /// Whether to drop deleted cells.
    purge: bool,
    /// Whether to drop all but the newest cell at the same coordinates.
    newest_only: bool,
}

/// The cells of all parts in global order. Cells with equal coordinates are sorted newest first.
fn merged(schema: &Schema, parts: Vec<Vec<Column>>, filter: Filter, cpu: Cpu) -> Result<Vec<Column>> {
    let mut columns = source::join(parts, cpu)?;
    let fields = schema.attributes.len() + schema.dimensions.len();
    let times = columns
        .get(fields)
        .map(|c| c.values::<u64>())
        .transpose()?
        .unwrap_or_default();
    let sorted = sort::sort_merged(schema, &dimensions(schema, &columns), &times, cpu)?;
    drop(times);
    if let Sorted::Permutation(order) = sorted {
        columns = gather_all(&columns, &order, cpu)?;
    }
    let same_place = |columns: &[Column]| -> Result<Vec<bool>> {
        let keys = CellOrder::new(schema, Layout::RowMajor)?.keys(&dimensions(schema, columns))?;
        let cells = columns.first().map_or(0, Column::len);
        Ok((0..cells)
            .map(|i| i > 0 && CellOrder::compare(&keys, i - 1, &keys, i).is_eq())
            .collect())
    };
    let keep = if filter.newest_only {
        Some(same_place(&columns)?.into_iter().map(|same| !same).collect::<Vec<_>>())
    } else if filter.purge {
        let deleted = columns
            .get(fields + 1)
            .map(|c| c.values::<u64>())
            .transpose()?
            .unwrap_or_default();
        let same = if schema.allows_duplicates {
            None
        } else {
            Some(same_place(&columns)?)
        };
        Some(deletes::survivors(&deleted, same.as_deref()))
    } else {
        None
    };
    if let Some(keep) = keep.filter(|k| k.contains(&false)) {
        let order: Vec<u32> = (0_u32..).zip(keep).filter(|(_, keep)| *keep).map(|(i, _)| i).collect();
        columns = gather_all(&columns, &order, cpu)?;
    }
    let special = [
        filter.special.timestamps,
        filter.special.deletes,
        filter.special.deletes,
    ];
    let wanted = |i: usize| i.checked_sub(fields).is_none_or(|i| special.get(i) == Some(&true));
    Ok(columns
        .into_iter()
        .enumerate()
        .filter(|(i, _)| wanted(*i))
        .map(|(_, c)| c)
        .collect())
}

fn gather_all(columns: &[Column], order: &[u32], cpu: Cpu) -> Result<Vec<Column>> {
    cpu.try_map(columns, |c| Ok(c.picked(order)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sources_leave_their_share_to_large_ones() {
        assert_eq!(share(100, vec![50, 50]), u64::MAX);
        assert_eq!(share(100, vec![51, 50]), 50);
        assert_eq!(share(100, vec![1000, 1, 9]), 90);
        assert_eq!(share(100, vec![1000, 10, 2000]), 45);
        assert_eq!(share(2, vec![5, 5, 5]), 0);
    }
}
