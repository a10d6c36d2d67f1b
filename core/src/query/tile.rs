//! Locates the bytes of a fragment's tiles and decodes them into cells.

mod checksums;
mod chunk_reader;
mod input;
mod partial_tile;
mod stored;
mod stream_tile;
mod vectored_read;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::array::Fragment;
use crate::array::fragment::FieldFiles;
use crate::array::index::inconsistent;
use crate::cache::{Cache, CacheKey};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::{CellCount, Datatype};
use crate::error::{AtPath, Error, Malformed, Result};
use crate::filter::{Key, TileFormat, codes_strings, decode_offsets_tile, decode_tile, decode_var_tile};
use crate::format::cursor::Decoded;
use crate::format::field::stored_type;
use crate::format::fragment::footer::List;
use crate::format::fragment::slots::FieldId;
use crate::format::pipeline::Pipeline;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::limits;
use crate::vfs::Vfs;
pub(crate) use chunk_reader::{Buffer, Piece, copy_pieces};
pub(crate) use input::Input;
pub(crate) use partial_tile::PartialTile;
pub(crate) use stored::{Cut, StoredTile};

/// Memory overhead of a loaded tile, for a few fields together. It dominates if there are many small tiles.
pub(crate) const TILE_BYTES: u64 = 2 << 10;

/// A field as stored in one fragment.
#[derive(Debug, Clone)]
pub(crate) struct StoredField {
    pub(crate) fragment: Arc<Fragment>,
    pub(crate) id: FieldId,
    slot: usize,
    pub(crate) datatype: Datatype,
    pub(crate) cell: CellCount,
    pub(crate) nullable: bool,
    files: Arc<FieldFiles>,
}

/// A tile of a field.
#[derive(Debug, Clone)]
pub(crate) struct TileRef {
    pub(crate) field: Arc<StoredField>,
    pub(crate) tile: u64,
    pub(crate) cells: usize,
}

/// A byte range of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Extent {
    pub(crate) path: Arc<str>,
    pub(crate) range: Range<u64>,
}

impl StoredField {
    /// The field `id` of `fragment`, if the fragment has it.
    pub(crate) fn new(fragment: &Arc<Fragment>, id: FieldId) -> Option<Self> {
        let slot = fragment.slots.index(id)?;
        let (datatype, cell, nullable) = stored_type(&fragment.schema, id)?;
        Some(Self {
            files: fragment.files(id, slot, cell, nullable),
            fragment: Arc::clone(fragment),
            id,
            slot,
            datatype,
            cell,
            nullable,
        })
    }

    /// The attribute of `fragment` with this name, if its size matches the given type. If an attribute was dropped and
    /// added again with another type of the same size, its cells are read as the new type, as in libtiledb.
    pub(crate) fn of_attribute(
        fragment: &Arc<Fragment>,
        name: &str,
        datatype: Datatype,
        cell: CellCount,
    ) -> Option<Self> {
        let own = Self::new(fragment, fragment.attribute(name)?)?;
        (own.datatype.size() == datatype.size() && own.cell == cell).then_some(own)
    }

