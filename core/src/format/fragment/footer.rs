//! The footer of fragment metadata: describes the fragment and locates the other sections.
//!
//! ```text
//! version u32 | since 10: schema name str64 | dense u8 | null domain flag u8 | non-empty domain
//! | sparse tiles u64 | cells in the last tile u64 | since 14: timestamps u8 | since 15: delete metadata u8
//! | per slot, u64: file sizes, var file sizes, since 7: validity file sizes
//! | R-tree offset u64
//! | per slot, u64: offsets of the sections of tile offsets, var offsets, var sizes, since 7: validity offsets,
//!                  since 11: minima, maxima, sums, null counts
//! | since 12: offset of the fragment's statistics u64 | since 16: of the processed conditions u64
//! ```
//!
//! The footer is followed by its size as a `u64`: since version 10 always, before that only if a dimension holds
//! strings.

use std::ops::Range;

use super::slots::Slots;
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader, Writer};
use crate::format::schema::{Dimension, Schema};
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// Footer of a fragment. Offsets are in bytes from the start of the metadata file. Lists are indexed by field slot (see
/// [`super::slots`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Footer {
    /// Format version of the fragment.
    pub version: Version,
    /// File name of the schema that the fragment was written with; `None` before version 10.
    pub schema_name: Option<String>,
    /// Whether the fragment is dense.
    pub dense: bool,
    /// The bounding box of the cells; `None` if the null domain flag is set.
    pub non_empty_domain: Option<Vec<ScalarRange>>,
    /// Number of tiles of a sparse fragment; 0 for dense fragments.
    pub sparse_tiles: u64,
    /// Number of cells in the last tile of a sparse fragment, or in every tile of a dense fragment.
    pub last_tile_cells: u64,
    /// Whether each cell has a timestamp.
    pub has_timestamps: bool,
    /// Whether each cell has a delete timestamp and a delete condition.
    pub has_delete_metadata: bool,
    /// The per-field lists.
    pub lists: FooterLists,
    /// Offsets of the sections that are not per field.
    pub sections: SectionOffsets,
}

/// A list in the footer, with one number for each field slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// Size of the field's file in bytes: values, or offsets if cells have variable length.
    FileSizes,
    /// Size of the field's file of variable-length values in bytes.
    VarFileSizes,
    /// Size of the field's validity file in bytes.
    ValidityFileSizes,
    /// Offset of the section of tile offsets.
    TileOffsets,
    /// Offset of the section of variable-length tile offsets.
    TileVarOffsets,
    /// Offset of the section of unfiltered sizes of variable-length tiles.
    TileVarSizes,
    /// Offset of the section of validity tile offsets.
    TileValidityOffsets,
    /// Offset of the section of tile minima.
    TileMins,
    /// Offset of the section of tile maxima.
    TileMaxs,
    /// Offset of the section of tile sums.
    TileSums,
    /// Offset of the section of tile null counts.
    TileNullCounts,
}

impl List {
    /// The lists of file sizes, in file order.
    const SIZES: [Self; 3] = [Self::FileSizes, Self::VarFileSizes, Self::ValidityFileSizes];
    /// The lists of section offsets, in file order.
    const SECTIONS: [Self; 8] = [
        Self::TileOffsets,
        Self::TileVarOffsets,
        Self::TileVarSizes,
        Self::TileValidityOffsets,
        Self::TileMins,
        Self::TileMaxs,
        Self::TileSums,
        Self::TileNullCounts,
    ];

    /// Length of the list; 0 if the version does not have it.
    fn len(self, version: Version, slots: &Slots) -> usize {
        let present = match self {
            Self::FileSizes | Self::TileOffsets => true,
            Self::VarFileSizes | Self::TileVarOffsets | Self::TileVarSizes => return slots.var_len(),
            Self::ValidityFileSizes | Self::TileValidityOffsets => version.has_validity(),
            Self::TileMins | Self::TileMaxs | Self::TileSums | Self::TileNullCounts => version.has_tile_statistics(),
        };
        if present { slots.len() } else { 0 }
    }

    const fn what(self) -> &'static str {
        match self {
            Self::FileSizes => "file sizes",
            Self::VarFileSizes => "var file sizes",
            Self::ValidityFileSizes => "validity file sizes",
            Self::TileOffsets => "offsets of tile offsets",
            Self::TileVarOffsets => "offsets of var tile offsets",
            Self::TileVarSizes => "offsets of var tile sizes",
            Self::TileValidityOffsets => "offsets of validity tile offsets",
            Self::TileMins => "offsets of tile minima",
            Self::TileMaxs => "offsets of tile maxima",
            Self::TileSums => "offsets of tile sums",
            Self::TileNullCounts => "offsets of tile null counts",
        }
    }
}

