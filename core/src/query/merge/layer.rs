//! One sparse fragment of a read: which of its tiles may hold cells of the region, and what to read of each.

use std::sync::Arc;

use crate::array::index::Section;
use crate::array::{Delete, Fragment, Window};
use crate::column::Column;
use crate::error::Result;
use crate::format::field::Field;
use crate::format::fragment::rtree::Bounds;
use crate::format::fragment::slots::FieldId;
use crate::format::pipeline::Pipeline;
use crate::key;
use crate::query::condition::{Bound, fails, statistics};
use crate::query::dense::OverlayMask;
use crate::query::region::{Ranges, Relation};
use crate::query::tile::{LocatedTile, StoredField, TileRef};

/// Bytes of the keys of a cell in memory, with its write time: an estimate, as there is a key per dimension or two.
const KEY_BYTES: u64 = 24;

/// A sparse fragment of a read.
#[derive(Debug)]
pub(crate) struct SparseLayer {
    pub(crate) fragment: Arc<Fragment>,
    /// One field per dimension, or a single field with all coordinates.
    pub(crate) coordinates: Vec<Arc<StoredField>>,
    /// The write time of each cell, if the query needs it.
    pub(crate) times: Option<Arc<StoredField>>,
    /// Whether some cells are outside the window and must be removed individually.
    pub(crate) partly_visible: bool,
    /// The delete time of each cell.
    pub(crate) delete_times: Option<Arc<StoredField>>,
    /// The attributes of the query; `None` for those that the fragment lacks.
    pub(crate) attributes: Vec<Option<Arc<StoredField>>>,
    /// How each delete of the array affects the fragment's cells.
    pub(crate) deletes: Vec<DeleteMode>,
    /// The cells that later dense fragments hide, in a dense array.
    pub(crate) mask: Option<Arc<OverlayMask>>,
}

/// How a delete affects the cells of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteMode {
    /// It does not apply: it is older than the cells, or the fragment marks each deleted cell.
    None,
    /// It applies to all cells.
    All,
    /// It applies to cells that are not newer than it.
    Older,
}

/// A tile that may hold cells of the region.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) layer: usize,
    pub(crate) tile: u64,
    /// Whether all its cells are in the region.
    pub(crate) inside: bool,
    /// Whether later fragments may hide some of its cells.
    pub(crate) hidden: bool,
}

impl SparseLayer {
    /// Creates the layer of a sparse fragment. `versions` says whether the query must know which of two cells is newer.
    pub(crate) fn new(
        fragment: &Arc<Fragment>,
        attributes: &[Field],
        window: Window,
        deletes: &[Delete],
        versions: bool,
    ) -> Self {
        let stored = |id| StoredField::new(fragment, id).map(Arc::new);
        let footer = &fragment.footer;
        let partly_visible = fragment.is_partly_within(window);
        let within = |d: &Delete| fragment.start_ms <= d.time_ms && d.time_ms <= fragment.end_ms;
        let needs_times = footer.has_timestamps && (partly_visible || versions || deletes.iter().any(within));
        let mode = |d: &Delete| {
            if d.time_ms < fragment.start_ms {
                DeleteMode::None
            } else if footer.has_timestamps && d.time_ms <= fragment.end_ms {
                DeleteMode::Older
            } else {
                DeleteMode::All
            }
        };
        Self {
            fragment: Arc::clone(fragment),
            coordinates: fragment.coordinates().into_iter().filter_map(stored).collect(),
            times: if needs_times { stored(FieldId::Timestamps) } else { None },
            partly_visible,
            // A history has them as a field.
            delete_times: if footer.has_delete_metadata
                && !attributes.iter().any(|f| f.id == Some(FieldId::DeleteTimestamps))
            {
                stored(FieldId::DeleteTimestamps)
            } else {
                None
            },
            attributes: attributes
                .iter()
                .map(|f| match f.id {
                    Some(id @ (FieldId::DeleteTimestamps | FieldId::DeleteConditions)) => stored(id),
                    _ => StoredField::of_attribute(fragment, &f.name, f.datatype, f.cell).map(Arc::new),
                })
                .collect(),
            deletes: deletes.iter().map(mode).collect(),
            mask: None,
        }
    }

