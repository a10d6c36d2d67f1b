//! The footer of a fragment's metadata: what the fragment holds and where its sections lie.
//!
//! ```text
//! version u32 | since 10: schema name str64 | dense u8 | no non-empty domain u8 | non-empty domain
//! | sparse tiles u64 | cells in the last tile u64 | since 14: timestamps u8 | since 15: delete metadata u8
//! | per slot, u64: file sizes, var file sizes, since 7: validity file sizes
//! | R-tree offset u64
//! | per slot, u64: offsets of the sections of tile offsets, var offsets, var sizes, since 7: validity offsets,
//!                  since 11: minima, maxima, sums, null counts
//! | since 12: offset of the fragment's statistics u64 | since 16: of the processed conditions u64
//! ```
//!
//! Behind it stand its bytes as a `u64`: since version 10 always, before only where a dimension holds strings.

use std::ops::Range;

use super::slots::Slots;
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader, Writer};
use crate::format::schema::{Dimension, Schema};
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// Footer of a fragment. Offsets are in bytes from the start of the metadata file; lists are by
/// field slot (see [`super::slots`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Footer {
    /// The fragment's format version.
    pub version: Version,
    /// The file name of the schema it was written with; `None` before version 10.
    pub schema_name: Option<String>,
    /// Whether its cells are dense.
    pub dense: bool,
    /// The bounding box of its cells; `None` where the fragment says it has none.
    pub non_empty_domain: Option<Vec<ScalarRange>>,
    /// Tiles of a sparse fragment; 0 for dense ones.
    pub sparse_tiles: u64,
    /// Cells in the last tile of a sparse fragment, or in every tile of a dense one.
    pub last_tile_cells: u64,
    /// Whether each cell has a timestamp.
    pub has_timestamps: bool,
    /// Whether each cell has a delete timestamp and condition.
    pub has_delete_metadata: bool,
    /// The numbers that it has for each field.
    pub lists: Lists,
    /// Where the sections lie of which there is one a fragment.
    pub sections: SectionOffsets,
}

/// A list of a footer: a number for each field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// Bytes of the field's file (of the offsets where cells vary in length).
    FileSizes,
    /// Bytes of the field's file of variable-length data.
    VarFileSizes,
    /// Bytes of the field's validity file.
    ValidityFileSizes,
    /// Where the section of tile offsets lies.
    TileOffsets,
    /// Where the section of offsets of variable-length tiles lies.
    TileVarOffsets,
    /// Where the section of unfiltered bytes of variable-length tiles lies.
    TileVarSizes,
    /// Where the section of offsets of validity tiles lies.
    TileValidityOffsets,
    /// Where the section of the tiles' minima lies.
    TileMins,
    /// Where the section of the tiles' maxima lies.
    TileMaxs,
    /// Where the section of the tiles' sums lies.
    TileSums,
    /// Where the section of the tiles' null counts lies.
    TileNullCounts,
}

impl List {
    /// The lists of sizes of files, in their order.
    const SIZES: [Self; 3] = [Self::FileSizes, Self::VarFileSizes, Self::ValidityFileSizes];
    /// The lists of offsets of sections, in their order.
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

    /// How long it is; lists that a version does not have are empty.
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

/// The lists of a footer, by [`List`]. Arrays have thousands of fragments, so that they lie in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lists {
    numbers: Vec<u64>,
    /// Where each ends.
    ends: [u32; List::SIZES.len() + List::SECTIONS.len()],
}

impl Lists {
    /// Room for the lists of a fragment of this version.
    fn with_capacity(version: Version, slots: &Slots) -> Self {
        let lists = List::SIZES.into_iter().chain(List::SECTIONS);
        Self {
            numbers: Vec::with_capacity(lists.map(|l| l.len(version, slots)).sum()),
            ..Self::default()
        }
    }

    /// These numbers as the list `which`. Lists are added in their order; those left out are empty.
    pub fn add(&mut self, which: List, numbers: impl IntoIterator<Item = u64>) {
        self.numbers.extend(numbers);
        let end = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        if let Some(ends) = self.ends.get_mut(which as usize..) {
            ends.fill(end);
        }
    }

