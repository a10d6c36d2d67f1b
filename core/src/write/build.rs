//! Builds the metadata of a fragment, tile by tile.

use std::collections::BTreeMap;

use super::field::{Fields, WrittenField};
use super::pack::PackedTile;
use super::stats::{self, Kinds, MinMax, TileStats};
use crate::format::field::Field;
use crate::format::fragment::metadata_file::{FieldMetadata, FragmentMetadata};
use crate::format::fragment::rtree::{Level, RTree};
use crate::format::fragment::stats::TileValues;
use crate::format::schema::Schema;
use crate::key;
use crate::scalar::ScalarRange;

/// The metadata of a fragment so far.
#[derive(Debug)]
pub(crate) struct MetadataBuilder {
    fields: Vec<FieldBuild>,
    mbrs: Vec<Vec<ScalarRange>>,
    tiles: u64,
    last_tile_cells: u64,
}

#[derive(Debug, Default)]
struct FieldBuild {
    tile_offsets: Vec<u64>,
    var_offsets: Vec<u64>,
    var_sizes: Vec<u64>,
    validity_offsets: Vec<u64>,
    stats: Vec<TileStats>,
    bytes: u64,
    var_bytes: u64,
    validity_bytes: u64,
}

impl MetadataBuilder {
    pub(crate) fn new(fields: &Fields) -> Self {
        let fields = fields.list.iter().map(|_| FieldBuild::default()).collect();
        Self {
            fields,
            mbrs: Vec::new(),
            tiles: 0,
            last_tile_cells: 0,
        }
    }

    /// Adds a tile of `cells` cells with these packed fields.
    pub(crate) fn add(&mut self, cells: u64, packed: &mut [PackedTile]) {
        self.tiles += 1;
        self.last_tile_cells = cells;
        let mbr: Vec<ScalarRange> = packed.iter_mut().filter_map(|p| p.range.take()).collect();
        if !mbr.is_empty() {
            self.mbrs.push(mbr);
        }
        for (field, tile) in self.fields.iter_mut().zip(packed) {
            field.tile_offsets.push(field.bytes);
            field.bytes += tile.fixed.len() as u64;
            if let Some((var, size)) = &tile.var {
                field.var_offsets.push(field.var_bytes);
                field.var_bytes += var.len() as u64;
                field.var_sizes.push(*size);
            }
            if let Some(validity) = &tile.validity {
                field.validity_offsets.push(field.validity_bytes);
                field.validity_bytes += validity.len() as u64;
            }
            field.stats.push(std::mem::take(&mut tile.stats));
        }
    }

    /// Tiles added so far.
    pub(crate) fn tiles(&self) -> u64 {
        self.tiles
    }

    /// Bytes of data files so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.fields
            .iter()
            .map(|f| f.bytes + f.var_bytes + f.validity_bytes)
            .sum()
    }

    /// The bounding box of all sparse cells so far.
    pub(crate) fn bounds(&self) -> Option<Vec<ScalarRange>> {
        let mut all = self.mbrs.iter();
        let first = all.next()?.clone();
        Some(all.fold(first, |a, b| a.iter().zip(b).map(|(a, b)| a.union(b)).collect()))
    }

    /// Builds the fragment's metadata. `region` is the box of a dense fragment.
    pub(crate) fn finish(
        mut self,
        schema: &Schema,
        schema_name: &str,
        fields: &Fields,
        region: Option<Vec<ScalarRange>>,
        processed_conditions: Vec<String>,
    ) -> FragmentMetadata {
        let dense = region.is_some();
        if schema.rounds_coordinates() {
            self.mbrs.iter_mut().for_each(|mbr| clamp(mbr, schema));
        }
        let non_empty_domain = region.or_else(|| self.bounds()).unwrap_or_default();
        let rtree = if dense {
            RTree::dense()
        } else {
            let mut leaves = Level::new(schema);
            self.mbrs.iter().for_each(|mbr| leaves.push(mbr));
            RTree::build(leaves)
        };
        let metadata = |(f, build): (&WrittenField, FieldBuild)| (f.id, build.finish(&f.field));
        let by_id: BTreeMap<_, _> = fields.list.iter().zip(self.fields).map(metadata).collect();
        FragmentMetadata {
            version: fields.version,
            schema_name: schema_name.to_owned(),
            dense,
            non_empty_domain,
            tiles: self.tiles,
            last_tile_cells: self.last_tile_cells,
            rtree,
            fields: by_id,
            processed_conditions,
        }
    }
}

/// Moves the ends of a bounding box into the domain. A merge meets coordinates that a filter has rounded to the outside.
/// A read of the whole domain must find them, as it does in the fragments that were merged.
fn clamp(mbr: &mut [ScalarRange], schema: &Schema) {
    for (d, range) in mbr.iter_mut().enumerate() {
        let limits = schema.limits(d).map(|l| (key::key(&l.lo), key::key(&l.hi)));
        let Some((Some(lo), Some(hi))) = limits.filter(|(lo, hi)| lo <= hi) else {
            continue;
        };
        for end in [&mut range.lo, &mut range.hi] {
            if let (Some(physical), Some(at)) = (end.physical(), key::key(end))
                && !(lo..=hi).contains(&at)
            {
                *end = key::scalar(physical, at.clamp(lo, hi));
            }
        }
    }
}

impl FieldBuild {
    fn finish(self, field: &Field) -> FieldMetadata {
        let kinds = Kinds::of(field);
        let ends = |of: fn(&TileStats) -> &Option<Vec<u8>>| match (kinds.min_max, field.cell_bytes()) {
            (MinMax::None, _) => TileValues::default(),
            (_, None) => TileValues::var(self.stats.iter().map(|s| of(s).as_deref().unwrap_or(&[]))),
            (_, Some(n)) => {
                let zeros = vec![0; n];
                TileValues::fixed(
                    self.stats
                        .iter()
                        .flat_map(|s| of(s).as_ref().unwrap_or(&zeros).iter().copied())
                        .collect(),
                )
            }
        };
        FieldMetadata {
            mins: ends(|s| &s.min),
            maxs: ends(|s| &s.max),
            sums: if kinds.sum {
                self.stats.iter().map(|s| s.sum).collect()
            } else {
                Vec::new()
            },
            null_counts: if field.nullable {
                self.stats.iter().map(|s| s.null_count).collect()
            } else {
                Vec::new()
            },
            stats: stats::of_fragment(field, self.stats.iter()),
            tile_offsets: self.tile_offsets,
            tile_var_offsets: self.var_offsets,
            tile_var_sizes: self.var_sizes,
            tile_validity_offsets: self.validity_offsets,
            file_bytes: self.bytes,
            var_file_bytes: self.var_bytes,
            validity_file_bytes: self.validity_bytes,
        }
    }
}
