//! Attributes of groups and datasets, as metadata.

use anyhow::{Result, bail};
use hdf5_reader::{Attribute, Datatype as Type};
use hyperslab::Datatype;
use hyperslab::metadata::MetaValue;

use super::decode;
use super::tree::{Branch, Node};
use super::types::{self, Kind};

/// Attributes that hold the structure of the file.
const STRUCTURE: [&str; 8] = [
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
    "_NCCOPY",
];
/// Further ones of dimension scales.
const OF_SCALES: [&str; 2] = ["CLASS", "NAME"];

type Found = (Vec<(String, MetaValue)>, Vec<String>);

/// The attributes of a group, and notes on those that do not carry over.
pub(super) fn of_group(branch: &Branch) -> Result<Found> {
    let attributes = branch.group.attributes()?;
    let resolve = |reference: &[u8], bytes: usize| branch.group.resolve_vlen_reference_bytes(reference, bytes);
    let width = 8 + usize::from(branch.group.offset_size());
    Ok(all(&attributes, &branch.path, false, width, &resolve))
}

/// The attributes of a dataset, and notes on those that do not carry over.
pub(super) fn of_dataset(node: &Node) -> Result<Found> {
    let resolve = |reference: &[u8], bytes: usize| node.dataset.resolve_vlen_reference_bytes(reference, bytes);
    let is_scale = node.text("CLASS").is_some_and(|class| class == "DIMENSION_SCALE");
    let width = node.dataset.vlen_reference_size();
    Ok(all(&node.attributes, &node.path(), is_scale, width, &resolve))
}

type Resolve<'a> = &'a dyn Fn(&[u8], usize) -> hdf5_reader::error::Result<Vec<u8>>;

fn all(attributes: &[Attribute], path: &str, is_scale: bool, width: usize, resolve: Resolve<'_>) -> Found {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    for attribute in attributes {
        let name = attribute.name.as_str();
        if STRUCTURE.contains(&name) || (is_scale && OF_SCALES.contains(&name)) {
            continue;
        }
        match value(attribute, width, resolve) {
            Ok(value) => out.push((name.to_owned(), value)),
            Err(why) => notes.push(format!("the attribute '{name}' of '/{path}' is left out: {why:#}")),
        }
    }
    (out, notes)
}

/// The value of an attribute. Several texts become one, with a line for each.
fn value(attribute: &Attribute, width: usize, resolve: Resolve<'_>) -> Result<MetaValue> {
    if let Some(texts) = &attribute.decoded_strings {
        return Ok(MetaValue::text(&texts.join("\n")));
    }
    let empty = attribute.num_elements()? == 0;
    let layout = types::of_attribute(&attribute.datatype)?;
    let Some(part) = layout.parts.first() else {
        bail!("it has no value")
    };
    let raw = if empty { &[] } else { attribute.raw_data.as_slice() };
    Ok(match &part.kind {
        Kind::Numbers { number, .. } => {
            let mut bytes = Vec::new();
            decode::push_numbers(*number, raw, &mut bytes);
            // Other readers know no metadata of the type bool.
            let datatype = if number.datatype == Datatype::Bool {
                Datatype::Int8
            } else {
                number.datatype
            };
            MetaValue::bytes(datatype, &bytes)
        }
        Kind::Text { bytes, padding } => {
            let texts = raw.chunks_exact((*bytes).max(1)).map(|t| decode::trimmed(t, *padding));
            MetaValue::text(&texts.collect::<Vec<_>>().join("\n"))
        }
        Kind::LongText { padding }
            if attribute.shape.is_empty() && !matches!(attribute.datatype, Type::String { .. }) =>
        {
            // The library has fetched the text already.
            MetaValue::text(&decode::trimmed(raw, *padding))
        }
        Kind::LongText { padding } => {
            let mut texts = Vec::new();
            for reference in raw.chunks_exact(width) {
                texts.push(decode::trimmed(&resolve(reference, 1)?, *padding));
            }
            MetaValue::text(&texts.join("\n"))
        }
        Kind::Blob { .. } => MetaValue::bytes(Datatype::Blob, raw),
        Kind::Sequence { number } => {
            let mut bytes = Vec::new();
            for reference in raw.chunks_exact(width) {
                decode::push_numbers(*number, &resolve(reference, number.bytes)?, &mut bytes);
            }
            MetaValue::bytes(number.datatype, &bytes)
        }
    })
}