/// The lists of a footer. All share one allocation, because an array can have thousands of fragments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FooterLists {
    numbers: Vec<u64>,
    /// End of each list in `numbers`.
    ends: [u32; List::SIZES.len() + List::SECTIONS.len()],
}

impl FooterLists {
    /// Allocates room for the lists of a fragment of this version.
    fn with_capacity(version: Version, slots: &Slots) -> Self {
        let lists = List::SIZES.into_iter().chain(List::SECTIONS);
        Self {
            numbers: Vec::with_capacity(lists.map(|l| l.len(version, slots)).sum()),
            ..Self::default()
        }
    }

    /// Adds the list `which`. Lists must be added in file order; omitted lists are empty.
    pub fn add(&mut self, which: List, numbers: impl IntoIterator<Item = u64>) {
        self.numbers.extend(numbers);
        let end = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        if let Some(ends) = self.ends.get_mut(which as usize..) {
            ends.fill(end);
        }
    }

    /// The list `which`, indexed by field slot.
    pub fn get(&self, which: List) -> &[u64] {
        let end = |i: usize| self.ends.get(i).map_or(0, |e| *e as usize);
        let start = (which as usize).checked_sub(1).map_or(0, end);
        self.numbers.get(start..end(which as usize)).unwrap_or(&[])
    }

    /// The number of the field at `slot` in the list `which`, if present.
    pub fn at(&self, which: List, slot: usize) -> Option<u64> {
        self.get(which).get(slot).copied()
    }

    /// All lists of file sizes, concatenated.
    pub fn sizes(&self) -> &[u64] {
        let end = self
            .ends
            .get(List::ValidityFileSizes as usize)
            .map_or(0, |e| *e as usize);
        self.numbers.get(..end).unwrap_or(&[])
    }

    /// All lists of section offsets, concatenated.
    pub fn sections(&self) -> &[u64] {
        self.numbers.get(self.sizes().len()..).unwrap_or(&[])
    }

    fn decode(&mut self, r: &mut Reader<'_>, version: Version, slots: &Slots, which: List) -> Decoded<()> {
        let numbers = r.u64s(which.len(version, slots) as u64, which.what())?;
        self.add(which, numbers);
        Ok(())
    }
}

/// Offsets of the sections that are not per field. Each section is a generic tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "each is the offset of the section it is named after")]
pub struct SectionOffsets {
    pub rtree: u64,
    pub fragment_stats: Option<u64>,
    pub processed_conditions: Option<u64>,
}

impl Footer {
    /// Byte range of the footer in a metadata file of `file_bytes` bytes. `tail` holds at least the last eight bytes of
    /// the file. `schema` is used only before version 10, where an array has a single schema.
    ///
    /// # Errors
    /// The file is too short for a footer.
    pub fn locate(version: Version, schema: &Schema, file_bytes: u64, tail: &[u8]) -> Decoded<Range<u64>> {
        let (bytes, end) = if Self::has_length(version, schema) {
            let Some(length) = tail.last_chunk() else {
                return Err(Malformed::new(
                    "footer length",
                    file_bytes,
                    "the file is too short for it",
                ));
            };
            (u64::from_le_bytes(*length), file_bytes.saturating_sub(8))
        } else {
            (fixed_bytes(version, schema), file_bytes)
        };
        match end.checked_sub(bytes) {
            Some(start) => Ok(start..end),
            None => Err(Malformed::new(
                "footer length",
                end,
                format!("{bytes} bytes, but the file has {file_bytes}"),
            )),
        }
    }

    /// Whether the footer is followed by its length.
    pub fn has_length(version: Version, schema: &Schema) -> bool {
        version.has_schema_folder() || schema.dimensions.iter().any(|d| d.cell.is_var())
    }

    /// File name of the schema that the footer must be decoded with; `None` before version 10.
    ///
    /// # Errors
    /// The footer is damaged or has an unexpected version.
    pub fn schema_name(bytes: &[u8], version: Version) -> Decoded<Option<&str>> {
        let mut r = Reader::new(bytes);
        let version = decode_version(&mut r, version)?;
        decode_schema_name(&mut r, version)
    }

