//! Which attributes of an array a Zarr store has, and the parts of them that `--select` selects.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use hyperslab::internals::view::encode::Format;
use hyperslab::internals::view::selection::{self, display_name};
use hyperslab::internals::view::zarr::{Member, dimension_names, members, text_members};
use hyperslab::schema::{Attribute, Dimension, Schema};
use hyperslab::view::View;
use hyperslab::{Array, Scalar, ScalarRange, vfs};
use serde_json::{Value, json};

use super::super::job::names;
use super::cells::{CellArray, Content, is_text, text_document, text_fill};
use super::{Chunks, FOLDER, Kind, Node, Store, lengths, opened, shown, zstd_codec};
use crate::args::Export;
use crate::errors::usage;
use crate::meta;
use crate::show;

/// The selected coordinates along each dimension.
type Ranges = Vec<Vec<ScalarRange>>;

/// The most cells of a chunk that is made of cells.
const CELLS_MAX: u64 = 1 << 22;

/// The attributes that an export of an array asks for.
pub(super) async fn attributes(array: &Array, args: &Export) -> Result<Vec<String>> {
    let asked = match (&args.pick.attrs, &args.pick.select) {
        (Some(asked), _) => Some(asked.clone()),
        (None, Some(text)) => selected(array, text).await?.attributes,
        (None, None) => None,
    };
    let names = names(array, asked.as_deref(), Format::Npy)?;
    let dimension = names.iter().find(|name| array.schema().attribute(name).is_none());
    if let Some(name) = dimension {
        let why = format!("'{name}' is a dimension, whose coordinates a store always has; name attributes only");
        return Err(usage("--attrs", why));
    }
    Ok(names)
}

async fn selected(array: &Array, text: &str) -> Result<selection::Selection> {
    selection::read(array, text).await.map_err(|e| usage("--select", e))
}

/// The arrays of the view that a store with these attributes lacks. Prints a note for each attribute that no store can have.
fn left_out(array: &Array, wanted: Option<&[String]>) -> BTreeSet<String> {
    let schema = array.schema();
    let is_wanted = |name: &String| wanted.is_none_or(|wanted| wanted.contains(name));
    let is_number = |a: &Attribute| !a.datatype.is_bytes() && !a.cell.is_var();
    for attribute in schema.attributes.iter().filter(|a| is_wanted(&a.name)) {
        if !is_number(attribute) && !is_text(attribute) {
            let name = display_name(&attribute.name);
            show::note(format_args!(
                "'{name}' is left out, because a Zarr store here has numbers and UTF-8 text only; export it to .parquet"
            ));
        }
    }
    let all = members(schema).into_iter();
    let others = all.filter(|(_, member)| match member {
        Member::Values(name) | Member::Valid(name) => !is_wanted(name),
        Member::Coordinates(_) | Member::GridMapping => false,
    });
    others.map(|(name, _)| name).collect()
}

/// The arrays of the view that a store with these attributes has, after their names. `root` is the view's metadata of the
/// group. Plain numbers along a dimension are left out if an attribute has its coordinates.
pub(super) fn documents(array: &Array, root: &Value, wanted: Option<&[String]>) -> Vec<(String, Value)> {
    let schema = array.schema();
    let left_out = left_out(array, wanted);
    let all = root["consolidated_metadata"]["metadata"].as_object();
    let all = all.into_iter().flatten().filter(|(name, _)| !left_out.contains(*name));
    let all: Vec<(String, Value)> = all.map(|(name, document)| (name.clone(), document.clone())).collect();
    let texts = text_members(schema).into_iter();
    let texts = texts.filter(|(_, attribute)| is_shown_text(schema, attribute, wanted));
    let names = all
        .iter()
        .map(|(name, _)| name.clone())
        .chain(texts.map(|(name, _)| name));
    let axes = names
        .map(|name| shown(schema, &name))
        .filter(|(_, kind)| *kind == Kind::Axis);
    let axes: BTreeSet<String> = axes.map(|(name, _)| name).collect();
    let is_kept = |name: &str| !axes.contains(name) || shown(schema, name).1 != Kind::Index;
    all.into_iter().filter(|(name, _)| is_kept(name)).collect()
}

fn is_shown_text(schema: &Schema, attribute: &str, wanted: Option<&[String]>) -> bool {
    let is_wanted = wanted.is_none_or(|wanted| wanted.iter().any(|name| name == attribute));
    is_wanted && schema.attribute(attribute).is_some_and(|(_, a)| is_text(a))
}

/// Cells of a tile along each dimension, but not more than `lengths`, and not more than fit in memory.
fn tile(dimensions: &[Dimension], lengths: &[u64]) -> Vec<u64> {
    let extents = dimensions.iter().map(|d| d.extent.as_ref().and_then(|e| e.as_i128()));
    let extents = extents.map(|e| e.and_then(|e| u64::try_from(e).ok()).unwrap_or(1));
    let mut tile: Vec<u64> = extents.zip(lengths).map(|(e, n)| e.min(*n).max(1)).collect();
    while tile.iter().fold(1, |n: u64, along| n.saturating_mul(*along)) > CELLS_MAX
        && let Some(longest) = tile.iter_mut().max()
    {
        *longest = longest.div_ceil(2);
    }
    tile
}