    fn pipeline<'a>(&self, schema: &'a Schema, name_of: &Schema) -> Option<&'a Pipeline> {
        match self.id {
            // Releases 2.6 and 2.7 may have given two attributes the same name.
            FieldId::Attribute(i) if std::ptr::eq(schema, name_of) => schema.attributes.get(i).map(|a| &a.filters),
            FieldId::Attribute(i) => {
                let name = &name_of.attributes.get(i)?.name;
                schema.attribute(name).map(|(_, a)| &a.filters)
            }
            // If the schema predates separate dimension files, releases 2.0 to 2.16 wrote such files with the
            // coordinate filters. Later releases wrote them unfiltered, and misread the earlier files.
            FieldId::Dimension(_) if !schema.version.has_dimension_files() => Some(&schema.coords_filters),
            FieldId::Dimension(i) => schema.dimensions.get(i).map(|d| schema.dimension_filters(d)),
            _ => Some(&schema.coords_filters),
        }
    }

    /// The filters to try if the fragment's own schema fails.
    fn other_pipeline<'a>(&self, latest: &'a Schema, own: &'a Schema) -> Option<&'a Pipeline> {
        match self.id {
            FieldId::Dimension(i) if !own.version.has_dimension_files() => own.dimensions.get(i).map(|d| &d.filters),
            _ if std::ptr::eq(own, latest) => None,
            _ => self.pipeline(latest, own),
        }
    }

    /// Its slot in the fragment's index.
    pub(crate) const fn slot(&self) -> usize {
        self.slot
    }

    /// The path of its first file.
    pub(crate) fn path(&self) -> &str {
        &self.files.fixed
    }

    fn format<'a>(&self, key: Option<&'a Key>) -> TileFormat<'a> {
        let fragment = &*self.fragment;
        let writer = fragment.index.writer();
        let (datatype, cell) = match self.id {
            FieldId::Timestamps | FieldId::DeleteTimestamps | FieldId::DeleteConditions => {
                fragment.schema.times_as(writer)
            }
            FieldId::Attribute(_) | FieldId::Dimension(_) | FieldId::Coords => (self.datatype, self.cell),
        };
        TileFormat {
            datatype,
            cell,
            version: fragment.version,
            writer,
            key,
        }
    }

    /// Unfiltered size of all its variable-length cells in bytes, as far as its index is loaded.
    pub(crate) fn var_bytes_total(&self) -> u64 {
        self.fragment.index.var_bytes_total(self.slot)
    }
}

impl TileRef {
    /// References tile number `tile` of a field.
    ///
    /// # Errors
    /// The tile is too large for this machine.
    pub(crate) fn new(field: &Arc<StoredField>, tile: u64) -> Result<Self> {
        Ok(Self {
            field: Arc::clone(field),
            tile,
            cells: field.fragment.tile_cells(tile)?,
        })
    }

    /// The cache key of the decoded tile.
    pub(crate) fn cache_key(&self) -> CacheKey {
        CacheKey {
            path: Arc::clone(&self.field.files.fixed),
            part: self.tile,
            kind: "tile",
        }
    }

    /// The cache key of the tile's stored bytes.
    fn kept_key(&self) -> CacheKey {
        CacheKey {
            kind: "stored",
            ..self.cache_key()
        }
    }

