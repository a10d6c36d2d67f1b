//! The sections of fragment metadata, decoded on first use and cached.
//!
//! Loading takes two steps and does no I/O: [`Index::missing`] returns the byte ranges to fetch, and [`Index::store`]
//! decodes the bytes.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::error::{AtPath, Error, Result};
use crate::filter::Key;
use crate::format::fragment::footer::{Footer, List};
use crate::format::fragment::legacy::LegacyMetadata;
use crate::format::fragment::rtree::{Level, RTree};
use crate::format::fragment::stats::TileValues;
use crate::format::fragment::{conditions, tile_index};
use crate::format::generic_tile;
use crate::format::pipeline::Pipeline;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::sort::sort_by_number;

/// A section; per-field sections include the field's slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Section {
    RTree,
    TileOffsets(usize),
    VarOffsets(usize),
    VarSizes(usize),
    ValidityOffsets(usize),
    Mins(usize),
    Maxs(usize),
    Sums(usize),
    NullCounts(usize),
    Conditions,
}

/// A section to fetch. `end` is `None` if it extends to the end of a file of unknown size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missing {
    pub(crate) section: Section,
    pub(crate) start: u64,
    pub(crate) end: Option<u64>,
}

/// Parts of a metadata file, each with its offset: usually its end, which was read with the footer.
pub(crate) type Pieces = Vec<(u64, Bytes)>;

/// The sections of one fragment. An array can have thousands of fragments and most reads need only a few, so memory is
/// allocated when a section is first needed.
#[derive(Debug)]
pub(crate) struct Index {
    footer: Arc<Footer>,
    /// Number of tiles of each field.
    tiles: u64,
    /// Offsets of all sections, ascending. Each section ends where the next one starts.
    starts: OnceLock<Vec<u64>>,
    /// End of the last section, if the file's size is known.
    end: Option<u64>,
    /// Parts of the metadata file that are in memory, each with its offset.
    pieces: Pieces,
    /// Writer's version, according to the sections.
    writer: OnceLock<Version>,
    rtree: OnceLock<RTree>,
    lists: OnceLock<IndexLists>,
    conditions: OnceLock<Vec<String>>,
}

/// The per-field sections.
#[derive(Debug)]
struct IndexLists {
    tile_offsets: Vec<OnceLock<Vec<u64>>>,
    var_offsets: Vec<OnceLock<Vec<u64>>>,
    var_sizes: Vec<OnceLock<Vec<u64>>>,
    validity_offsets: Vec<OnceLock<Vec<u64>>>,
    mins: Vec<OnceLock<TileValues>>,
    maxs: Vec<OnceLock<TileValues>>,
    sums: Vec<OnceLock<Vec<u64>>>,
    null_counts: Vec<OnceLock<Vec<u64>>>,
}

impl IndexLists {
    /// No sections decoded, for `n` fields.
    fn new(n: usize) -> Self {
        Self {
            tile_offsets: locks(n),
            var_offsets: locks(n),
            var_sizes: locks(n),
            validity_offsets: locks(n),
            mins: locks(n),
            maxs: locks(n),
            sums: locks(n),
            null_counts: locks(n),
        }
    }
}

impl Index {
    /// An empty index of a fragment with this footer. `end` and `pieces` as far as known.
    pub(crate) const fn new(footer: Arc<Footer>, end: Option<u64>, pieces: Pieces) -> Self {
        Self {
            footer,
            tiles: u64::MAX,
            starts: OnceLock::new(),
            end,
            pieces,
            writer: OnceLock::new(),
            rtree: OnceLock::new(),
            lists: OnceLock::new(),
            conditions: OnceLock::new(),
        }
    }

    /// The index of a fragment with this number of tiles. The sections of a single tile need not be loaded: the tile
    /// spans its files, and its bounding box is the fragment's.
    pub(crate) fn of_tiles(self, tiles: u64) -> Self {
        Self { tiles, ..self }
    }

    /// Whether the footer is from consolidated fragment metadata.
    pub(crate) const fn is_consolidated(&self) -> bool {
        self.end.is_none()
    }

