//! An open fragment: its name, its footer, and the sections of its metadata, loaded on demand.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::directory::FragmentRef;
use super::index::{Index, Section};
use super::window::Window;
use crate::datatype::CellCount;
use crate::error::{Error, Result};
use crate::format::data_file::{FRAGMENT_METADATA, FieldFile, file_name};
use crate::format::fragment::footer::Footer;
use crate::format::fragment::rtree::last_string;
use crate::format::fragment::slots::{FieldId, Slots};
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::geometry::{Grid, Span, TileBox, region};
use crate::scalar::{Scalar, ScalarRange};
use crate::vfs::join;

/// A visible fragment of an array.
#[derive(Debug)]
pub struct Fragment {
    /// Name of its folder.
    pub name: String,
    /// Path of its folder, from the root of the store.
    pub path: String,
    /// The time of its first write, in milliseconds since 1970.
    pub start_ms: u64,
    /// The time of its last write, in milliseconds since 1970.
    pub end_ms: u64,
    /// Format version of the fragment.
    pub version: Version,
    /// Whether it is dense, that is, stores whole tiles instead of coordinates.
    pub dense: bool,
    /// Number of cells: the cells in the non-empty domain if dense, the stored cells if sparse. Includes deleted cells
    /// and overwritten values in a consolidated fragment.
    pub cells: u64,
    /// Number of tiles of each field.
    pub tiles: u64,
    /// Total size of its data files in bytes.
    pub bytes: u64,
    /// The schema that it was written with.
    pub schema: Arc<Schema>,
    pub(crate) footer: Arc<Footer>,
    pub(crate) slots: Slots,
    pub(crate) index: Index,
    /// Number of cells in each tile, except the last tile of a sparse fragment.
    tile_cells: u64,
    files: OnceLock<Vec<OnceLock<Arc<FieldFiles>>>>,
}

/// Paths of a field's data files.
#[derive(Debug)]
pub(crate) struct FieldFiles {
    /// Fixed-size values, or the offsets of variable-length values.
    pub(crate) fixed: Arc<str>,
    /// Variable-length values, if the field has them.
    pub(crate) var: Option<Arc<str>>,
    /// Validity, if the field is nullable.
    pub(crate) validity: Option<Arc<str>>,
}

impl Fragment {
    /// A fragment of the array at `array`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the footer is inconsistent with the schema.
    pub(crate) fn new(
        array: &str,
        name: FragmentRef,
        footer: Arc<Footer>,
        index: Index,
        schema: Arc<Schema>,
    ) -> Result<Self> {
        let path = join(array, &name.path);
        let slots = Slots::new(
            footer.version,
            &schema,
            footer.has_timestamps,
            footer.has_delete_metadata,
        );
        let corrupt = |why: &str| super::index::inconsistent(&join(&path, FRAGMENT_METADATA), why);
        let mut tiles = footer.sparse_tiles;
        let (cells, tile_cells);
        if footer.dense {
            let grid = Grid::new(&schema)?;
            let domain = footer.non_empty_domain.as_deref();
            let spans = domain
                .map(|d| grid.spans(d))
                .transpose()
                .map_err(|e| corrupt(&e.to_string()))?;
            cells = spans.as_deref().map_or(0, |s| region::cells(s).unwrap_or(u64::MAX));
            let tile_box = spans.map(|s| grid.tiles(&s));
            tiles = tile_box
                .as_ref()
                .map_or(Some(0), TileBox::count)
                .ok_or_else(|| corrupt("more tiles than can be counted"))?;
            tile_cells = grid.tile_cells().unwrap_or(u64::MAX);
        } else {
            tile_cells = schema.capacity;
            let last = if footer.last_tile_cells == 0 {
                schema.capacity
            } else {
                footer.last_tile_cells
            };
            cells = if tiles == 0 {
                0
            } else {
                (tiles - 1).saturating_mul(schema.capacity).saturating_add(last)
            };
        }
        let bytes = footer.lists.sizes().iter().fold(0_u64, |a, b| a.saturating_add(*b));
        Ok(Self {
            name: name.name,
            path,
            start_ms: name.start_ms,
            end_ms: name.end_ms,
            version: footer.version,
            dense: footer.dense,
            cells,
            tiles,
            bytes,
            schema,
            footer,
            slots,
            index: index.of_tiles(tiles),
            tile_cells,
            files: OnceLock::new(),
        })
    }

    /// Whether the window covers only part of its time range. Its cells have their own timestamps, so some may be
    /// outside.
    pub(crate) fn is_partly_within(&self, window: Window) -> bool {
        self.footer.has_timestamps && (self.start_ms < window.start_ms || self.end_ms > window.end_ms)
    }

