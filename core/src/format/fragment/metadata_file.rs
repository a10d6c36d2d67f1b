//! Encodes the `__fragment_metadata.tdb` file of a new fragment.
//!
//! ```text
//! R-tree | tile offsets | var offsets | var sizes | validity offsets | minima | maxima | sums | null counts
//! | fragment statistics | processed conditions | footer | size of the footer u64
//! ```
//!
//! Each section except the footer is a generic tile, or one generic tile per slot.

use std::collections::BTreeMap;

use super::footer::{Footer, FooterLists, List, SectionOffsets};
use super::rtree::RTree;
use super::slots::{FieldId, Slots};
use super::stats::{FieldStats, TileValues};
use super::{conditions, tile_index};
use crate::error::Malformed;
use crate::filter::{Key, Nonces};
use crate::format::generic_tile;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// The metadata of a new fragment.
#[derive(Debug, Clone, PartialEq)]
pub struct FragmentMetadata {
    /// Format version of the fragment.
    pub version: Version,
    /// File name of the schema.
    pub schema_name: String,
    /// Whether the fragment is dense.
    pub dense: bool,
    /// The bounding box of the cells, not expanded to tiles.
    pub non_empty_domain: Vec<ScalarRange>,
    /// Number of tiles of each field.
    pub tiles: u64,
    /// Number of cells in the last tile of a sparse fragment, or in every tile of a dense fragment.
    pub last_tile_cells: u64,
    /// The R-tree over the tiles; [`RTree::dense`] for dense fragments.
    pub rtree: RTree,
    /// The fields that have data files. Other slots are filled like libtiledb fills them.
    pub fields: BTreeMap<FieldId, FieldMetadata>,
    /// Paths of the delete commits already applied, such as `__commits/…_22.del`, oldest first.
    pub processed_conditions: Vec<String>,
}

/// The metadata of one field. Lists that do not apply are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldMetadata {
    /// Offset of each tile in the field's file (of values, or of offsets if cells have variable length).
    pub tile_offsets: Vec<u64>,
    /// Offset of each tile in the file of variable-length values.
    pub tile_var_offsets: Vec<u64>,
    /// Unfiltered size of each tile of variable-length values, in bytes.
    pub tile_var_sizes: Vec<u64>,
    /// Offset of each tile in the validity file.
    pub tile_validity_offsets: Vec<u64>,
    /// The smallest value of each tile.
    pub mins: TileValues,
    /// The largest value of each tile.
    pub maxs: TileValues,
    /// The sum of each tile, as the bits of an `i64`, `u64` or `f64`.
    pub sums: Vec<u64>,
    /// Number of null cells in each tile.
    pub null_counts: Vec<u64>,
    /// Statistics of the whole fragment.
    pub stats: FieldStats,
    /// Size of the field's file in bytes.
    pub file_bytes: u64,
    /// Size of the file of variable-length values in bytes.
    pub var_file_bytes: u64,
    /// Size of the validity file in bytes.
    pub validity_file_bytes: u64,
}

