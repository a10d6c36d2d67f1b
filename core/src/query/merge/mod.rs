//! Merges the cells of sparse fragments: for a read, the cells that are visible; for a consolidation, every version of
//! every cell with its times (`history`). This module does no I/O: it says what to fetch, takes the bytes, and returns
//! cells in order.
//!
//! [`SparseQuery`] selects tiles, [`merge_stream`] loads and merges them, [`gather`] copies the cells into columns.

mod filter;
pub(crate) mod gather;
mod history;
pub(crate) mod layer;
pub(crate) mod merge_stream;
pub(crate) mod order;
mod rounding;
mod segments;
pub(crate) mod sorted_tile;
pub(crate) mod whole;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use self::history::ProcessedDeletes;
use self::layer::{Candidate, DeleteMode, SparseLayer};
use self::merge_stream::MergeStream;
use self::order::ResultOrder;
pub(crate) use self::segments::Segment;
use super::Query;
use crate::array::index::Section;
use crate::array::{Array, Delete, Fragment, Window};
use crate::datatype::Physical;
use crate::error::{AtPath, Malformed, Result};
use crate::format::field::Field;
use crate::format::schema::{Dimension, Layout, Schema};
use crate::query::condition::{Bound, bind_stored};
use crate::query::dense::OverlayMask;
use crate::query::region::{Ranges, Relation};
use crate::query::tile::TILE_BYTES;
use crate::scalar::ScalarRange;
use crate::vfs::join;

/// A resolved query of sparse cells.
#[derive(Debug)]
pub(crate) struct SparseQuery {
    pub(crate) schema: Arc<Schema>,
    pub(crate) window: Window,
    pub(crate) ranges: Ranges,
    pub(crate) order: Option<Arc<ResultOrder>>,
    pub(crate) dedup: bool,
    /// Whether attributes are decoded with the coordinates, because all cells are in the result.
    pub(crate) eager: bool,
    /// The fields of the result.
    pub(crate) fields: Vec<Field>,
    /// The attributes of the result, then those that only conditions need.
    pub(crate) attributes: Vec<Field>,
    pub(crate) condition: Option<Bound>,
    pub(crate) deletes: Vec<BoundDelete>,
    /// The deletes that the result counts as done.
    pub(crate) processed: ProcessedDeletes,
    /// The fragments that may overlap the region, oldest first.
    pub(crate) layers: Vec<SparseLayer>,
    row_bytes: OnceLock<u64>,
}

/// Whether the fragment's cells are known to be in global order. Some releases of libtiledb wrote other orders:
/// - Before 2.0, dates were sorted as unsigned numbers. Floats, and integers with too many tiles to count, were sorted
///   without regard to tiles.
/// - From 2.3 to 2.9, tiles of 8-bit and 16-bit integers were misordered if the domain had both signs.
/// - All releases sort the bytes of strings as signed, so non-ASCII bytes come first, but merge them as unsigned.
///   Positions on the Hilbert curve are the same in all releases.
fn is_sorted(fragment: &Fragment) -> bool {
    let (version, dimensions) = (fragment.version, &fragment.schema.dimensions);
    let short = |d: &Dimension| matches!(d.datatype.physical(), Physical::I8 | Physical::I16);
    version.has_dimension_files()
        && fragment.schema.version.has_dimension_files()
        && (version.has_timestamps() || !dimensions.iter().any(short))
        && (fragment.schema.cell_order == Layout::Hilbert || !dimensions.iter().any(|d| d.cell.is_var()))
}

/// A delete, bound to the schema of the array.
#[derive(Debug)]
pub(crate) struct BoundDelete {
    time_ms: u64,
    /// The condition of the cells that it keeps.
    keep: Bound,
    /// Why it cannot be evaluated.
    untestable: Option<Malformed>,
}

impl BoundDelete {
    /// All deletes of the array.
    fn all(array: &Array) -> Vec<Self> {
        let bind = |d: &Delete| {
            let (keep, untestable) = match bind_stored(&d.keep, array.schema()) {
                Ok(keep) => (keep, None),
                Err(why) => (Bound::Always(true), Some(why)),
            };
            Self {
                time_ms: d.time_ms,
                keep,
                untestable,
            }
        };
        array.deletes().iter().map(bind).collect()
    }
}