    /// The one to three extents that hold the tile.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn extents(&self) -> Result<Vec<Extent>> {
        let StoredField {
            fragment, slot, files, ..
        } = &*self.field;
        let (index, footer, slot) = (&fragment.index, &fragment.footer, *slot);
        let size = |list| footer.lists.at(list, slot).unwrap_or(0);
        let corrupt = |why: String| inconsistent(&fragment.metadata_path(), why);
        let mut out = vec![Extent {
            path: Arc::clone(&files.fixed),
            range: index
                .fixed_range(slot, self.tile, size(List::FileSizes))
                .map_err(corrupt)?,
        }];
        if let Some(var) = &files.var {
            let range = index
                .var_range(slot, self.tile, size(List::VarFileSizes))
                .map_err(corrupt)?;
            out.push(Extent {
                path: Arc::clone(var),
                range,
            });
        }
        if let Some(validity) = &files.validity {
            let range = index
                .validity_range(slot, self.tile, size(List::ValidityFileSizes))
                .map_err(corrupt)?;
            out.push(Extent {
                path: Arc::clone(validity),
                range,
            });
        }
        Ok(out)
    }

    /// Size of the decoded tile in memory, in bytes.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        let cells = self.cells as u64;
        let data = match self.field.cell.cell_bytes(self.field.datatype) {
            Some(n) => cells.saturating_mul(n as u64),
            None => self.var_bytes().unwrap_or(0).saturating_add(cells.saturating_mul(8)),
        };
        data.saturating_add(if self.field.nullable { cells } else { 0 })
    }

    /// Unfiltered size of its variable-length cells in bytes.
    pub(crate) fn var_bytes(&self) -> Option<u64> {
        self.field.fragment.index.var_bytes(self.field.slot, self.tile)
    }

    /// Decodes the cells from the bytes of the extents.
    ///
    /// A fragment is decoded by its own schema. If that fails, other filters that its writer may have used are tried,
    /// mainly the filters of the array's latest schema. Libtiledb uses no others.
    ///
    /// # Errors
    /// The tile is damaged. The error names its file.
    pub(crate) fn decode(&self, parts: &[Bytes], key: Option<&Key>, latest: &Schema) -> Result<Column> {
        let own = &*self.field.fragment.schema;
        let pipeline = self
            .field
            .pipeline(own, own)
            .ok_or_else(|| Error::invalid("the field has no filter pipeline"))?;
        match self.decode_as(parts, key, pipeline, own) {
            Err(e @ Error::Corrupt { .. }) => match self.field.other_pipeline(latest, own) {
                Some(other) if other != pipeline => self.decode_as(parts, key, other, latest).map_err(|_| e),
                _ => Err(e),
            },
            result => result,
        }
    }

    fn decode_as(&self, parts: &[Bytes], key: Option<&Key>, pipeline: &Pipeline, schema: &Schema) -> Result<Column> {
        let field = &*self.field;
        let FieldFiles { fixed, var, validity } = &*field.files;
        let part = |i: usize| parts.get(i).map_or(&[][..], |b| &b[..]);
        let cells = self.cells as u64;
        let plain = |datatype| TileFormat {
            datatype,
            cell: CellCount::ONE,
            ..self.field.format(key)
        };
        let (data, offsets) = match field.cell.cell_bytes(field.datatype) {
            Some(width) => (
                decode_tile(part(0), pipeline, &self.field.format(key), self.expected(width, fixed)?).at(fixed)?,
                None,
            ),
            None => {
                let var = var.as_deref().unwrap_or_default();
                let bytes = self.var_bytes().ok_or_else(|| {
                    inconsistent(
                        &field.fragment.metadata_path(),
                        format!("the size of tile {} is missing", self.tile),
                    )
                })?;
                let mut format = self.field.format(key);
                // Arrays that predate string coding may contain coded strings written by later releases. The only sign
                // of it is an empty tile of offsets.
                if cells > 0 && part(0) == [0; 8] {
                    format.version = Version::CURRENT;
                }
                let (data, starts) =
                    decode_var_tile(part(1), pipeline, &format, limited(bytes, var)?, cells).at(var)?;
                let starts = match starts {
                    Some(starts) => starts,
                    None if codes_strings(pipeline, &format) => {
                        return Err(corrupt(var, "the tile lacks the offsets of its strings"));
                    }
                    None => {
                        let (filters, format) = (&schema.offsets_filters, plain(Datatype::Uint64));
                        decode_offsets_tile(part(0), filters, &format, cells).at(fixed)?
                    }
                };
                let value_bytes = field.datatype.size();
                let offsets = checked_offsets(starts, self.cells, data.len(), value_bytes).at(fixed)?;
                (data, Some(offsets))
            }
        };
        let last = parts.len().saturating_sub(1);
        let validity = match validity {
            Some(path) => {
                Some(decode_tile(part(last), &schema.validity_filters, &plain(Datatype::Uint8), cells).at(path)?)
            }
            None => None,
        };
        Ok(Column {
            datatype: field.datatype,
            cell: field.cell,
            data,
            offsets,
            validity,
        })
    }

    /// Reads the bytes of its extents from a store that allows blocking reads.
    fn read(&self, d: &Decoding) -> Result<Vec<Bytes>> {
        let local_reads = crate::vfs::local_reads(&*d.vfs)
            .ok_or_else(|| Error::invalid("the store does not support blocking reads"))?;
        let read = |e: &Extent| {
            let file = local_reads.open(&e.path)?;
            if e.range.end > file.size() {
                return Err(crate::vfs::too_short(&e.path, &e.range, file.size()));
            }
            let mut bytes = vec![0; (e.range.end - e.range.start) as usize];
            file.read_at(&mut bytes, e.range.start)?;
            Ok(Bytes::from(bytes))
        };
        self.extents()?.iter().map(read).collect()
    }

    fn expected(&self, width: usize, path: &str) -> Result<u64> {
        limited((self.cells as u64).saturating_mul(width as u64), path)
    }
}

/// The context of decoding.
#[derive(Clone)]
pub(crate) struct Decoding {
    pub(crate) cpu: Cpu,
    pub(crate) key: Option<Key>,
    pub(crate) latest: Arc<Schema>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) vfs: Arc<dyn Vfs>,
}

