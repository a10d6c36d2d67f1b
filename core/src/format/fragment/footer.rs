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
    /// Bytes of each field's file (of the offsets where cells vary in length).
    pub file_sizes: Vec<u64>,
    /// Bytes of each field's file of variable-length data.
    pub file_var_sizes: Vec<u64>,
    /// Bytes of each field's validity file.
    pub file_validity_sizes: Vec<u64>,
    /// Where the sections lie.
    pub sections: SectionOffsets,
}

/// Offsets of the sections, which are generic tiles.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs, reason = "each is the offset of the section of its name")]
pub struct SectionOffsets {
    pub rtree: u64,
    pub tile_offsets: Vec<u64>,
    pub tile_var_offsets: Vec<u64>,
    pub tile_var_sizes: Vec<u64>,
    pub tile_validity_offsets: Vec<u64>,
    pub tile_mins: Vec<u64>,
    pub tile_maxs: Vec<u64>,
    pub tile_sums: Vec<u64>,
    pub tile_null_counts: Vec<u64>,
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
        let (all, var) = (slots.len() as u64, slots.var_len() as u64);
        let with = |has: bool| if has { all } else { 0 };
        let validity = with(version.has_validity());
        let statistics = with(version.has_tile_statistics());
        Ok(Self {
            version,
            schema_name,
            dense,
            non_empty_domain,
            sparse_tiles,
            last_tile_cells,
            has_timestamps,
            has_delete_metadata,
            file_sizes: r.u64s(all, "file sizes")?,
            file_var_sizes: r.u64s(var, "var file sizes")?,
            file_validity_sizes: r.u64s(validity, "validity file sizes")?,
            sections: SectionOffsets {
                rtree: r.u64("R-tree offset")?,
                tile_offsets: r.u64s(all, "offsets of tile offsets")?,
                tile_var_offsets: r.u64s(var, "offsets of var tile offsets")?,
                tile_var_sizes: r.u64s(var, "offsets of var tile sizes")?,
                tile_validity_offsets: r.u64s(validity, "offsets of validity tile offsets")?,
                tile_mins: r.u64s(statistics, "offsets of tile minima")?,
                tile_maxs: r.u64s(statistics, "offsets of tile maxima")?,
                tile_sums: r.u64s(statistics, "offsets of tile sums")?,
                tile_null_counts: r.u64s(statistics, "offsets of tile null counts")?,
                fragment_stats: optional(
                    &mut r,
                    version.has_fragment_statistics(),
                    "offset of fragment statistics",
                )?,
                processed_conditions: optional(&mut r, version.has_delete_commits(), "offset of processed conditions")?,
            },
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
        // Lists that a version does not have are empty.
        w.u64s(&self.file_sizes)
            .u64s(&self.file_var_sizes)
            .u64s(&self.file_validity_sizes);
        let s = &self.sections;
        w.u64(s.rtree);
        for list in [
            &s.tile_offsets,
            &s.tile_var_offsets,
            &s.tile_var_sizes,
            &s.tile_validity_offsets,
        ] {
            w.u64s(list);
        }
        for list in [&s.tile_mins, &s.tile_maxs, &s.tile_sums, &s.tile_null_counts] {
            w.u64s(list);
        }
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
    let name = std::str::from_utf8(bytes).ok().filter(|name| !name.contains('/'));
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
        let mut next = 0;
        let mut list = |present: bool, n: usize| {
            let n = if present { n as u64 } else { 0 };
            next += n;
            (next - n..next).collect::<Vec<u64>>()
        };
        let (all, var) = (slots.len(), slots.var_len());
        let (validity, statistics) = (version.has_validity(), version.has_tile_statistics());
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
            file_sizes: list(true, all),
            file_var_sizes: list(true, var),
            file_validity_sizes: list(validity, all),
            sections: SectionOffsets {
                rtree: 99,
                tile_offsets: list(true, all),
                tile_var_offsets: list(true, var),
                tile_var_sizes: list(true, var),
                tile_validity_offsets: list(validity, all),
                tile_mins: list(statistics, all),
                tile_maxs: list(statistics, all),
                tile_sums: list(statistics, all),
                tile_null_counts: list(statistics, all),
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
