//! Tiles that a merge takes over as another fragment stores them: neither unfiltered nor filtered again.
//!
//! Such a tile must have been written as it would be now, and with statistics that can be relied on, for they are
//! taken over too.

use std::sync::Arc;

use bytes::Bytes;

use crate::array::Fragment;
use crate::array::index::Section;
use crate::error::{AtPath, Error, Malformed, Result};
use crate::format::cursor::Decoded;
use crate::format::fragment::stats::TileValues;
use crate::format::schema::Schema;
use crate::format::tile::chunks;
use crate::query::Aggregate;
use crate::query::field::Field;
use crate::query::summary::Question;
use crate::query::tile::{Extent, StoredField, TileRef};
use crate::write::field::{self, Fields};
use crate::write::pack::PackedTile;
use crate::write::stats::{Kinds, MinMax, TileStats};

/// Says which tiles of dense fragments a new one may take over.
pub(super) struct Donors {
    schema: Arc<Schema>,
    /// Those of the new fragment.
    fields: Arc<Fields>,
    /// The same ones, as they are read.
    named: Vec<Field>,
}

/// One field of a tile that is taken over.
pub(super) struct Kept {
    pub(super) tile: TileRef,
    stats: TileStats,
}

impl Donors {
    /// For a fragment with these fields, written with this schema.
    pub(super) fn new(schema: &Arc<Schema>, fields: &Arc<Fields>) -> Result<Self> {
        let named = fields.list.iter().map(|f| Field::named(schema, &f.name));
        Ok(Self {
            schema: Arc::clone(schema),
            fields: Arc::clone(fields),
            named: named.collect::<Result<_>>()?,
        })
    }

    /// The sections of a fragment's index that [`Donors::tile`] needs beside those that reads need.
    pub(super) fn sections(&self, fragment: &Fragment) -> Vec<Section> {
        if !self.wrote_alike(fragment) {
            return Vec::new();
        }
        let questions = self.named.iter().filter_map(|f| question(f, fragment));
        questions.flat_map(|q| q.sections()).collect()
    }

    /// Tile number `tile` of a fragment, every field of it, if it can be taken over; `stored` are the fragment's
    /// fields. The fragment's sections must be loaded, and the tile must have all of its cells.
    pub(super) fn tile(
        &self,
        fragment: &Fragment,
        stored: &[Option<Arc<StoredField>>],
        tile: u64,
    ) -> Option<Vec<Kept>> {
        if !self.wrote_alike(fragment) || !fragment.index.writer().has_types_of_filters() {
            return None;
        }
        let kept = |((field, named), stored): ((_, &Field), &Option<Arc<StoredField>>)| {
            let tile = TileRef::new(stored.as_ref()?, tile).ok()?;
            if tile.field.cell.is_var() {
                tile.var_bytes()?;
            }
            let stats = statistics(field, named, fragment, &tile)?;
            Some(Kept { tile, stats })
        };
        let fields = self.fields.list.iter().zip(&self.named).zip(stored);
        fields.map(kept).collect()
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
}

impl Kept {
    /// The field of the tile, from what its extents hold.
    ///
    /// # Errors
    /// The bytes are no tile; the error names their file.
    pub(super) fn pack(self, extents: &[Extent], parts: &[Bytes]) -> Result<PackedTile> {
        for (extent, part) in extents.iter().zip(parts) {
            chunks(part).at(&extent.path)?;
        }
        let stored = &self.tile.field;
        let mut parts = parts.iter().cloned();
        let mut part = || {
            parts
                .next()
                .ok_or_else(|| Error::invalid("a tile with fewer parts than its field has files"))
        };
        let fixed = part()?;
        if let (Some(width), Some(extent)) = (stored.cell.cell_bytes(stored.datatype), extents.first()) {
            holds(&fixed, (self.tile.cells as u64).saturating_mul(width as u64)).at(&extent.path)?;
        }
        let var = match self.tile.var_bytes() {
            Some(bytes) if stored.cell.is_var() => Some((part()?, bytes)),
            _ => None,
        };
        let validity = if stored.nullable { Some(part()?) } else { None };
        Ok(PackedTile {
            fixed,
            var,
            validity,
            stats: self.stats,
            range: None,
        })
    }
}

/// Complains unless a framed tile holds so many bytes of cells.
fn holds(framed: &[u8], bytes: u64) -> Decoded<()> {
    let found: u64 = chunks(framed)?.iter().map(|c| u64::from(c.plain_bytes)).sum();
    if found == bytes {
        return Ok(());
    }
    let why = format!("its chunks hold {found} bytes, its cells take {bytes}");
    Err(Malformed::new("tile", 0, why))
}

/// What asks for everything that the statistics of a field say; `None` where there are none, or none that can be
/// relied on.
fn question<'a>(field: &'a Field, fragment: &'a Fragment) -> Option<Question<'a>> {
    Question::new(Aggregate::Sum, field, fragment)
}

/// The statistics of a tile, where they can be relied on.
fn statistics(field: &field::Field, named: &Field, fragment: &Fragment, tile: &TileRef) -> Option<TileStats> {
    let kinds = Kinds::of(field);
    if kinds.min_max == MinMax::None && !kinds.sum && !field.nullable {
        return Some(TileStats::default());
    }
    let cells = tile.cells as u64;
    let summary = question(named, fragment)?.answer(tile.tile, cells)?;
    // Where all is null, what stands for the extremes differs from writer to writer.
    if summary.values == 0 {
        return None;
    }
    let (index, slot) = (&fragment.index, tile.field.slot());
    let number = usize::try_from(tile.tile).ok()?;
    let end = |values: Option<&TileValues>| Some(values?.get(number, field.cell_bytes())?.to_vec());
    Some(TileStats {
        min: Some(end(index.mins(slot))?),
        max: Some(end(index.maxs(slot))?),
        sum: index.sum(slot, tile.tile)?,
        null_count: cells - summary.values,
    })
}