    /// Decodes a footer with the schema that it names. Ignores bytes after the footer: in consolidated metadata,
    /// footers follow each other without a length field.
    ///
    /// # Errors
    /// The footer is damaged or has an unexpected version.
    pub fn decode(bytes: &[u8], schema: &Schema, version: Version) -> Decoded<Self> {
        let mut r = Reader::new(bytes);
        let version = decode_version(&mut r, version)?;
        let schema_name = decode_schema_name(&mut r, version)?.map(str::to_owned);
        let dense = r.bool("footer dense flag")?;
        let non_empty_domain = decode_domain(&mut r, schema, version)?;
        let sparse_tiles = r.u64("footer tile count")?;
        let last_tile_cells = r.u64("footer cells of the last tile")?;
        let has_timestamps = version.has_timestamps() && r.bool("footer timestamps flag")?;
        let has_delete_metadata = version.has_delete_metadata() && r.bool("footer delete metadata flag")?;
        let slots = Slots::new(version, schema, has_timestamps, has_delete_metadata);
        let mut lists = FooterLists::with_capacity(version, &slots);
        for which in List::SIZES {
            lists.decode(&mut r, version, &slots, which)?;
        }
        let rtree = r.u64("R-tree offset")?;
        for which in List::SECTIONS {
            lists.decode(&mut r, version, &slots, which)?;
        }
        let statistics = version.has_fragment_statistics();
        let sections = SectionOffsets {
            rtree,
            fragment_stats: optional(&mut r, statistics, "offset of fragment statistics")?,
            processed_conditions: optional(&mut r, version.has_delete_commits(), "offset of processed conditions")?,
        };
        Ok(Self {
            version,
            schema_name,
            dense,
            non_empty_domain,
            sparse_tiles,
            last_tile_cells,
            has_timestamps,
            has_delete_metadata,
            lists,
            sections,
        })
    }

    /// Encodes the footer, without the length that follows it.
    pub fn encode(&self, schema: &Schema) -> Vec<u8> {
        let v = self.version;
        let mut w = Writer::new();
        w.u32(v.number());
        if v.has_schema_folder() {
            w.bytes64(self.schema_name.as_deref().unwrap_or("").as_bytes());
        }
        w.bool(self.dense).bool(self.non_empty_domain.is_none());
        match &self.non_empty_domain {
            Some(ranges) => ranges.iter().fold(&mut w, |w, range| w.range(range)),
            None => w.put(&vec![0; null_domain_bytes(schema)]),
        };
        w.u64(self.sparse_tiles).u64(self.last_tile_cells);
        if v.has_timestamps() {
            w.bool(self.has_timestamps);
        }
        if v.has_delete_metadata() {
            w.bool(self.has_delete_metadata);
        }
        let s = &self.sections;
        w.u64s(self.lists.sizes()).u64(s.rtree).u64s(self.lists.sections());
        // Since 2.8, libtiledb writes this field in version 11 too, with the value 0.
        if v.has_tile_statistics() {
            w.u64(s.fragment_stats.unwrap_or(0));
        }
        if v.has_delete_commits() {
            w.u64(s.processed_conditions.unwrap_or(0));
        }
        w.into_bytes()
    }
}

fn decode_version(r: &mut Reader<'_>, by_name: Version) -> Decoded<Version> {
    let found = Version::new(r.u32("footer version")?)?;
    if found == by_name || (by_name == Version::PLAIN_NAMES && found.has_plain_names()) {
        return Ok(found);
    }
    Err(Malformed::new(
        "footer version",
        0,
        format!("{found} in a fragment whose name says {by_name}"),
    ))
}

fn decode_schema_name<'a>(r: &mut Reader<'a>, version: Version) -> Decoded<Option<&'a str>> {
    if !version.has_schema_folder() {
        return Ok(None);
    }
    let at = r.offset();
    let bytes = r.bytes64("footer schema name")?;
    let is_name =
        |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains(|c: char| c == '/' || c.is_control());
    let name = std::str::from_utf8(bytes).ok().filter(is_name);
    name.map(Some)
        .ok_or_else(|| Malformed::new("footer schema name", at, "not a file name"))
}

fn decode_domain(r: &mut Reader<'_>, schema: &Schema, version: Version) -> Decoded<Option<Vec<ScalarRange>>> {
    if r.bool("footer null domain flag")? {
        r.take(null_domain_bytes(schema), "non-empty domain")?;
        return Ok(None);
    }
    let mut ranges = Vec::with_capacity(schema.dimensions.len());
    for d in &schema.dimensions {
        let at = r.offset();
        let range = r.range(d.datatype.physical(), d.cell.is_var(), "non-empty domain")?;
        let range = if version.has_dimension_files() {
            range
        } else {
            widened(range, d)
        };
        if !d.cell.is_var() && range.is_empty() {
            return Err(Malformed::new("non-empty domain", at, "it ends before it starts"));
        }
        ranges.push(range);
    }
    Ok(Some(ranges))
}