/// The number of coordinates in ranges.
fn count(ranges: &[ScalarRange]) -> u64 {
    let length = |r: &ScalarRange| Some(r.hi.as_i128()? - r.lo.as_i128()? + 1);
    let all: i128 = ranges.iter().filter_map(length).sum();
    u64::try_from(all).unwrap_or(u64::MAX)
}

/// The coordinates from the start of each domain, where chunks start, to the end of the current domain. `None` if the current
/// domain starts later, because the cells before it cannot be read.
fn whole(schema: &Schema) -> Option<Ranges> {
    let along = |(i, d): (usize, &Dimension)| {
        let limits = schema.limits(i)?;
        let starts_there = d.domain.as_ref().is_some_and(|d| d.lo == limits.lo);
        starts_there.then(|| vec![limits.clone()])
    };
    schema.dimensions.iter().enumerate().map(along).collect()
}

impl Store {
    /// Adds the text attributes of an array, along these ranges or along its dimensions. In a group, text is left out if its
    /// name is taken.
    pub(super) async fn add_text(
        &mut self,
        array: &Array,
        wanted: Option<&[String]>,
        ranges: Option<&Ranges>,
    ) -> Result<()> {
        let schema = array.schema();
        let texts = text_members(schema).into_iter();
        let texts: Vec<(String, String)> = texts.filter(|(_, a)| is_shown_text(schema, a, wanted)).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let Some(ranges) = ranges.cloned().or_else(|| whole(schema)) else {
            for (_, attribute) in texts {
                let name = display_name(&attribute);
                show::note(format_args!(
                    "the text '{name}' is left out, because the current domain starts inside the domain; export it to .parquet"
                ));
            }
            return Ok(());
        };
        let lengths: Vec<u64> = ranges.iter().map(|r| count(r)).collect();
        let chunk = tile(&schema.dimensions, &lengths);
        let metadata = array.metadata().await?;
        for (name, attribute) in texts {
            let Some((_, attribute)) = schema.attribute(&attribute) else {
                continue;
            };
            let node = |kind, content, document| {
                let cells = CellArray::new(array, attribute, content, &ranges, chunk.clone());
                let chunks = Chunks::Cells(Box::new(cells));
                Node { kind, chunks, document }
            };
            let prefix = format!("__tiledb_attr.{}.", attribute.name);
            let own = metadata
                .iter()
                .filter_map(|(key, v)| Some((key.strip_prefix(&prefix)?, v)));
            let mut document = text_document(&lengths, &chunk, &dimension_names(schema), text_fill(attribute));
            document["attributes"] = own.map(|(key, v)| (key.to_owned(), meta::value(v))).collect();
            let (shown, kind) = shown(schema, &name);
            let valid = valid_name(schema, &shown);
            let is_free = self.has_room(&shown, kind) && (!attribute.nullable || self.has_room(&valid, Kind::Values));
            if self.is_group && !is_free {
                show::note(format_args!(
                    "the text '{}' is left out, because another array of the store is called '{shown}' or '{valid}'; export its array by itself",
                    display_name(&attribute.name)
                ));
                continue;
            }
            if attribute.nullable {
                show::note(format_args!(
                    "null cells of '{}' are empty text in the store; the array '{valid}' says which cells have values",
                    display_name(&attribute.name)
                ));
                let mut document = document.clone();
                (document["data_type"], document["fill_value"]) = (json!("bool"), json!(attribute.fill_valid));
                document["codecs"] = json!([{ "name": "bytes" }, zstd_codec()]);
                document["attributes"] = json!({});
                self.place(valid, node(Kind::Values, Content::Validity, document))?;
            }
            self.place(shown, node(kind, Content::Text, document))?;
        }
        Ok(())
    }