impl SparseQuery {
    /// Resolves `query` over sparse `fragments` of `array`. In a dense array, their cells count as in a sparse
    /// array without duplicates.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if the query does not fit the schema.
    pub(crate) fn new(
        array: &Array,
        query: &Query,
        condition: Option<Bound>,
        fragments: &[Arc<Fragment>],
    ) -> Result<Self> {
        let schema = array.schema();
        let ranges = Ranges::new(&query.region, schema)?;
        let fields = Field::resolve(schema, query.fields.as_deref())?;
        let deletes = BoundDelete::all(array);
        let mut attributes: Vec<Field> = fields.iter().filter(|f| !f.is_dimension()).cloned().collect();
        for name in condition
            .iter()
            .chain(deletes.iter().map(|d| &d.keep))
            .flat_map(Bound::fields)
        {
            let field = Field::named(schema, name)?;
            if !field.is_dimension() && !attributes.contains(&field) {
                attributes.push(field);
            }
        }
        let duplicates = schema.allows_duplicates && !schema.is_dense();
        let meets = |f: &&Arc<Fragment>| {
            let apart = |d: Cow<'_, [ScalarRange]>| ranges.relation_to(&d) == Relation::Outside;
            !f.dense && f.tiles > 0 && !f.bounding_box().is_some_and(apart)
        };
        let fragments: Vec<&Arc<Fragment>> = fragments.iter().filter(meets).collect();
        let dedup = !duplicates && (fragments.len() > 1 || fragments.iter().any(|f| f.footer.has_timestamps));
        let layer = |f: &&Arc<Fragment>| SparseLayer::new(f, &attributes, array.window(), array.deletes(), dedup);
        let layers = fragments.iter().map(layer).collect();
        let (rounds, hilbert) = (schema.rounds_coordinates(), schema.cell_order == Layout::Hilbert);
        let order = match query.order {
            Layout::Unordered if !dedup => None,
            // Boxes of rounded coordinates have no least position on the curve.
            Layout::Unordered if rounds && hilbert => Some(Layout::RowMajor),
            Layout::Unordered => Some(Layout::Global),
            layout => Some(layout),
        };
        // Without deduplication, the order on disk is close enough to the Hilbert order of rounded coordinates.
        let rounded = rounds && (dedup || !hilbert);
        let trusted = !rounded && fragments.iter().all(|f| is_sorted(f));
        let order = order
            .map(|layout| ResultOrder::new(schema, layout))
            .transpose()?
            .map(|order| order.trusting_files(trusted))
            .map(Arc::new);
        let schema = Arc::clone(schema);
        Ok(Self {
            schema,
            window: array.window(),
            ranges,
            order,
            dedup,
            eager: false,
            fields,
            attributes,
            condition,
            deletes,
            processed: ProcessedDeletes::default(),
            layers,
            row_bytes: OnceLock::new(),
        })
    }

    /// The sections of each fragment's index that the query needs.
    pub(crate) fn index(&self) -> Vec<(Arc<Fragment>, Vec<Section>)> {
        let sections = |l: &SparseLayer| l.sections(self.condition.as_ref(), &self.attributes);
        self.layers
            .iter()
            .map(|l| (Arc::clone(&l.fragment), sections(l)))
            .collect()
    }

    /// The sections that say which tiles meet the region and may satisfy the condition.
    pub(crate) fn bounds(&self) -> Vec<(Arc<Fragment>, Vec<Section>)> {
        let condition = self.condition.as_ref().filter(|_| !self.dedup);
        let sections = |l: &SparseLayer| l.bounds(condition, &self.attributes);
        self.layers
            .iter()
            .map(|l| (Arc::clone(&l.fragment), sections(l)))
            .collect()
    }

    /// Hides cells that later dense fragments cover. Pairs are matched to layers by fragment name.
    pub(crate) fn hide(&mut self, masks: &[(Arc<Fragment>, Arc<OverlayMask>)]) {
        for layer in &mut self.layers {
            let mine = masks.iter().find(|(f, _)| f.name == layer.fragment.name);
            layer.mask = mine.map(|(_, mask)| Arc::clone(mask));
        }
    }

