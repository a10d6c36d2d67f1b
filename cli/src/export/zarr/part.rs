//! Which attributes of an array a Zarr store has, and the parts of them that `--select` selects.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use hyperslab::internals::view::encode::Format;
use hyperslab::internals::view::selection::{self, display_name};
use hyperslab::internals::view::zarr::{Member, dimension_names, members, text_members};
use hyperslab::schema::{Attribute, Dimension};
use hyperslab::view::View;
use hyperslab::{Array, ScalarRange, vfs};
use serde_json::{Map, Value, json};

use super::super::job::names;
use super::cells::{CellArray, Content, is_text, text_document};
use super::{Chunks, FOLDER, Node, Store, lengths, opened, shown_name, zstd_codec};
use crate::args::Export;
use crate::errors::usage;
use crate::meta;
use crate::show;

/// The selected coordinates along each dimension.
type Ranges = Vec<Vec<ScalarRange>>;

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
pub(super) fn left_out(array: &Array, wanted: Option<&[String]>) -> BTreeSet<String> {
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

/// Cells of a tile along each dimension, but not more than `lengths`.
fn tile(dimensions: &[Dimension], lengths: &[u64]) -> Vec<u64> {
    let extents = dimensions.iter().map(|d| d.extent.as_ref().and_then(|e| e.as_i128()));
    let extents = extents.map(|e| e.and_then(|e| u64::try_from(e).ok()).unwrap_or(1));
    extents.zip(lengths).map(|(e, n)| e.min(*n).max(1)).collect()
}

/// The number of coordinates in ranges.
fn count(ranges: &[ScalarRange]) -> u64 {
    let length = |r: &ScalarRange| Some(r.hi.as_i128()? - r.lo.as_i128()? + 1);
    let all: i128 = ranges.iter().filter_map(length).sum();
    u64::try_from(all).unwrap_or(u64::MAX)
}

impl Store {
    /// Adds the text attributes of an array, along these ranges or along its dimensions.
    pub(super) async fn add_text(
        &mut self,
        array: &Array,
        wanted: Option<&[String]>,
        ranges: Option<&Ranges>,
    ) -> Result<()> {
        let schema = array.schema();
        let whole = || {
            schema
                .dimensions
                .iter()
                .map(|d| d.domain.clone().into_iter().collect())
                .collect()
        };
        let ranges: Ranges = ranges.cloned().unwrap_or_else(whole);
        let lengths: Vec<u64> = ranges.iter().map(|r| count(r)).collect();
        let chunk = tile(&schema.dimensions, &lengths);
        let metadata = array.metadata().await?;
        for (name, attribute) in text_members(schema) {
            let Some((_, attribute)) = schema.attribute(&attribute) else {
                continue;
            };
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&attribute.name));
            if !is_wanted || !is_text(attribute) {
                continue;
            }
            let cells = |content| {
                let cells = CellArray::new(array, attribute, content, ranges.clone(), chunk.clone());
                Chunks::Cells(Box::new(cells))
            };
            let prefix = format!("__tiledb_attr.{}.", attribute.name);
            let own = metadata
                .iter()
                .filter_map(|(key, v)| Some((key.strip_prefix(&prefix)?, v)));
            let mut document = text_document(&lengths, &chunk, &dimension_names(schema));
            document["attributes"] = own.map(|(key, v)| (key.to_owned(), meta::value(v))).collect();
            let shown = shown_name(array, &name);
            if attribute.nullable {
                let valid = format!("{shown}_valid");
                show::note(format_args!(
                    "null cells of '{}' are empty text in the store; the array '{valid}' says which cells have values",
                    display_name(&attribute.name)
                ));
                let mut document = document.clone();
                (document["data_type"], document["fill_value"]) = (json!("bool"), json!(false));
                document["codecs"] = json!([{ "name": "bytes" }, zstd_codec()]);
                document["attributes"] = json!({});
                let chunks = cells(Content::Validity);
                self.insert(valid, Node { chunks, document })?;
            }
            let chunks = cells(Content::Text);
            self.insert(shown, Node { chunks, document })?;
        }
        Ok(())
    }

    fn insert(&mut self, name: String, node: Node) -> Result<()> {
        ensure!(
            !self.nodes.contains_key(&name),
            "two arrays are called '{name}'; export one of them by itself, or leave it out with --attrs"
        );
        self.nodes.insert(name, node);
        Ok(())
    }

    /// Adds the part of an array that a selection selects. An axis with one coordinate has length 1.
    pub(super) async fn add_part(&mut self, array: &Array, text: &str, wanted: &[String]) -> Result<()> {
        let schema = array.schema();
        let ranges = selected(array, text).await?.region(schema)?.0;
        let lengths: Vec<u64> = ranges.iter().map(|r| count(r)).collect();
        let (view, root) = opened(array).await?;
        self.attributes = root["attributes"].as_object().cloned().unwrap_or_default();
        let left_out = left_out(array, Some(wanted));
        let documents = root["consolidated_metadata"]["metadata"].as_object();
        let documents = documents.cloned().unwrap_or_default();
        let kinds = members(schema);
        for (name, mut document) in documents.into_iter().filter(|(name, _)| !left_out.contains(name)) {
            let kind = kinds.iter().find(|(n, _)| *n == name).map(|(_, member)| member);
            without_place(&mut document);
            let chunks = match kind {
                Some(Member::Values(attribute)) => {
                    self.cells(array, (attribute.as_str(), Content::Numbers), &ranges, &mut document)?
                }
                Some(Member::Valid(attribute)) => {
                    self.cells(array, (attribute.as_str(), Content::Validity), &ranges, &mut document)?
                }
                Some(Member::Coordinates(d)) => {
                    let (along, length) = (ranges.get(*d), lengths.get(*d).copied().unwrap_or(0));
                    let from = schema.dimensions.get(*d).and_then(|d| d.domain.as_ref()?.lo.as_i128());
                    let along = along.map(Vec::as_slice).unwrap_or_default();
                    let all = coordinates(&view, &name, &document).await?;
                    let Some(bytes) = picked(&all, along, from.unwrap_or(0)) else {
                        show::note(format_args!(
                            "the coordinates along '{name}' are left out, because they end before the selection"
                        ));
                        continue;
                    };
                    document["shape"] = json!([length]);
                    document["chunk_grid"]["configuration"]["chunk_shape"] = json!([length.max(1)]);
                    Chunks::One(bytes)
                }
                Some(Member::GridMapping) | None => Chunks::One(Vec::new()),
            };
            self.insert(shown_name(array, &name), Node { chunks, document })?;
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
        let cells = CellArray::new(array, attribute, content, ranges.clone(), chunk);
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

/// The coordinates of a view's array, each as its bytes.
async fn coordinates(view: &View, name: &str, document: &Value) -> Result<Vec<Vec<u8>>> {
    let configuration: &Map<String, Value> = match &document["chunk_grid"]["configuration"] {
        Value::Object(found) => found,
        _ => return Ok(Vec::new()),
    };
    let length = lengths(&document["shape"]).first().copied().unwrap_or(0);
    let chunk = configuration.get("chunk_shape").map(lengths).unwrap_or_default();
    let chunk = chunk.first().copied().unwrap_or(1).max(1);
    let mut all: Vec<Vec<u8>> = Vec::new();
    for index in 0..length.div_ceil(chunk) {
        let bytes = view.read_file(&vfs::join(FOLDER, &format!("{name}/c/{index}"))).await?;
        let width = bytes.len() / usize::try_from(chunk)?;
        all.extend(bytes.chunks_exact(width.max(1)).map(<[u8]>::to_vec));
    }
    all.truncate(usize::try_from(length)?);
    Ok(all)
}

/// The coordinates of these ranges, if there are any; `from` is the number of the first one.
fn picked(all: &[Vec<u8>], ranges: &[ScalarRange], from: i128) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for range in ranges {
        let place = |v: i128| usize::try_from(v - from).ok();
        let (first, last) = (place(range.lo.as_i128()?)?, place(range.hi.as_i128()?)?);
        all.get(first..=last)?.iter().for_each(|one| bytes.extend(one));
    }
    Some(bytes)
}
