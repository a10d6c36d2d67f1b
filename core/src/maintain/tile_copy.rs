//! Tiles that a merge copies in their stored form, without unfiltering and filtering them again.
//!
//! Such a tile must have been written as it would be now. Its statistics are copied too, so they must be reliable.

use std::sync::Arc;

use bytes::Bytes;

use crate::array::Fragment;
use crate::array::index::Section;
use crate::error::{AtPath, Error, Malformed, Result};
use crate::filter::codes_strings;
use crate::format::cursor::Decoded;
use crate::format::fragment::stats::TileValues;
use crate::format::schema::Schema;
use crate::format::tile::chunks;
use crate::geometry::grid::Axis;
use crate::geometry::{Grid, Span};
use crate::query::Aggregate;
use crate::query::summary::StatisticsQuery;
use crate::query::tile::{Extent, StoredField, TileRef};
use crate::write::field::{Fields, WrittenField};
use crate::write::pack::PackedTile;
use crate::write::stats::{Kinds, MinMax, TileStats};

/// Bytes that filters may add to a small tile: chunk headers, checksums, initialisation vectors.
const FRAMING_BYTES: u64 = 4 << 10;

/// Decides which tiles of dense fragments a new fragment can copy.
pub(super) struct CopySources {
    schema: Arc<Schema>,
    grid: Grid,
    /// The fields of the new fragment.
    fields: Arc<Fields>,
}

/// A fragment whose tiles may be copied.
pub(super) struct CopySource<'a> {
    fragment: &'a Fragment,
    fields: Vec<DonorField<'a>>,
}

struct DonorField<'a> {
    /// Reads its statistics. `None` if the field has none.
    question: Option<StatisticsQuery<'a>>,
    /// Whether its strings are encoded with their lengths, so that chunk headers count encoded bytes.
    coded: bool,
}

/// One field of a tile to copy.
pub(super) struct CopiedTile {
    tile: TileRef,
    /// Its byte ranges.
    pub(super) extents: Vec<Extent>,
    coded: bool,
    stats: TileStats,
}

impl CopySources {
    /// For a new fragment with these fields and this schema.
    pub(super) fn new(schema: &Arc<Schema>, grid: &Grid, fields: &Arc<Fields>) -> Self {
        Self {
            schema: Arc::clone(schema),
            grid: grid.clone(),
            fields: Arc::clone(fields),
        }
    }

    /// The index sections that [`CopySource::tile`] needs in addition to those of reads.
    pub(super) fn sections(&self, fragment: &Fragment) -> Vec<Section> {
        let donor = self.donor(fragment);
        let questions = donor
            .iter()
            .flat_map(|d| d.fields.iter().filter_map(|f| f.question.as_ref()));
        questions.flat_map(StatisticsQuery::sections).collect()
    }

    /// Returns the fragment as a donor, or `None` if none of its tiles can be copied.
    pub(super) fn donor<'a>(&'a self, fragment: &'a Fragment) -> Option<CopySource<'a>> {
        if !self.wrote_alike(fragment) || !self.has_whole_tile(fragment) {
            return None;
        }
        let field = |written: &'a WrittenField| {
            let field = &written.field;
            let kinds = Kinds::of(field);
            let has_none = kinds.min_max == MinMax::None && !kinds.sum && !field.nullable;
            // A sum uses all statistics of a field.
            let question = StatisticsQuery::new(Aggregate::Sum, field, fragment);
            let coded = codes_strings(&written.filters, &self.fields.format_of(written));
            (has_none || question.is_some()).then_some(DonorField {
                question: question.filter(|_| !has_none),
                coded,
            })
        };
        let fields = self.fields.list.iter().map(field);
        Some(CopySource {
            fragment,
            fields: fields.collect::<Option<_>>()?,
        })
    }

    /// Whether the fragment was written as the new one would be.
    fn wrote_alike(&self, fragment: &Fragment) -> bool {
        let (old, new) = (&*fragment.schema, &*self.schema);
        fragment.dense
            && fragment.version == self.fields.version
            && old.attributes == new.attributes
            && old.offsets_filters == new.offsets_filters
            && old.validity_filters == new.validity_filters
    }

    /// Whether the fragment has all cells of at least one tile.
    fn has_whole_tile(&self, fragment: &Fragment) -> bool {
        let spans = fragment.spans(&self.grid).ok().flatten();
        spans.is_some_and(|spans| {
            let whole = |(span, axis): (&Span, &Axis)| {
                let first = u128::from(span.first.div_ceil(axis.extent)) * u128::from(axis.extent);
                first + u128::from(axis.extent) <= u128::from(span.last) + 1
            };
            spans.iter().zip(&self.grid.axes).all(whole)
        })
    }
}