    /// Whether the contents of a section are known without loading it.
    fn is_implied(&self, section: Section) -> bool {
        let fragment_box = !self.footer.dense && self.footer.version.has_dimension_files();
        let implied = match section {
            Section::TileOffsets(_) | Section::VarOffsets(_) | Section::ValidityOffsets(_) => true,
            Section::RTree => fragment_box && self.footer.non_empty_domain.is_some(),
            _ => false,
        };
        implied && self.tiles == 1
    }

    fn starts(&self) -> &[u64] {
        self.starts.get_or_init(|| {
            let o = &self.footer.sections;
            let mut starts = self.footer.lists.sections().to_vec();
            starts.extend(
                [Some(o.rtree), o.fragment_stats, o.processed_conditions]
                    .into_iter()
                    .flatten(),
            );
            sort_by_number(&mut starts, |s| *s);
            starts
        })
    }

    fn lists(&self) -> &IndexLists {
        self.lists
            .get_or_init(|| IndexLists::new(self.footer.lists.get(List::FileSizes).len()))
    }

    /// The complete index of a fragment of versions 1 and 2.
    pub(crate) fn legacy(footer: Arc<Footer>, metadata: LegacyMetadata) -> Self {
        let index = Self::new(footer, Some(0), Pieces::new());
        let into = index.lists();
        let fill = |locks: &[OnceLock<Vec<u64>>], lists: Vec<Vec<u64>>| {
            for (lock, list) in locks.iter().zip(lists) {
                lock.get_or_init(|| list);
            }
        };
        fill(&into.tile_offsets, metadata.tile_offsets);
        fill(&into.var_offsets, metadata.tile_var_offsets);
        fill(&into.var_sizes, metadata.tile_var_sizes);
        index.rtree.get_or_init(|| metadata.rtree);
        index
    }

    /// The sections among `wanted` that are not implied. `schema` is the fragment's schema.
    pub(crate) fn not_implied(&self, wanted: &[Section], schema: &Schema) -> Vec<Section> {
        // Loading any section reveals the writer's version. That is not needed for implied bounding boxes.
        let anonymous = !self.footer.version.has_types_of_filters() && schema.pipelines().any(Pipeline::hands_on_types);
        let implied = |s: &Section| self.is_implied(*s) && (!anonymous || *s == Section::RTree);
        wanted.iter().filter(|s| !implied(s)).copied().collect()
    }

    /// Same as [`Index::not_implied`]. Builds an implied R-tree.
    pub(crate) fn needed(&self, wanted: &[Section], schema: &Schema) -> Vec<Section> {
        let needed = self.not_implied(wanted, schema);
        let is_built = wanted.contains(&Section::RTree) && !needed.contains(&Section::RTree);
        if let (true, Some(domain)) = (is_built, &self.footer.non_empty_domain) {
            self.rtree.get_or_init(|| {
                let mut leaf = Level::new(schema);
                leaf.push(domain);
                RTree::build(leaf).widened(schema, self.footer.version)
            });
        }
        needed
    }

    /// The sections among `wanted` that are in the file but not decoded yet.
    pub(crate) fn missing(&self, wanted: &[Section]) -> Vec<Missing> {
        let known = |section: &Section| match *section {
            Section::RTree => self.rtree.get().is_some(),
            Section::TileOffsets(i) => is_set(&self.lists().tile_offsets, i),
            Section::VarOffsets(i) => is_set(&self.lists().var_offsets, i),
            Section::VarSizes(i) => is_set(&self.lists().var_sizes, i),
            Section::ValidityOffsets(i) => is_set(&self.lists().validity_offsets, i),
            Section::Mins(i) => is_set(&self.lists().mins, i),
            Section::Maxs(i) => is_set(&self.lists().maxs, i),
            Section::Sums(i) => is_set(&self.lists().sums, i),
            Section::NullCounts(i) => is_set(&self.lists().null_counts, i),
            Section::Conditions => self.conditions.get().is_some(),
        };
        let wanted: Vec<Section> = wanted.iter().filter(|s| !known(s)).copied().collect();
        self.places(&wanted)
    }

    /// The places of the sections among `wanted` that are in the file.
    pub(crate) fn places(&self, wanted: &[Section]) -> Vec<Missing> {
        let placed = |&section: &Section| self.place(section).map(|(start, end)| Missing { section, start, end });
        wanted.iter().filter_map(placed).collect()
    }

    /// End of the last section, if it is known.
    pub(crate) const fn end(&self) -> Option<u64> {
        self.end
    }