    /// The size of a tile in memory, with all its fields.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn tile_bytes(&self, tile: u64) -> Result<u64> {
        let of_field = |sum: u64, field| Ok(sum.saturating_add(TileRef::new(field, tile)?.decoded_bytes()));
        let keys = (self.fragment.tile_cells(tile)? as u64).saturating_mul(KEY_BYTES);
        self.stored().try_fold(keys, of_field)
    }

    /// The size of its largest tile in memory.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn largest_tile_bytes(&self) -> Result<u64> {
        // A damaged footer may claim any number of tiles; the index must have the last one.
        if let Some(last) = self.fragment.tiles.checked_sub(1) {
            for field in self.stored() {
                TileRef::new(field, last)?.extents()?;
            }
        }
        let larger = |most: u64, tile| Ok(most.max(self.tile_bytes(tile)?));
        (0..self.fragment.tiles).try_fold(0, larger)
    }

    /// The stored fields to read.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<StoredField>> {
        let coordinates = self.coordinates.iter().chain(&self.times).chain(&self.delete_times);
        coordinates.chain(self.attributes.iter().flatten())
    }

    /// The sections of the fragment's index that are needed to read `attributes` of cells that satisfy `condition`.
    pub(crate) fn sections(&self, condition: Option<&Bound>, attributes: &[Field]) -> Vec<Section> {
        let ids: Vec<FieldId> = self.stored().map(|s| s.id).collect();
        let mut sections = self.fragment.sections(&ids);
        if self.fragment.footer.has_delete_metadata {
            sections.push(Section::Conditions);
        }
        sections.extend(self.bounds(condition, attributes));
        sections
    }

    /// The sections that say which tiles meet a region and may satisfy `condition`.
    pub(crate) fn bounds(&self, condition: Option<&Bound>, attributes: &[Field]) -> Vec<Section> {
        let tested = condition
            .into_iter()
            .flat_map(|c| statistics(c, attributes, &self.fragment));
        [Section::RTree].into_iter().chain(tested).collect()
    }

    /// Drops the deletes that the fragment lists as already processed. Its index must be loaded.
    pub(crate) fn skip_processed(&mut self, deletes: &[Delete]) {
        if !self.fragment.footer.has_delete_metadata {
            return;
        }
        let processed = self.fragment.index.conditions();
        for (mode, delete) in self.deletes.iter_mut().zip(deletes) {
            if processed.contains(&delete.path) {
                *mode = DeleteMode::None;
            }
        }
    }

    /// Adds the tiles that may hold cells of the region, in file order. The R-tree must be loaded.
    ///
    /// # Errors
    /// The number of leaves of the R-tree differs from the number of tiles.
    pub(crate) fn candidates(&self, layer: usize, ranges: &Ranges, out: &mut Vec<Candidate>) -> Result<()> {
        let leaves = self.fragment.index.rtree().and_then(|t| t.leaves());
        let tiles = usize::try_from(self.fragment.tiles).unwrap_or(usize::MAX);
        let Some(leaves) = leaves.filter(|l| l.len == tiles) else {
            let found = leaves.map_or(0, |l| l.len);
            let why = format!("the R-tree has {found} leaves for {tiles} tiles");
            return if tiles == 0 {
                Ok(())
            } else {
                Err(crate::array::index::inconsistent(&self.fragment.metadata_path(), why))
            };
        };
        for i in 0..leaves.len {
            let relation = ranges.relation(leaves, i);
            let mask = self.mask.as_ref();
            if relation == Relation::Outside || mask.is_some_and(|m| m.hides_tile(leaves, i)) {
                continue;
            }
            out.push(Candidate {
                layer,
                tile: i as u64,
                inside: relation == Relation::Inside,
                hidden: mask.is_some_and(|m| m.may_hide_cells(leaves, i)),
            });
        }
        Ok(())
    }

    /// Whether the statistics of a tile show that no cell satisfies the condition.
    pub(crate) fn excludes(&self, condition: &Bound, attributes: &[Field], tile: u64) -> bool {
        let cells = self.fragment.tile_cells(tile);
        cells.is_ok_and(|cells| fails(condition, attributes, &self.fragment, tile, cells as u64))
    }

    /// Locates a tile of one of the layer's fields.
    ///
    /// # Errors
    /// The fragment's index is damaged, or the tile is too large for this machine.
    pub(crate) fn tile(field: &Arc<StoredField>, tile: u64) -> Result<LocatedTile> {
        TileRef::new(field, tile)?.located()
    }
}

/// Checks that a tile's coordinates along dimension `d` are inside its bounding box. The box describes the coordinates
/// before filtering, so dimensions with lossy filters are not checked. `path` is the file with the coordinates.
///
/// # Errors
/// [`crate::Error::Corrupt`] if a coordinate is outside the box.
pub(crate) fn check_box(fragment: &Fragment, d: usize, tile: u64, column: &Column, path: &str) -> Result<()> {
    let (leaves, Ok(i)) = (fragment.index.rtree().and_then(|t| t.leaves()), usize::try_from(tile)) else {
        return Ok(());
    };
    let given = |filters: &Pipeline| filters.keeps(column.datatype.physical(), i64::MIN.into(), i64::MAX.into());
    if !fragment
        .schema
        .dimensions
        .get(d)
        .is_some_and(|d| given(fragment.schema.dimension_filters(d)))
    {
        return Ok(());
    }
    let inside = match leaves.and_then(|l| l.dimensions.get(d)) {
        Some(Bounds::Keys { lo, hi, .. }) => match (lo.get(i), hi.get(i)) {
            (Some(lo), Some(hi)) => key::keys(column.datatype.physical(), &column.data)
                .is_ok_and(|keys| keys.iter().all(|k| lo <= k && k <= hi)),
            _ => false,
        },
        Some(Bounds::Strings { lo, hi }) => {
            (0..column.len()).all(|c| lo.get(i) <= column.cell(c) && column.cell(c) <= hi.get(i))
        }
        None => true,
    };
    if inside {
        return Ok(());
    }
    let malformed = crate::Malformed::new(
        "coordinates",
        0,
        format!("tile {tile} has cells outside its bounding box"),
    );
    Err(crate::Error::Corrupt {
        path: path.to_owned(),
        malformed,
    })
}
