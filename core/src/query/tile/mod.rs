//! Locates the bytes of a fragment's tiles and decodes them into cells.

mod checksums;
mod chunk_reader;
pub(crate) mod fetched;
mod input;
mod partial_tile;
mod stored;
mod stored_field;
mod stream_tile;
mod vectored_read;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::array::Fragment;
use crate::array::fragment::FieldFiles;
use crate::array::index::inconsistent;
use crate::cache::{Cache, CacheKey, Reuse};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::{CellCount, Datatype};
use crate::error::{AtPath, Error, Malformed, Result};
use crate::filter::{Key, TileFormat, codes_strings, decode_offsets_tile, decode_tile, decode_var_tile};
use crate::format::cursor::Decoded;
use crate::format::fragment::footer::List;
use crate::format::pipeline::Pipeline;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::limits;
pub(crate) use chunk_reader::{Buffer, OutputPiece, copy_pieces};
pub(crate) use input::{FetchList, Input, TileFiles};
pub(crate) use partial_tile::PartialTile;
pub(crate) use stored::{Cut, StoredTile};
pub(crate) use stored_field::StoredField;

/// Memory overhead of a loaded tile, for a few fields together. It dominates if there are many small tiles.
pub(crate) const TILE_BYTES: u64 = 2 << 10;

/// Whether stored tiles may be in files. In web pages they are always in memory, and the compiler drops the code for
/// files.
const HAS_FILES: bool = !cfg!(target_family = "wasm");

/// A tile of a field.
#[derive(Debug, Clone)]
pub(crate) struct TileRef {
    pub(crate) field: Arc<StoredField>,
    pub(crate) tile: u64,
    pub(crate) cells: usize,
}

/// A tile and the one to three extents that hold it.
#[derive(Debug)]
pub(crate) struct LocatedTile {
    pub(crate) tile: TileRef,
    pub(crate) extents: Vec<Extent>,
}

/// A byte range of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Extent {
    pub(crate) path: Arc<str>,
    pub(crate) range: Range<u64>,
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
    fn stored_key(&self) -> CacheKey {
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

    /// The tile with its extents.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn located(self) -> Result<LocatedTile> {
        let extents = self.extents()?;
        Ok(LocatedTile { tile: self, extents })
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
    fn decode(&self, parts: &[Bytes], key: Option<&Key>, latest: &Schema) -> Result<Column> {
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

    fn expected(&self, width: usize, path: &str) -> Result<u64> {
        limited((self.cells as u64).saturating_mul(width as u64), path)
    }
}

impl LocatedTile {
    /// Decodes the cells.
    ///
    /// # Errors
    /// The tile is damaged or cannot be read. The error names its file.
    pub(crate) fn decode(&self, files: &dyn TileFiles, key: Option<&Key>, latest: &Schema) -> Result<Column> {
        let read = |extent: &Extent| {
            let file = files.open(extent)?;
            if let Some(bytes) = file.held(extent.range.clone()) {
                return Ok(bytes);
            }
            let mut bytes = vec![0; (extent.range.end - extent.range.start) as usize];
            file.read_at(&mut bytes, extent.range.start)?;
            Ok(Bytes::from(bytes))
        };
        let parts: Vec<Bytes> = self.extents.iter().map(read).collect::<Result<_>>()?;
        self.tile.decode(&parts, key, latest)
    }

    /// Caches the stored bytes if they are in memory.
    fn cache_stored(&self, d: &Decoding) {
        let key = self.tile.stored_key();
        if d.cache.get::<Vec<Bytes>>(&key).is_some() {
            return;
        }
        let held = |e: &Extent| d.files.open(e).ok()?.held(e.range.clone());
        if let Some(parts) = self.extents.iter().map(held).collect::<Option<Vec<Bytes>>>() {
            let bytes = parts.iter().map(|p| p.len() as u64).sum();
            d.cache.insert(key, Arc::new(parts), bytes, Reuse::Likely);
        }
    }
}

/// The context of decoding.
#[derive(Clone)]
pub(crate) struct Decoding {
    pub(crate) cpu: Cpu,
    pub(crate) key: Option<Key>,
    pub(crate) latest: Arc<Schema>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) files: Arc<dyn TileFiles>,
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