    fn place(&self, section: Section) -> Option<(u64, Option<u64>)> {
        let (o, lists) = (&self.footer.sections, &self.footer.lists);
        let start = match section {
            Section::RTree => Some(o.rtree),
            Section::TileOffsets(i) => lists.at(List::TileOffsets, i),
            Section::VarOffsets(i) => lists.at(List::TileVarOffsets, i),
            Section::VarSizes(i) => lists.at(List::TileVarSizes, i),
            Section::ValidityOffsets(i) => lists.at(List::TileValidityOffsets, i),
            Section::Mins(i) => lists.at(List::TileMins, i),
            Section::Maxs(i) => lists.at(List::TileMaxs, i),
            Section::Sums(i) => lists.at(List::TileSums, i),
            Section::NullCounts(i) => lists.at(List::TileNullCounts, i),
            Section::Conditions => o.processed_conditions,
        }?;
        let starts = self.starts();
        let next = starts.partition_point(|&s| s <= start);
        Some((start, starts.get(next).copied().or(self.end)))
    }

    /// The bytes of a section, if they are in memory. Those of a section with an unknown end are not: pieces may end
    /// inside it.
    pub(crate) fn at_hand(&self, missing: &Missing) -> Option<Bytes> {
        self.pieces.iter().find_map(|(from, bytes)| {
            let start = usize::try_from(missing.start.checked_sub(*from)?).ok()?;
            let end = usize::try_from(missing.end?.checked_sub(*from)?).ok()?;
            (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
        })
    }

    /// Decodes a section that was fetched from the file at `path`, for a fragment with `tiles` tiles.
    ///
    /// # Errors
    /// The section is damaged or encrypted with another key.
    pub(crate) fn store(
        &self,
        path: &str,
        m: &Missing,
        bytes: &[u8],
        (schema, tiles): (&Schema, u64),
        key: Option<&Key>,
    ) -> Result<()> {
        let shift = |e: crate::Malformed| e.shifted(m.start);
        let (payload, _) = generic_tile::decode(bytes, key).map_err(shift).at(path)?;
        set(&self.writer, generic_tile::writer(bytes).map_err(shift).at(path)?);
        let list = || {
            let mut list = tile_index::decode(&payload).map_err(shift).at(path)?;
            // For global writes with nulls, 2.2 writes an entry for a tile after the last one. It would cut the last
            // tile short.
            list.truncate(usize::try_from(tiles).unwrap_or(usize::MAX));
            Ok(list)
        };
        let values = || TileValues::decode(&payload).map_err(shift).at(path);
        match m.section {
            Section::RTree => set(
                &self.rtree,
                RTree::decode(&payload, schema, self.footer.version)
                    .map(|t| t.widened(schema, self.footer.version))
                    .map_err(shift)
                    .at(path)?,
            ),
            Section::TileOffsets(i) => set_at(&self.lists().tile_offsets, i, list()?),
            Section::VarOffsets(i) => set_at(&self.lists().var_offsets, i, list()?),
            Section::VarSizes(i) => set_at(&self.lists().var_sizes, i, list()?),
            Section::ValidityOffsets(i) => set_at(&self.lists().validity_offsets, i, list()?),
            Section::Mins(i) => set_at(&self.lists().mins, i, values()?),
            Section::Maxs(i) => set_at(&self.lists().maxs, i, values()?),
            Section::Sums(i) => set_at(&self.lists().sums, i, list()?),
            Section::NullCounts(i) => set_at(&self.lists().null_counts, i, list()?),
            Section::Conditions => set(&self.conditions, conditions::decode(&payload).map_err(shift).at(path)?),
        }
        Ok(())
    }

    /// The newest format version known to the release that wrote the fragment. The fragment's own version until a
    /// section is decoded.
    pub(crate) fn writer(&self) -> Version {
        let own = self.footer.version;
        self.writer.get().map_or(own, |&writer| writer.max(own))
    }

    pub(crate) fn rtree(&self) -> Option<&RTree> {
        self.rtree.get()
    }

    pub(crate) fn mins(&self, slot: usize) -> Option<&TileValues> {
        self.lists().mins.get(slot)?.get()
    }

    pub(crate) fn maxs(&self, slot: usize) -> Option<&TileValues> {
        self.lists().maxs.get(slot)?.get()
    }

    /// The sum of a tile, as the bits of an `i64`, `u64` or `f64` depending on the field's type.
    pub(crate) fn sum(&self, slot: usize, tile: u64) -> Option<u64> {
        at(&self.lists().sums, slot, tile)
    }

    /// Number of null cells in a tile, if the fragment stores it.
    pub(crate) fn null_count(&self, slot: usize, tile: u64) -> Option<u64> {
        at(&self.lists().null_counts, slot, tile)
    }

    pub(crate) fn conditions(&self) -> &[String] {
        self.conditions.get().map_or(&[], Vec::as_slice)
    }

    /// Unfiltered size of a tile of variable-length values in bytes.
    pub(crate) fn var_bytes(&self, slot: usize, tile: u64) -> Option<u64> {
        at(&self.lists().var_sizes, slot, tile)
    }

    /// Unfiltered size of all tiles of variable-length values in bytes; 0 if not loaded.
    pub(crate) fn var_bytes_total(&self, slot: usize) -> u64 {
        let sizes = self.lists().var_sizes.get(slot).and_then(OnceLock::get);
        sizes.map_or(0, |s| s.iter().fold(0, |n, v| n.saturating_add(*v)))
    }

    fn range(
        &self,
        of: impl Fn(&IndexLists) -> &[OnceLock<Vec<u64>>],
        slot: usize,
        tile: u64,
        file_bytes: u64,
    ) -> Result<Range<u64>, String> {
        if self.tiles == 1 && tile == 0 {
            return Ok(0..file_bytes);
        }
        range(of(self.lists()), slot, tile, file_bytes)
    }

    /// Byte range of a tile in the field's file, which has `file_bytes` bytes.
    pub(crate) fn fixed_range(&self, slot: usize, tile: u64, file_bytes: u64) -> Result<Range<u64>, String> {
        self.range(|lists| &lists.tile_offsets, slot, tile, file_bytes)
    }

    /// Byte range of a tile in the file of variable-length values.
    pub(crate) fn var_range(&self, slot: usize, tile: u64, file_bytes: u64) -> Result<Range<u64>, String> {
        self.range(|lists| &lists.var_offsets, slot, tile, file_bytes)
    }

    /// Byte range of a tile in the validity file.
    pub(crate) fn validity_range(&self, slot: usize, tile: u64, file_bytes: u64) -> Result<Range<u64>, String> {
        self.range(|lists| &lists.validity_offsets, slot, tile, file_bytes)
    }
}

/// An error about the index of the fragment with metadata file `path`.
pub(crate) fn inconsistent(path: &str, why: impl Into<String>) -> Error {
    Error::Corrupt {
        path: path.to_owned(),
        malformed: crate::Malformed::new("tile index", 0, why),
    }
}

fn locks<T>(n: usize) -> Vec<OnceLock<T>> {
    (0..n).map(|_| OnceLock::new()).collect()
}

fn is_set<T>(locks: &[OnceLock<T>], i: usize) -> bool {
    locks.get(i).is_some_and(|l| l.get().is_some())
}

fn set<T>(lock: &OnceLock<T>, value: T) {
    // Two readers may decode the same section; both have the same value.
    let _ = lock.set(value);
}

fn set_at<T>(locks: &[OnceLock<T>], i: usize, value: T) {
    if let Some(lock) = locks.get(i) {
        set(lock, value);
    }
}

fn at(lists: &[OnceLock<Vec<u64>>], slot: usize, tile: u64) -> Option<u64> {
    lists.get(slot)?.get()?.get(usize::try_from(tile).ok()?).copied()
}

fn range(lists: &[OnceLock<Vec<u64>>], slot: usize, tile: u64, file_bytes: u64) -> Result<Range<u64>, String> {
    let start = at(lists, slot, tile)
        .ok_or_else(|| format!("the fragment has a tile {tile}, but its index has no entry for it"))?;
    let end = tile
        .checked_add(1)
        .and_then(|next| at(lists, slot, next))
        .unwrap_or(file_bytes);
    if start > end || end > file_bytes {
        return Err(format!(
            "tile {tile} is at bytes {start}..{end}, but the file has {file_bytes} bytes"
        ));
    }
    Ok(start..end)
}

#[cfg(test)]
mod tests;