    /// The list `which`, by field slot.
    pub fn get(&self, which: List) -> &[u64] {
        let end = |i: usize| self.ends.get(i).map_or(0, |e| *e as usize);
        let start = (which as usize).checked_sub(1).map_or(0, end);
        self.numbers.get(start..end(which as usize)).unwrap_or(&[])
    }

    /// The number of the field at `slot`, where the list has one.
    pub fn at(&self, which: List, slot: usize) -> Option<u64> {
        self.get(which).get(slot).copied()
    }

    /// The lists of sizes, one after the other.
    pub fn sizes(&self) -> &[u64] {
        let end = self
            .ends
            .get(List::ValidityFileSizes as usize)
            .map_or(0, |e| *e as usize);
        self.numbers.get(..end).unwrap_or(&[])
    }

    /// The lists of offsets of sections, one after the other.
    pub fn sections(&self) -> &[u64] {
        self.numbers.get(self.sizes().len()..).unwrap_or(&[])
    }

    fn decode(&mut self, r: &mut Reader<'_>, version: Version, slots: &Slots, which: List) -> Decoded<()> {
        let numbers = r.u64s(which.len(version, slots) as u64, which.what())?;
        self.add(which, numbers);
        Ok(())
    }
}

/// Offsets of the sections of which there is one a fragment; all are generic tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "each is the offset of the section of its name")]
pub struct SectionOffsets {
    pub rtree: u64,
    pub fragment_stats: Option<u64>,
    pub processed_conditions: Option<u64>,
}

impl Footer {
    /// Where the footer lies in a metadata file of `file_bytes`, whose last bytes are `tail` (eight
    /// are enough). `schema` is looked at only before version 10, where an array has but one.
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
                format!("{bytes} bytes, in a file of {file_bytes}"),
            )),
        }
    }

    /// Whether the footer's length stands behind it.
    pub fn has_length(version: Version, schema: &Schema) -> bool {
        version.has_schema_folder() || schema.dimensions.iter().any(|d| d.cell.is_var())
    }

    /// The file name of the schema that the footer must be decoded with; `None` before version 10.
    ///
    /// # Errors
    /// The footer is damaged, or of another version.
    pub fn schema_name(bytes: &[u8], version: Version) -> Decoded<Option<&str>> {
        let mut r = Reader::new(bytes);
        let version = decode_version(&mut r, version)?;
        decode_schema_name(&mut r, version)
    }

    /// Reads a footer, without the length behind it. `schema` is the one it names. Bytes behind the
    /// footer are left alone: where many lie one after another, they do not say how long they are.
    ///
    /// # Errors
    /// The footer is damaged, or of another version.
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
        let mut lists = Lists::with_capacity(version, &slots);
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

    /// The footer's bytes, without the length behind it.
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
        // libtiledb since 2.8 leaves room for it in version 11 as well, and says 0.
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

/// A range of a fragment older than version 5, opened to the whole domain where it ends before it starts:
/// those releases ordered dates as unsigned numbers, and with both signs it starts at the least positive one.
pub(super) fn widened(range: ScalarRange, d: &Dimension) -> ScalarRange {
    match &d.domain {
        Some(whole) if range.is_empty() => whole.clone(),
        _ => range,
    }
}

fn optional(r: &mut Reader<'_>, present: bool, what: &str) -> Decoded<Option<u64>> {
    if present { r.u64(what).map(Some) } else { Ok(None) }
}

/// Bytes that stand for a domain that there is none of.
fn null_domain_bytes(schema: &Schema) -> usize {
    let first = schema.dimensions.first().map_or(0, |d| d.datatype.size());
    2 * first * schema.dimensions.len()
}

/// Bytes of a footer of versions 3 to 9 where no dimension holds strings.
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
        let (mut lists, mut next) = (Lists::default(), 0);
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
    fn every_version_comes_back() {
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
    fn a_footer_cut_short_names_what_is_missing() {
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
