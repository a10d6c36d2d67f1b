//! Fragment metadata of versions 1 and 2: a single generic tile.
//!
//! ```text
//! version u32 | non-empty domain: size u64 (0 for none), per dimension lo, hi
//! | MBRs: count u64, per MBR per dimension lo, hi | bounding coordinates: count u64, per tile first and last cell
//! | tile offsets: per attribute and __coords: count u64, u64s | var offsets: per attribute: count u64, u64s
//! | var sizes: per attribute: count u64, u64s | cells in the last tile u64
//! | file sizes: per attribute and __coords u64 | var file sizes: per attribute u64
//! ```

use super::footer::{Footer, FooterLists, List, SectionOffsets, widened};
use super::rtree::{Level, RTree};
use super::slots::Slots;
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader};
use crate::format::schema::{Dimension, Schema};
use crate::format::version::Version;
use crate::scalar::ScalarRange;

/// The contents of such a file, in the terms of later versions.
#[derive(Debug, Clone, PartialEq)]
pub struct LegacyMetadata {
    /// The equivalent footer, without section offsets.
    pub footer: Footer,
    /// The R-tree, built from the MBRs of the tiles that the file stores.
    pub rtree: RTree,
    /// The offset of each tile, by slot.
    pub tile_offsets: Vec<Vec<u64>>,
    /// The offset of each tile of variable-length values, by attribute.
    pub tile_var_offsets: Vec<Vec<u64>>,
    /// The unfiltered size of each tile of variable-length values in bytes, by attribute.
    pub tile_var_sizes: Vec<Vec<u64>>,
}

impl LegacyMetadata {
    /// Decodes the payload. `dense` is true if the fragment's folder has no `__coords.tdb`.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode(payload: &[u8], schema: &Schema, dense: bool) -> Decoded<Self> {
        let mut r = Reader::new(payload);
        let version = Version::new(r.u32("fragment metadata version")?)?;
        if version.has_footer() || schema.dimensions.iter().any(|d| d.cell.is_var()) {
            return Err(Malformed::new(
                "fragment metadata version",
                0,
                format!("{version} has no metadata of this form"),
            ));
        }
        let box_bytes: usize = schema.dimensions.iter().map(|d| 2 * d.datatype.size()).sum();
        let non_empty_domain = decode_domain(&mut r, schema, box_bytes)?;
        let n = r.u64("MBR count")?;
        let n = r.count(n, box_bytes, "MBRs")?;
        let mut mbrs = Level::from_fixed(r.take(n * box_bytes, "MBRs")?, box_bytes.max(1), schema);
        mbrs.widen(schema, version);
        // The first and the last cell of each tile, which readers do not need.
        let bounding = r.u64("bounding coordinate count")?;
        let bounding = r.count(bounding, box_bytes, "bounding coordinates")?;
        r.take(bounding * box_bytes, "bounding coordinates")?;
        let slots = Slots::new(version, schema, false, false);
        let mut lists = |n: usize, what: &str| -> Decoded<Vec<Vec<u64>>> {
            let one = |_| {
                let n = r.u64(what)?;
                Ok(r.u64s(n, what)?.collect())
            };
            (0..n).map(one).collect()
        };
        let tile_offsets = lists(slots.len(), "tile offsets")?;
        let tile_var_offsets = lists(slots.var_len(), "var tile offsets")?;
        let tile_var_sizes = lists(slots.var_len(), "var tile sizes")?;
        let last_tile_cells = r.u64("cells of the last tile")?;
        let mut sizes = FooterLists::default();
        sizes.add(List::FileSizes, r.u64s(slots.len() as u64, "file sizes")?);
        sizes.add(List::VarFileSizes, r.u64s(slots.var_len() as u64, "var file sizes")?);
        let footer = Footer {
            version,
            schema_name: None,
            dense,
            non_empty_domain,
            sparse_tiles: if dense { 0 } else { n as u64 },
            last_tile_cells,
            has_timestamps: false,
            has_delete_metadata: false,
            lists: sizes,
            sections: SectionOffsets::default(),
        };
        r.finish("fragment metadata")?;
        Ok(Self {
            footer,
            rtree: RTree::build(mbrs),
            tile_offsets,
            tile_var_offsets,
            tile_var_sizes,
        })
    }
}

fn decode_domain(r: &mut Reader<'_>, schema: &Schema, box_bytes: usize) -> Decoded<Option<Vec<ScalarRange>>> {
    let at = r.offset();
    match r.u64("non-empty domain size")? {
        0 => Ok(None),
        n if n == box_bytes as u64 => {
            let range = |d: &Dimension| Ok(widened(r.range(d.datatype.physical(), false, "non-empty domain")?, d));
            schema.dimensions.iter().map(range).collect::<Decoded<_>>().map(Some)
        }
        n => Err(Malformed::new(
            "non-empty domain size",
            at,
            format!("{n} bytes, not {box_bytes}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::cursor::Writer;
    use crate::format::schema::{ArrayType, Attribute};

    fn schema() -> Schema {
        let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
        Schema::new(
            ArrayType::Sparse,
            vec![x],
            vec![Attribute::new("a", Datatype::StringAscii, CellCount::Var)],
        )
    }

    fn payload() -> Vec<u8> {
        let mut w = Writer::new();
        let range = |lo: i32, hi: i32| ScalarRange::new(lo, hi);
        w.u32(1).u64(8).range(&range(1, 7));
        w.u64(2).range(&range(1, 3)).range(&range(4, 7));
        w.u64(2).range(&range(1, 3)).range(&range(4, 7));
        w.u64(2).u64s(&[0, 10]).u64(2).u64s(&[0, 20]);
        w.u64(2).u64s(&[0, 30]).u64(2).u64s(&[5, 6]);
        w.u64(2).u64s(&[40, 50]).u64s(&[60]);
        w.into_bytes()
    }

    #[test]
    fn everything_is_in_one_tile() {
        let m = LegacyMetadata::decode(&payload(), &schema(), false).unwrap();
        assert_eq!(m.tile_offsets, [[0, 10], [0, 20]]);
        assert_eq!(
            (m.tile_var_offsets, m.tile_var_sizes),
            (vec![vec![0, 30]], vec![vec![5, 6]])
        );
        assert_eq!((m.footer.last_tile_cells, m.footer.sparse_tiles), (2, 2));
        assert_eq!(m.footer.lists.get(List::FileSizes), [40, 50]);
        assert_eq!(m.footer.lists.get(List::VarFileSizes), [60]);
        assert_eq!(
            m.rtree.leaves().unwrap().mbr(1).unwrap(),
            [ScalarRange::new(4_i32, 7_i32)]
        );
    }

    #[test]
    fn truncated_metadata_is_an_error() {
        let payload = payload();
        for n in 0..payload.len() {
            assert!(LegacyMetadata::decode(&payload[..n], &schema(), false).is_err());
        }
    }
}