impl FragmentMetadata {
    /// Encodes the file.
    ///
    /// # Errors
    /// A key is given, but no nonces.
    pub fn encode(&self, schema: &Schema, key: Option<&Key>, nonces: &Nonces) -> Result<Vec<u8>, Malformed> {
        let v = self.version;
        let slots = self.slots(schema);
        let unused = FieldMetadata::default();
        let coords = self.coords(schema);
        let field = |id: FieldId| match self.fields.get(&id) {
            Some(field) => field,
            None if id == FieldId::Coords => &coords,
            None => &unused,
        };
        let fields: Vec<&FieldMetadata> = slots.fields().map(field).collect();
        let mut file = Sections {
            bytes: Vec::new(),
            same: BTreeMap::new(),
            key,
            nonces,
        };
        let var = slots.var_len();
        let mut lists = FooterLists::default();
        lists.add(List::FileSizes, fields.iter().map(|f| f.file_bytes));
        lists.add(List::VarFileSizes, fields.iter().take(var).map(|f| f.var_file_bytes));
        if v.has_validity() {
            lists.add(List::ValidityFileSizes, fields.iter().map(|f| f.validity_file_bytes));
        }
        let mut sections = SectionOffsets {
            rtree: file.append(self.rtree.encode(schema, v))?,
            ..SectionOffsets::default()
        };
        let index = |list: &[u64]| {
            if list.is_empty() {
                tile_index::encode(&vec![0; self.tiles as usize])
            } else {
                tile_index::encode(list)
            }
        };
        let with_var = || fields.iter().take(var);
        let var_offsets = with_var().map(|f| index(&f.tile_var_offsets));
        let var_sizes = with_var().map(|f| index(&f.tile_var_sizes));
        lists.add(
            List::TileOffsets,
            file.append_all(fields.iter().map(|f| index(&f.tile_offsets)))?,
        );
        lists.add(List::TileVarOffsets, file.append_all(var_offsets)?);
        lists.add(List::TileVarSizes, file.append_all(var_sizes)?);
        if v.has_validity() {
            let offsets = fields.iter().map(|f| index(&f.tile_validity_offsets));
            lists.add(List::TileValidityOffsets, file.append_all(offsets)?);
        }
        if v.has_tile_statistics() {
            let sums = fields.iter().map(|f| tile_index::encode(&f.sums));
            let null_counts = fields.iter().map(|f| tile_index::encode(&f.null_counts));
            lists.add(List::TileMins, file.append_all(fields.iter().map(|f| f.mins.encode()))?);
            lists.add(List::TileMaxs, file.append_all(fields.iter().map(|f| f.maxs.encode()))?);
            lists.add(List::TileSums, file.append_all(sums)?);
            lists.add(List::TileNullCounts, file.append_all(null_counts)?);
        }
        if v.has_fragment_statistics() {
            sections.fragment_stats = Some(file.append(FieldStats::encode_all(fields.iter().map(|f| &f.stats)))?);
        }
        if v.has_delete_metadata() {
            // Version 15 has this section, but no field for its offset in the footer.
            sections.processed_conditions = Some(file.append(conditions::encode(&self.processed_conditions))?);
        }
        let footer = self.footer(&slots, lists, sections).encode(schema);
        let mut bytes = file.bytes;
        bytes.extend_from_slice(&footer);
        if Footer::has_length(v, schema) {
            bytes.extend_from_slice(&(footer.len() as u64).to_le_bytes());
        }
        Ok(bytes)
    }

    fn slots(&self, schema: &Schema) -> Slots {
        let has = |id| self.fields.contains_key(&id);
        Slots::new(
            self.version,
            schema,
            has(FieldId::Timestamps),
            has(FieldId::DeleteTimestamps),
        )
    }

    /// The values that libtiledb writes for the unused slot of `__coords`: zeros. Per tile, one coordinate of the first
    /// dimension's type for each dimension; for the fragment, a single one.
    fn coords(&self, schema: &Schema) -> FieldMetadata {
        let Some(first) = schema.dimensions.first() else {
            return FieldMetadata::default();
        };
        let cell = vec![0; schema.dimensions.len() * first.datatype.size()];
        let one = vec![0; first.datatype.size()];
        let values = TileValues::fixed(cell.repeat(self.tiles as usize));
        let sums = if first.cell.is_var() {
            Vec::new()
        } else {
            vec![0; self.tiles as usize]
        };
        FieldMetadata {
            mins: values.clone(),
            maxs: values,
            sums,
            stats: FieldStats {
                min: one.clone(),
                max: one,
                ..FieldStats::default()
            },
            ..FieldMetadata::default()
        }
    }

    fn footer(&self, slots: &Slots, lists: FooterLists, sections: SectionOffsets) -> Footer {
        let v = self.version;
        Footer {
            version: v,
            schema_name: v.has_schema_folder().then(|| self.schema_name.clone()),
            dense: self.dense,
            non_empty_domain: Some(self.non_empty_domain.clone()),
            sparse_tiles: if self.dense { 0 } else { self.tiles },
            last_tile_cells: self.last_tile_cells,
            has_timestamps: slots.index(FieldId::Timestamps).is_some(),
            has_delete_metadata: slots.index(FieldId::DeleteTimestamps).is_some(),
            lists,
            sections,
        }
    }
}

/// The sections before the footer.
struct Sections<'a> {
    bytes: Vec<u8>,
    /// Encoded tiles by payload. Most slots are unused and have equal payloads.
    same: BTreeMap<Vec<u8>, Vec<u8>>,
    key: Option<&'a Key>,
    nonces: &'a Nonces,
}