impl CopySource<'_> {
    /// All fields of tile number `tile` if it can be copied. `stored` are the fragment's fields. The sections must be
    /// loaded, and the fragment must have all cells of the tile.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the fragment's index is damaged.
    pub(super) fn tile(&self, stored: &[Option<Arc<StoredField>>], tile: u64) -> Result<Option<Vec<CopiedTile>>> {
        let mut out = Vec::with_capacity(self.fields.len());
        for (field, stored) in self.fields.iter().zip(stored) {
            let Some(kept) = self.field(field, stored.as_ref(), tile)? else {
                return Ok(None);
            };
            out.push(kept);
        }
        let all = out.len() == self.fields.len() && self.fragment.index.writer().has_types_of_filters();
        Ok(all.then_some(out))
    }

    fn field(
        &self,
        field: &DonorField<'_>,
        stored: Option<&Arc<StoredField>>,
        tile: u64,
    ) -> Result<Option<CopiedTile>> {
        let Some(stored) = stored else { return Ok(None) };
        let tile = TileRef::new(stored, tile)?;
        let stats = match &field.question {
            Some(question) => statistics(question, self.fragment, &tile),
            None => Some(TileStats::default()),
        };
        let Some(stats) = stats.filter(|_| !stored.cell.is_var() || tile.var_bytes().is_some()) else {
            return Ok(None);
        };
        let extents = tile.extents()?;
        // If the stored form is much larger than the cells, it is better to read the tile than to hold it.
        let most = tile.decoded_bytes().saturating_mul(2).saturating_add(FRAMING_BYTES);
        Ok((bytes(&extents) <= most).then_some(CopiedTile {
            tile,
            extents,
            coded: field.coded,
            stats,
        }))
    }
}

/// The total number of bytes of these extents.
pub(super) fn bytes<'a>(extents: impl IntoIterator<Item = &'a Extent>) -> u64 {
    let lengths = extents.into_iter().map(|e| e.range.end - e.range.start);
    lengths.fold(0, u64::saturating_add)
}

impl CopiedTile {
    /// Builds the field of the tile from the contents of its extents, which must hold as many bytes of cells as
    /// expected.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they do not; it names the file.
    pub(super) fn pack(self, parts: &[Bytes]) -> Result<PackedTile> {
        let stored = &self.tile.field;
        let cells = self.tile.cells as u64;
        let mut parts = self.extents.iter().zip(parts);
        let mut part = |plain: Option<u64>| {
            let (extent, part) = parts
                .next()
                .ok_or_else(|| Error::invalid("the tile has fewer parts than its field has files"))?;
            check(part, plain).at(&extent.path)?;
            Ok::<_, Error>(part.clone())
        };
        let (fixed, var) = match (stored.cell.cell_bytes(stored.datatype), self.tile.var_bytes()) {
            (Some(width), _) => (part(Some(cells.saturating_mul(width as u64)))?, None),
            (None, bytes) => {
                let bytes = bytes.unwrap_or(0);
                let plain = |bytes: u64| (!self.coded).then_some(bytes);
                let starts = part(plain(cells.saturating_mul(8)))?;
                (starts, Some((part(plain(bytes))?, bytes)))
            }
        };
        let validity = if stored.nullable {
            Some(part(Some(cells))?)
        } else {
            None
        };
        Ok(PackedTile {
            fixed,
            var,
            validity,
            stats: self.stats,
            range: None,
        })
    }
}

/// Checks that this is a framed tile and, if `plain` is known, that it holds this many bytes of cells.
fn check(framed: &[u8], plain: Option<u64>) -> Decoded<()> {
    let found: u64 = chunks(framed)?.iter().map(|c| u64::from(c.plain_bytes)).sum();
    match plain {
        Some(bytes) if bytes != found => {
            let why = format!("its chunks hold {found} bytes, but its cells take {bytes}");
            Err(Malformed::new("tile", 0, why))
        }
        _ => Ok(()),
    }
}

/// The statistics of a tile, if they are reliable.
fn statistics(question: &StatisticsQuery<'_>, fragment: &Fragment, tile: &TileRef) -> Option<TileStats> {
    let cells = tile.cells as u64;
    let summary = question.answer(tile.tile, cells)?;
    // If all cells are null, writers store different extremes.
    if summary.values == 0 {
        return None;
    }
    let (index, slot) = (&fragment.index, tile.field.slot());
    let (number, width) = (
        usize::try_from(tile.tile).ok()?,
        tile.field.cell.cell_bytes(tile.field.datatype),
    );
    let end = |values: Option<&TileValues>| Some(values?.get(number, width)?.to_vec());
    Some(TileStats {
        min: Some(end(index.mins(slot))?),
        max: Some(end(index.maxs(slot))?),
        sum: index.sum(slot, tile.tile)?,
        null_count: cells - summary.values,
    })
}