    /// Adds the part of an array that a selection selects. An axis with one coordinate has length 1.
    pub(super) async fn add_part(&mut self, array: &Array, text: &str, wanted: &[String]) -> Result<()> {
        let schema = array.schema();
        let ranges = selected(array, text).await?.region(schema)?.0;
        let (view, root) = opened(array).await?;
        self.attributes = root["attributes"].as_object().cloned().unwrap_or_default();
        let kinds = members(schema);
        for (name, mut document) in documents(array, &root, Some(wanted)) {
            let member = kinds.iter().find(|(n, _)| *n == name).map(|(_, member)| member);
            without_place(&mut document);
            let chunks = match member {
                Some(Member::Values(attribute)) => {
                    self.cells(array, (attribute.as_str(), Content::Numbers), &ranges, &mut document)?
                }
                Some(Member::Valid(attribute)) => {
                    self.cells(array, (attribute.as_str(), Content::Validity), &ranges, &mut document)?
                }
                Some(Member::Coordinates(d)) => {
                    let along = ranges.get(*d).map(Vec::as_slice).unwrap_or_default();
                    let from = schema.dimensions.get(*d).and_then(|d| d.domain.as_ref()?.lo.as_i128());
                    let Some(bytes) = picked(&view, &name, &document, along, from.unwrap_or(0)).await? else {
                        show::note(format_args!(
                            "the coordinates along '{name}' are left out, because they end before the selection"
                        ));
                        continue;
                    };
                    let length = count(along);
                    document["shape"] = json!([length]);
                    document["chunk_grid"]["configuration"]["chunk_shape"] = json!([length.max(1)]);
                    Chunks::One(bytes)
                }
                Some(Member::GridMapping) | None => Chunks::One(Vec::new()),
            };
            let (shown, kind) = shown(schema, &name);
            self.place(shown, Node { kind, chunks, document })?;
        }
        self.add_text(array, Some(wanted), Some(&ranges)).await
    }

    /// The chunks of numbers along ranges, and their metadata.
    fn cells(
        &self,
        array: &Array,
        (attribute, content): (&str, Content),
        ranges: &Ranges,
        document: &mut Value,
    ) -> Result<Chunks> {
        let schema = array.schema();
        let (_, attribute) = schema.attribute(attribute).context("an attribute is missing")?;
        let mut shape: Vec<u64> = ranges.iter().map(|r| count(r)).collect();
        let chunk = tile(&schema.dimensions, &shape);
        // Several values of a cell are an axis of their own.
        let inner: Vec<u64> = lengths(&document["shape"]).into_iter().skip(shape.len()).collect();
        shape.extend(&inner);
        let chunk_shape: Vec<u64> = chunk.iter().chain(&inner).copied().collect();
        document["shape"] = json!(shape);
        document["chunk_grid"]["configuration"]["chunk_shape"] = json!(chunk_shape);
        let is_byte = content == Content::Validity || attribute.datatype.size() == 1;
        document["codecs"] = match is_byte {
            true => json!([{ "name": "bytes" }]),
            false => json!([{ "name": "bytes", "configuration": { "endian": "little" } }]),
        };
        let cells = CellArray::new(array, attribute, content, ranges, chunk);
        Ok(Chunks::Cells(Box::new(cells)))
    }
}

/// Removes what says where the first cell of the whole array lies. The coordinates say it of the part.
fn without_place(document: &mut Value) {
    let Some(attributes) = document["attributes"].as_object_mut() else {
        return;
    };
    attributes.retain(|key, _| key != "GeoTransform" && !key.starts_with("spatial:"));
    if let Some(Value::Array(all)) = attributes.get_mut("zarr_conventions") {
        all.retain(|convention| convention["name"] != "spatial");
    }
}

/// The coordinates of these ranges in a view's array, if there are any; `from` is the number of the first one.
async fn picked(
    view: &View,
    name: &str,
    document: &Value,
    ranges: &[ScalarRange],
    from: i128,
) -> Result<Option<Vec<u8>>> {
    let length = lengths(&document["shape"]).first().copied().unwrap_or(0);
    let chunk = lengths(&document["chunk_grid"]["configuration"]["chunk_shape"]);
    let chunk = chunk.first().copied().unwrap_or(1).max(1);
    let mut read: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut picked = Vec::new();
    for range in ranges {
        let place = |v: &Scalar| v.as_i128().and_then(|v| u64::try_from(v - from).ok());
        let Some((mut at, last)) = place(&range.lo)
            .zip(place(&range.hi))
            .filter(|(_, last)| *last < length)
        else {
            return Ok(None);
        };
        while at <= last {
            let index = at / chunk;
            let bytes = match read.entry(index) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(empty) => {
                    let path = vfs::join(FOLDER, &format!("{name}/c/{index}"));
                    empty.insert(view.read_file(&path).await?.to_vec())
                }
            };
            let width = bytes.len() / usize::try_from(chunk)?;
            let end = last.min((index + 1) * chunk - 1);
            let (first, stop) = (usize::try_from(at % chunk)?, usize::try_from(end % chunk)? + 1);
            let cells = bytes.get(first * width..stop * width);
            picked.extend(cells.context("the view made a short chunk of coordinates")?);
            at = end + 1;
        }
    }
    Ok(Some(picked))
}

/// The name of the array that says which cells of a text have values. No other array of this TileDB array has it.
fn valid_name(schema: &Schema, shown: &str) -> String {
    let numbers = members(schema).into_iter().map(|(name, _)| name);
    let taken: BTreeSet<String> = numbers
        .chain(text_members(schema).into_iter().map(|(name, _)| name))
        .collect();
    let mut name = format!("{shown}_valid");
    while taken.contains(&name) {
        name.push('_');
    }
    name
}