impl Sections<'_> {
    /// Appends a payload as a generic tile and returns its offset.
    fn append(&mut self, payload: Vec<u8>) -> Result<u64, Malformed> {
        let at = self.bytes.len() as u64;
        if let Some(tile) = self.same.get(&payload) {
            self.bytes.extend_from_slice(tile);
            return Ok(at);
        }
        let tile = generic_tile::encode(&payload, self.key, self.nonces)?;
        self.bytes.extend_from_slice(&tile);
        // Encrypted tiles are never reused, because each needs its own nonce.
        if self.key.is_none() {
            self.same.insert(payload, tile);
        }
        Ok(at)
    }

    fn append_all(&mut self, payloads: impl Iterator<Item = Vec<u8>>) -> Result<Vec<u64>, Malformed> {
        payloads.map(|payload| self.append(payload)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::fragment::rtree::Level;
    use crate::format::schema::{ArrayType, Attribute, Dimension};

    fn schema() -> Schema {
        let dimensions = vec![
            Dimension::string("s"),
            Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32),
        ];
        Schema::new(
            ArrayType::Sparse,
            dimensions,
            vec![Attribute::new("a", Datatype::Int64, CellCount::ONE)],
        )
    }

    fn metadata(version: u32, schema: &Schema) -> FragmentMetadata {
        let domain = vec![ScalarRange::new("a", "c"), ScalarRange::new(1_i32, 2_i32)];
        let mut leaves = Level::new(schema);
        leaves.push(&domain);
        leaves.push(&domain);
        let values = TileValues::fixed([5_i64.to_le_bytes(), 6_i64.to_le_bytes()].concat());
        let a = FieldMetadata {
            tile_offsets: vec![0, 40],
            mins: values.clone(),
            maxs: values,
            sums: vec![9, 9],
            file_bytes: 80,
            ..FieldMetadata::default()
        };
        let timestamps = FieldMetadata {
            tile_offsets: vec![0, 7],
            file_bytes: 14,
            ..FieldMetadata::default()
        };
        FragmentMetadata {
            version: Version::new(version).unwrap(),
            schema_name: "__1_1_x".into(),
            dense: false,
            non_empty_domain: domain,
            tiles: 2,
            last_tile_cells: 1,
            rtree: RTree::build(leaves),
            fields: [(FieldId::Attribute(0), a), (FieldId::Timestamps, timestamps)].into(),
            processed_conditions: vec!["__commits/d.del".into()],
        }
    }

    #[test]
    fn the_footer_locates_all_sections() {
        let schema = schema();
        for version in [7, 11, 12, 15, 22] {
            let m = metadata(version, &schema);
            let mut m = m;
            if !m.version.has_timestamps() {
                m.fields.remove(&FieldId::Timestamps);
            }
            let file = m.encode(&schema, None, &Nonces::none()).unwrap();
            let range = Footer::locate(m.version, &schema, file.len() as u64, &file).unwrap();
            let footer = Footer::decode(&file[range.start as usize..range.end as usize], &schema, m.version).unwrap();
            assert_eq!((footer.sparse_tiles, footer.has_timestamps), (2, version >= 14));
            let section = |at: u64| generic_tile::decode(&file[at as usize..], None).unwrap().0;
            let (s, lists) = (&footer.sections, &footer.lists);
            let at = |list, slot| lists.at(list, slot).unwrap();
            assert_eq!(RTree::decode(&section(s.rtree), &schema, m.version).unwrap(), m.rtree);
            assert_eq!(tile_index::decode(&section(at(List::TileOffsets, 0))).unwrap(), [0, 40]);
            assert_eq!(tile_index::decode(&section(at(List::TileVarSizes, 3))).unwrap(), [0, 0]);
            if m.version.has_tile_statistics() {
                assert_eq!(
                    TileValues::decode(&section(at(List::TileMaxs, 0))).unwrap(),
                    m.fields[&FieldId::Attribute(0)].maxs
                );
                assert_eq!(
                    TileValues::decode(&section(at(List::TileMins, 1))).unwrap(),
                    TileValues::fixed(vec![0; 4])
                );
            }
            if let Some(at) = s.fragment_stats.filter(|_| version > 11) {
                let stats = FieldStats::decode_all(&section(at), lists.get(List::FileSizes).len()).unwrap();
                assert_eq!(stats[1].min, [0]);
            }
            if let Some(at) = s.processed_conditions {
                assert_eq!(conditions::decode(&section(at)).unwrap(), m.processed_conditions);
            }
        }
    }
}
