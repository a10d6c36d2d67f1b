//! A sparse fragment in a read: which of its tiles may hold cells of the region, and what must be
//! read of each.

use std::sync::Arc;

use super::region::{Ranges, Relation};
use crate::array::index::Section;
use crate::array::{Delete, Fragment, Window};
use crate::column::Column;
use crate::error::Result;
use crate::format::fragment::rtree::Bounds;
use crate::format::fragment::slots::FieldId;
use crate::format::pipeline::Pipeline;
use crate::key;
use crate::query::condition::{Bound, fails, statistics};
use crate::query::field::Field;
use crate::query::tile::{StoredField, TileRef};

/// A sparse fragment.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) fragment: Arc<Fragment>,
    /// The dimensions, or all coordinates in one field.
    pub(crate) coordinates: Vec<Arc<StoredField>>,
    /// When each cell was written, if that matters to the query.
    pub(crate) times: Option<Arc<StoredField>>,
    /// Whether cells outside the window must be left out one by one.
    pub(crate) partly_visible: bool,
    /// When each cell was deleted.
    pub(crate) delete_times: Option<Arc<StoredField>>,
    /// The attributes of the query; `None` where the fragment does not have one.
    pub(crate) attributes: Vec<Option<Arc<StoredField>>>,
    /// What each delete of the array means to its cells.
    pub(crate) deletes: Vec<DeleteMode>,
    /// What later fragments of a dense array lay over its cells.
    pub(crate) hiding: Option<Arc<Hiding>>,
}

/// What later dense fragments lay over the cells of a sparse fragment of a dense array.
///
/// As in libtiledb, a cell inside one of their boxes is hidden, with one exception: a tile that lies
/// wholly in the region of the query is hidden wholly, where a box covers it, or not at all.
#[derive(Debug)]
pub(crate) struct Hiding {
    /// The region of the whole query, of which only a part may be read at a time.
    pub(crate) region: Ranges,
    /// The boxes of the later dense fragments.
    pub(crate) boxes: Vec<Ranges>,
}

/// What a delete means to the cells of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteMode {
    /// Nothing: it is older than they are, or they are marked as deleted one by one.
    None,
    /// It applies to all of them.
    All,
    /// It applies to those that are not younger.
    Older,
}

/// A tile that may hold cells of the region.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) layer: usize,
    pub(crate) tile: u64,
    /// Whether all its cells are in the region.
    pub(crate) inside: bool,
    /// Whether later fragments hide some of its cells.
    pub(crate) hidden: bool,
}

impl Layer {
    /// The layer of a sparse fragment. `versions`: whether it matters which of two cells is newer.
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
            delete_times: if footer.has_delete_metadata {
                stored(FieldId::DeleteTimestamps)
            } else {
                None
            },
            attributes: attributes
                .iter()
                .map(|f| StoredField::of_attribute(fragment, &f.name, f.datatype, f.cell).map(Arc::new))
                .collect(),
            deletes: deletes.iter().map(mode).collect(),
            hiding: None,
        }
    }

    /// The sections of the fragment's index that are needed to read these `attributes` of cells that satisfy the
    /// `condition`.
    pub(crate) fn sections(&self, condition: Option<&Bound>, attributes: &[Field]) -> Vec<Section> {
        let stored = self
            .coordinates
            .iter()
            .chain(&self.times)
            .chain(&self.delete_times)
            .chain(self.attributes.iter().flatten());
        let ids: Vec<FieldId> = stored.map(|s| s.id).collect();
        let mut sections = self.fragment.sections(&ids);
        sections.push(Section::RTree);
        if self.fragment.footer.has_delete_metadata {
            sections.push(Section::Conditions);
        }
        sections.extend(
            condition
                .into_iter()
                .flat_map(|c| statistics(c, attributes, &self.fragment)),
        );
        sections
    }

    /// Takes back what the fragment's own list of processed deletes makes superfluous. Its index must
    /// be loaded.
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

    /// The tiles that may hold cells of the region, in the order of the file. The R-tree must be loaded.
    ///
    /// # Errors
    /// The R-tree does not fit the footer.
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
            let covered = |h: &Arc<Hiding>| h.boxes.iter().any(|b| b.relation(leaves, i) == Relation::Inside);
            if relation == Relation::Outside || self.hiding.as_ref().is_some_and(covered) {
                continue;
            }
            let apart = |h: &Arc<Hiding>| h.region.relation(leaves, i) != Relation::Inside;
            out.push(Candidate {
                layer,
                tile: i as u64,
                inside: relation == Relation::Inside,
                hidden: self.hiding.as_ref().is_some_and(apart),
            });
        }
        Ok(())
    }

    /// Whether no cell of a tile can satisfy the condition, by what its statistics say.
    pub(crate) fn excludes(&self, condition: &Bound, attributes: &[Field], tile: u64) -> bool {
        let cells = self.fragment.tile_cells(tile);
        cells.is_ok_and(|cells| fails(condition, attributes, &self.fragment, tile, cells as u64))
    }

    /// A tile of one of the layer's fields.
    ///
    /// # Errors
    /// The tile is too large for this machine.
    pub(crate) fn tile(field: &Arc<StoredField>, tile: u64) -> Result<TileRef> {
        TileRef::new(field, tile)
    }
}

/// Whether all coordinates of a tile along dimension `d` are within its bounding box, which is that of the
/// coordinates as they were given, before filters that lose something. `path` is the file they are in.
///
/// # Errors
/// [`crate::Error::Corrupt`] if not.
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