    /// The bounding box of its cells.
    pub fn non_empty_domain(&self) -> Option<&[ScalarRange]> {
        self.footer.non_empty_domain.as_deref()
    }

    /// The bounding box of its cells in the grid of a dense array.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the box is not inside the domain.
    pub(crate) fn spans(&self, grid: &Grid) -> Result<Option<Vec<Span>>> {
        self.non_empty_domain().map(|domain| grid.spans(domain)).transpose()
    }

    /// A box that covers all its cells: the non-empty domain, widened if the fragment is from a release that wrote
    /// incomplete boxes.
    pub(crate) fn bounding_box(&self) -> Option<Cow<'_, [ScalarRange]>> {
        let stored = self.non_empty_domain()?;
        if self.version.has_sound_string_boxes() {
            return Some(Cow::Borrowed(stored));
        }
        let bounds = |range: &ScalarRange| match (&range.lo, &range.hi) {
            (Scalar::Bytes(lo), Scalar::Bytes(hi)) => ScalarRange {
                lo: Scalar::Bytes(lo.clone()),
                hi: Scalar::Bytes(last_string(lo, hi, self.version).to_vec()),
            },
            _ => range.clone(),
        };
        Some(stored.iter().map(bounds).collect())
    }

    /// The paths of the files of field `id` at `slot`, built on first use.
    pub(crate) fn files(&self, id: FieldId, slot: usize, cell: CellCount, nullable: bool) -> Arc<FieldFiles> {
        let path = |part| Arc::from(join(&self.path, &file_name(&self.schema, self.version, id, part)));
        let make = || {
            Arc::new(FieldFiles {
                fixed: path(FieldFile::Fixed),
                var: cell.is_var().then(|| path(FieldFile::Var)),
                validity: nullable.then(|| path(FieldFile::Validity)),
            })
        };
        let all = self
            .files
            .get_or_init(|| (0..self.slots.len()).map(|_| OnceLock::new()).collect());
        all.get(slot)
            .map_or_else(make, |files| Arc::clone(files.get_or_init(make)))
    }

    /// Path of the fragment metadata file.
    pub(crate) fn metadata_path(&self) -> String {
        join(&self.path, FRAGMENT_METADATA)
    }

    /// The attribute with this name, if the fragment has it.
    pub(crate) fn attribute(&self, name: &str) -> Option<FieldId> {
        self.schema.attribute(name).map(|(i, _)| FieldId::Attribute(i))
    }

    /// The fields that store coordinates.
    pub(crate) fn coordinates(&self) -> Vec<FieldId> {
        if self.version.has_dimension_files() {
            (0..self.schema.dimensions.len()).map(FieldId::Dimension).collect()
        } else {
            vec![FieldId::Coords]
        }
    }

    /// All fields with data files.
    pub(crate) fn stored_fields(&self) -> Vec<FieldId> {
        let stored = |f: &FieldId| match f {
            FieldId::Attribute(_) => true,
            FieldId::Coords => !self.dense && !self.version.has_dimension_files(),
            FieldId::Dimension(_) => !self.dense,
            FieldId::Timestamps | FieldId::DeleteTimestamps | FieldId::DeleteConditions => true,
        };
        self.slots.fields().filter(stored).collect()
    }

    /// The sections that locate the tiles of these fields.
    pub(crate) fn sections(&self, fields: &[FieldId]) -> Vec<Section> {
        let mut out = Vec::new();
        for &field in fields {
            let Some(slot) = self.slots.index(field) else { continue };
            out.push(Section::TileOffsets(slot));
            let (var, nullable) = match field {
                FieldId::Attribute(i) => self
                    .schema
                    .attributes
                    .get(i)
                    .map_or((false, false), |a| (a.cell.is_var(), a.nullable)),
                FieldId::Dimension(i) => (self.schema.dimensions.get(i).is_some_and(|d| d.cell.is_var()), false),
                _ => (false, false),
            };
            if var {
                out.extend([Section::VarOffsets(slot), Section::VarSizes(slot)]);
            }
            if nullable {
                out.push(Section::ValidityOffsets(slot));
            }
        }
        out
    }

    /// Number of cells in a tile.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the tile has too many cells for this machine.
    pub(crate) fn tile_cells(&self, tile: u64) -> Result<usize> {
        let last = self.footer.last_tile_cells;
        let is_last = !self.dense && tile + 1 == self.tiles;
        let cells = if is_last && last != 0 { last } else { self.tile_cells };
        usize::try_from(cells)
            .ok()
            .filter(|&n| n < u32::MAX as usize)
            .ok_or_else(|| Error::LimitExceeded {
                what: format!(
                    "{}: cells in a tile (the schema or the fragment's metadata may be damaged)",
                    self.path
                ),
                found: cells,
                limit: u64::from(u32::MAX),
            })
    }
}