/// For fragments older than version 5: replaces a range that ends before it starts by the whole domain. Those releases
/// compared dates as unsigned numbers, so a range with both signs starts at the smallest positive date.
pub(super) fn widened(range: ScalarRange, d: &Dimension) -> ScalarRange {
    match &d.domain {
        Some(whole) if range.is_empty() => whole.clone(),
        _ => range,
    }
}

fn optional(r: &mut Reader<'_>, present: bool, what: &str) -> Decoded<Option<u64>> {
    if present { r.u64(what).map(Some) } else { Ok(None) }
}

/// Size of the zeros that are written in place of a null domain, in bytes.
fn null_domain_bytes(schema: &Schema) -> usize {
    let first = schema.dimensions.first().map_or(0, |d| d.datatype.size());
    2 * first * schema.dimensions.len()
}

/// Size of a footer of versions 3 to 9 in bytes, if no dimension holds strings.
fn fixed_bytes(version: Version, schema: &Schema) -> u64 {
    let slots = Slots::new(version, schema, false, false);
    let (all, var) = (slots.len() as u64, slots.var_len() as u64);
    let validity = if version.has_validity() { all } else { 0 };
    let domain: u64 = schema.dimensions.iter().map(|d| 2 * d.datatype.size() as u64).sum();
    let sizes = all + var + validity;
    let sections = 1 + all + 2 * var + validity;
    4 + 1 + 1 + domain + 16 + 8 * (sizes + sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
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

    fn footer(version: u32, schema: &Schema) -> Footer {
        let version = Version::new(version).unwrap();
        let slots = Slots::new(version, schema, version.has_timestamps(), false);
        let (mut lists, mut next) = (FooterLists::default(), 0);
        for which in List::SIZES.into_iter().chain(List::SECTIONS) {
            let n = which.len(version, &slots) as u64;
            lists.add(which, next..next + n);
            assert_eq!(lists.get(which), (next..next + n).collect::<Vec<_>>());
            next += n;
        }
        let domain = |d: &Dimension| {
            if d.cell.is_var() {
                ScalarRange::new("a", "bc")
            } else {
                ScalarRange::new(1_i32, 2_i32)
            }
        };
        Footer {
            version,
            schema_name: version.has_schema_folder().then(|| "__1_1_x".to_owned()),
            dense: false,
            non_empty_domain: Some(schema.dimensions.iter().map(domain).collect()),
            sparse_tiles: 3,
            last_tile_cells: 7,
            has_timestamps: version.has_timestamps(),
            has_delete_metadata: false,
            lists,
            sections: SectionOffsets {
                rtree: 99,
                fragment_stats: version.has_fragment_statistics().then_some(5),
                processed_conditions: version.has_delete_commits().then_some(6),
            },
        }
    }

    #[test]
    fn all_versions_round_trip() {
        let mut schema = schema();
        for version in (3..=22).rev() {
            if version < 5 {
                schema.dimensions.remove(0);
                schema.dimensions.push(schema.dimensions[0].clone());
            }
            let footer = footer(version, &schema);
            let bytes = footer.encode(&schema);
            let by_name = footer.version;
            assert_eq!(
                Footer::decode(&bytes, &schema, by_name).unwrap(),
                footer,
                "version {version}"
            );
            assert_eq!(
                Footer::schema_name(&bytes, by_name).unwrap(),
                footer.schema_name.as_deref()
            );
            let length = (bytes.len() as u64).to_le_bytes();
            let file = 100 + bytes.len() as u64 + if Footer::has_length(by_name, &schema) { 8 } else { 0 };
            assert_eq!(
                Footer::locate(by_name, &schema, file, &length).unwrap(),
                100..100 + bytes.len() as u64
            );
        }
    }

    #[test]
    fn truncated_footers_are_errors() {
        let bytes = footer(22, &schema()).encode(&schema());
        for n in 0..bytes.len() {
            assert!(Footer::decode(&bytes[..n], &schema(), Version::CURRENT).is_err());
        }
        let e = Footer::decode(&bytes[..bytes.len() - 1], &schema(), Version::CURRENT).unwrap_err();
        assert_eq!(e.what, "offset of processed conditions");
    }

    #[test]
    fn the_name_and_the_footer_must_agree() {
        let bytes = footer(20, &schema()).encode(&schema());
        let e = Footer::decode(&bytes, &schema(), Version::CURRENT).unwrap_err();
        assert_eq!(e.why, "20 in a fragment whose name says 22");
    }

    #[test]
    fn a_length_beyond_the_file_is_an_error() {
        assert!(Footer::locate(Version::CURRENT, &schema(), 100, &99_u64.to_le_bytes()).is_err());
        assert!(Footer::locate(Version::CURRENT, &schema(), 4, &[0; 4]).is_err());
    }
}