impl std::fmt::Debug for Decoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoding")
            .field("cpu", &self.cpu)
            .finish_non_exhaustive()
    }
}

fn limited(bytes: u64, path: &str) -> Result<u64> {
    if bytes <= limits::TILE_BYTES_MAX {
        return Ok(bytes);
    }
    Err(Error::LimitExceeded {
        what: format!("{path}: bytes of a tile"),
        found: bytes,
        limit: limits::TILE_BYTES_MAX,
    })
}

fn corrupt(path: &str, why: &str) -> Error {
    Error::Corrupt {
        path: path.to_owned(),
        malformed: Malformed::new("tile", 0, why),
    }
}

/// Checks the start offsets of `cells` cells, which must not split values, and appends the end of the last cell.
fn checked_offsets(mut starts: Vec<u64>, cells: usize, data_bytes: usize, value_bytes: usize) -> Decoded<Vec<u64>> {
    let bad = |why: String| Err(Malformed::new("offsets tile", 0, why));
    if starts.len() != cells {
        return bad(format!("{} offsets for {cells} cells", starts.len()));
    }
    starts.push(data_bytes as u64);
    if starts.first() != Some(&0) && cells > 0 {
        return bad(format!(
            "the first cell starts at byte {}, not at 0",
            starts.first().copied().unwrap_or(0)
        ));
    }
    if starts.windows(2).any(|w| w[0] > w[1]) {
        return bad(format!(
            "the offsets do not ascend within the {data_bytes} bytes of the tile"
        ));
    }
    if value_bytes > 1 && starts.iter().any(|s| !s.is_multiple_of(value_bytes as u64)) {
        return bad(format!("the offsets split values of {value_bytes} bytes"));
    }
    Ok(starts)
}

/// Splits a tile of `__coords` into one column per dimension.
pub(crate) fn split_coordinates(tile: &Column, fragment: &Fragment) -> Vec<Column> {
    let dims = &fragment.schema.dimensions;
    let interleaved = !fragment.version.has_split_coordinates() && !has_compressor(&fragment.schema.coords_filters);
    let width = tile.datatype.size();
    let cells = tile.len();
    let column = |d: usize| {
        let data = if interleaved {
            tile.data
                .chunks_exact(width)
                .skip(d)
                .step_by(dims.len())
                .flatten()
                .copied()
                .collect()
        } else {
            tile.data
                .get(d * cells * width..(d + 1) * cells * width)
                .unwrap_or(&[])
                .to_vec()
        };
        Column {
            datatype: dims[d].datatype,
            cell: CellCount::ONE,
            data,
            offsets: None,
            validity: None,
        }
    };
    (0..dims.len()).map(column).collect()
}

/// Whether the pipeline compresses. If so, the oldest format version splits coordinates by dimension.
fn has_compressor(pipeline: &Pipeline) -> bool {
    use crate::format::pipeline::Filter;
    pipeline.filters.iter().any(|f| {
        matches!(
            f,
            Filter::Gzip { .. }
                | Filter::Zstd { .. }
                | Filter::Lz4 { .. }
                | Filter::Rle { .. }
                | Filter::Bzip2 { .. }
                | Filter::DoubleDelta { .. }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_checked_and_get_an_end() {
        assert_eq!(checked_offsets(vec![0, 2, 2], 3, 5, 1).unwrap(), [0, 2, 2, 5]);
        assert_eq!(checked_offsets(vec![], 0, 0, 1).unwrap(), [0]);
        assert!(checked_offsets(vec![0, 6], 2, 5, 1).is_err());
        assert!(checked_offsets(vec![0, 3, 2], 3, 5, 1).is_err());
        assert!(checked_offsets(vec![1], 1, 5, 1).is_err());
        assert!(checked_offsets(vec![0], 2, 5, 1).is_err());
        assert!(checked_offsets(vec![0, 2], 2, 4, 2).is_ok());
        assert!(checked_offsets(vec![0, 1], 2, 4, 2).is_err());
        assert!(checked_offsets(vec![0, 2], 2, 5, 2).is_err());
    }
}
