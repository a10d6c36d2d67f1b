//! A fragment's metadata as a list of facts, so that two writers can be compared.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyperslab::blocking::block_on;
use hyperslab::internals::format::data_file::FRAGMENT_METADATA;
use hyperslab::internals::format::fragment::footer::{Footer, List};
use hyperslab::internals::format::fragment::rtree::RTree;
use hyperslab::internals::format::fragment::slots::{FieldId, Slots};
use hyperslab::internals::format::fragment::stats::{FieldStats, TileValues};
use hyperslab::internals::format::fragment::{conditions, tile_index};
use hyperslab::internals::format::generic_tile;
use hyperslab::schema::Schema;
use hyperslab::vfs::VfsExt;
use hyperslab::{Array, Fragment, Key};

/// One fact: the field (none for the whole fragment), the property and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The field, or `None` for the fragment.
    pub field: Option<FieldId>,
    /// The property.
    pub what: &'static str,
    /// The value as text.
    pub value: String,
}

/// All facts of the metadata of the visible fragments, oldest first.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub fn facts(array: &Array) -> Result<Vec<(Arc<Fragment>, Vec<Fact>)>> {
    array
        .fragments()
        .iter()
        .map(|f| Ok((Arc::clone(f), of_fragment(array, f).with_context(|| f.name.clone())?)))
        .collect()
}

struct File<'a> {
    bytes: &'a [u8],
    key: Option<&'a Key>,
}

impl File<'_> {
    fn section(&self, offset: u64) -> Result<Vec<u8>> {
        let rest = self
            .bytes
            .get(usize::try_from(offset)?..)
            .context("a section is beyond the end of the file")?;
        Ok(generic_tile::decode(rest, self.key)?.0)
    }
}

fn of_fragment(array: &Array, fragment: &Fragment) -> Result<Vec<Fact>> {
    let path = format!("{}/{FRAGMENT_METADATA}", fragment.path);
    let bytes = block_on(array.context().vfs.read_all(&path))?;
    let schema: &Schema = &fragment.schema;
    let size = bytes.len() as u64;
    let place = Footer::locate(fragment.version, schema, size, &bytes)?;
    let footer = Footer::decode(
        &bytes[usize::try_from(place.start)?..usize::try_from(place.end)?],
        schema,
        fragment.version,
    )?;
    let file = File {
        bytes: &bytes,
        key: array.key(),
    };
    let mut out = Vec::new();
    let mut whole = |what, value: String| {
        out.push(Fact {
            field: None,
            what,
            value,
        })
    };
    whole("dense", footer.dense.to_string());
    whole("non-empty domain", format!("{:?}", footer.non_empty_domain));
    whole("tiles", footer.sparse_tiles.to_string());
    whole("cells of the last tile", footer.last_tile_cells.to_string());
    whole("timestamps", footer.has_timestamps.to_string());
    whole("delete metadata", footer.has_delete_metadata.to_string());
    let rtree = RTree::decode(&file.section(footer.sections.rtree)?, schema, fragment.version)?;
    whole("R-tree", format!("{rtree:?}"));
    if let Some(offset) = footer.sections.processed_conditions {
        whole(
            "processed conditions",
            conditions::decode(&file.section(offset)?)?.len().to_string(),
        );
    }
    let slots = Slots::new(
        footer.version,
        schema,
        footer.has_timestamps,
        footer.has_delete_metadata,
    );
    let s = &footer.sections;
    let stats = s
        .fragment_stats
        .map(|offset| FieldStats::decode_all(&file.section(offset)?, slots.len()).map_err(anyhow::Error::from))
        .transpose()?;
    for field in slots.fields() {
        let Some(i) = slots.index(field) else { continue };
        let mut fact = |what, value: String| {
            out.push(Fact {
                field: Some(field),
                what,
                value,
            })
        };
        let section = |list| file.section(footer.lists.at(list, i).context("no such section")?);
        let list = |list| tile_index::decode(&section(list)?).map_err(anyhow::Error::from);
        fact("tile offsets", list(List::TileOffsets)?.len().to_string());
        fact("tile var offsets", list(List::TileVarOffsets)?.len().to_string());
        fact("tile var sizes", format!("{:?}", list(List::TileVarSizes)?));
        fact(
            "tile validity offsets",
            list(List::TileValidityOffsets)?.len().to_string(),
        );
        fact(
            "tile minima",
            format!("{:?}", TileValues::decode(&section(List::TileMins)?)?),
        );
        fact(
            "tile maxima",
            format!("{:?}", TileValues::decode(&section(List::TileMaxs)?)?),
        );
        fact("tile sums", format!("{:?}", list(List::TileSums)?));
        fact("tile null counts", format!("{:?}", list(List::TileNullCounts)?));
        if let Some(stats) = &stats {
            fact("fragment minimum", format!("{:?}", stats[i].min));
            fact("fragment maximum", format!("{:?}", stats[i].max));
            fact("fragment sum", stats[i].sum.to_string());
            fact("fragment null count", stats[i].null_count.to_string());
        }
    }
    Ok(out)
}