    /// The tiles that may hold cells of the result, fragment by fragment. The sections of [`SparseQuery::bounds`] must
    /// be loaded.
    ///
    /// # Errors
    /// The index of a fragment is damaged.
    pub(crate) fn candidates(&self) -> Result<Vec<Candidate>> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            layer.candidates(i, &self.ranges, &mut candidates)?;
        }
        if let Some(condition) = self.condition.as_ref().filter(|_| !self.dedup) {
            // With deduplication, a tile that fails the condition may still replace older cells that satisfy it.
            let excluded = |c: &Candidate| {
                self.layers
                    .get(c.layer)
                    .is_some_and(|l| l.excludes(condition, &self.attributes, c.tile))
            };
            candidates.retain(|c| !excluded(c));
        }
        Ok(candidates)
    }

    /// Starts the merge over the tiles of the region. The index must be loaded.
    ///
    /// # Errors
    /// The index of a fragment is damaged.
    pub(crate) fn merge_stream(&self) -> Result<MergeStream> {
        let candidates = self.candidates()?;
        let cell_bytes = if self.eager { 0 } else { self.loaded_bytes() };
        let bytes = |c: &Candidate, cells: u64| {
            let bytes = match self.layers.get(c.layer).filter(|_| self.eager) {
                Some(layer) => layer.tile_bytes(c.tile)?,
                None => cells.saturating_mul(cell_bytes),
            };
            Ok(bytes.saturating_add(TILE_BYTES))
        };
        MergeStream::new(candidates, &self.layers, self.order.clone(), self.dedup, bytes)
    }

    /// The dimensions whose coordinates are needed even for tiles entirely inside the region.
    pub(crate) fn needed_dimensions(&self) -> Vec<bool> {
        let tested = self.tested();
        let needed = |(d, dim): (usize, &Dimension)| {
            self.order.is_some()
                || self.fields.iter().any(|f| f.dimension_index() == Some(d))
                || tested.contains(&dim.name.as_str())
        };
        self.schema.dimensions.iter().enumerate().map(needed).collect()
    }

    /// Bytes per cell of the result; an estimate if cells vary in length. The index must be loaded.
    pub(crate) fn row_bytes(&self) -> u64 {
        *self.row_bytes.get_or_init(|| self.estimate_row_bytes())
    }

    fn estimate_row_bytes(&self) -> u64 {
        let fixed: u64 = self
            .attributes
            .iter()
            .chain(self.fields.iter().filter(|f| f.is_dimension()))
            .map(Field::row_bytes)
            .sum();
        let var = |l: &SparseLayer| {
            let stored = l.coordinates.iter().chain(l.attributes.iter().flatten());
            let bytes = stored.map(|s| s.var_bytes_total()).fold(0, u64::saturating_add);
            bytes.div_ceil(l.fragment.cells.max(1))
        };
        fixed
            .saturating_add(self.layers.iter().map(var).max().unwrap_or(0))
            .max(1)
    }

    /// Bytes per loaded cell in memory.
    fn loaded_bytes(&self) -> u64 {
        let dims = self.schema.dimensions.len() as u64;
        self.row_bytes().saturating_add(dims * 24 + 16)
    }

    /// Whether the tiles of each fragment are known to be in the order of the result.
    pub(crate) fn is_in_order(&self) -> bool {
        self.order.as_ref().is_some_and(|o| o.natural)
    }

    /// Whether a condition or a delete may remove cells.
    pub(crate) fn is_filtered(&self) -> bool {
        self.condition.is_some() || !self.deletes.is_empty()
    }

    /// The names of the fields that conditions test.
    pub(crate) fn tested(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for name in self
            .condition
            .iter()
            .chain(self.deletes.iter().map(|d| &d.keep))
            .flat_map(Bound::fields)
        {
            if !out.contains(&name) {
                out.push(name);
            }
        }
        out
    }

    /// The attributes that conditions test.
    pub(crate) fn tested_attributes(&self) -> Vec<usize> {
        let tested = self.tested();
        (0..self.attributes.len())
            .filter(|&i| tested.contains(&self.attributes[i].name.as_str()))
            .collect()
    }

    /// Whether attribute `i` is part of the result.
    pub(crate) fn is_wanted(&self, i: usize) -> bool {
        self.attributes
            .get(i)
            .is_some_and(|a| self.fields.iter().any(|f| f.id == a.id))
    }

    /// Whether delete `k` is left to be applied to some fragment.
    fn is_left(&self, k: usize) -> bool {
        let is_left = |l: &SparseLayer| l.deletes.get(k).is_some_and(|m| *m != DeleteMode::None);
        self.layers.iter().any(is_left)
    }

    /// Drops deletes that the fragments of `array` list as processed. The index must be loaded.
    ///
    /// # Errors
    /// A remaining delete cannot be evaluated, so the cells that it removed are unknown.
    pub(crate) fn skip_processed(&mut self, array: &Array) -> Result<()> {
        let deletes = array.deletes();
        self.layers.iter_mut().for_each(|l| l.skip_processed(deletes));
        for (k, (bound, delete)) in self.deletes.iter().zip(deletes).enumerate() {
            if let Some(why) = bound.untestable.as_ref().filter(|_| self.is_left(k)) {
                return Err(why.clone()).at_with(|| join(array.path(), &delete.path));
            }
        }
        Ok(())
    }
}
