//! Zarr, versions 2 and 3: a store or a group of arrays becomes what NetCDF becomes, an array becomes an array, and an image of
//! OME-NGFF becomes what OME-TIFF becomes.
//!
//! No library: `zarrs` decodes gzip, zlib and Zstandard without a limit, so that a small chunk can fill the memory; its
//! Blosc needs a C++ compiler; it lacks LZ4; and its stores are not those of the engine, which are used here.

mod attributes;
mod chunks;
mod codec;
mod fill;
mod meta;
mod ome;
mod store;
mod tree;
mod types;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyperslab::Column;
use hyperslab::metadata::MetaValue;

use self::chunks::Reader;
use self::meta::Meta;
use self::store::Store;
use self::tree::{Kind, Node};
use self::types::Kind as Cells;
use crate::cf::{self, Axis, Dataset, Field, Group, ReadBox, Variable};
use crate::{Options, Source};

/// Whether a folder of the local disk is a Zarr store.
pub(crate) fn is_store(folder: &Path) -> bool {
    tree::FILES.iter().any(|file| folder.join(file).is_file())
}

/// Opens a store, a group or an array, in a folder or at an address.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>> {
    let store = Store::open(&path.to_string_lossy())?;
    let nodes = tree::read(&store)?;
    if let Some(image) = ome::Image::of(&nodes) {
        let reader = |path: &str, meta| Reader::new(store.clone(), path.to_owned(), meta, options.memory_bytes);
        return image.source(&nodes, reader);
    }
    let mut dataset = Dataset::default();
    let mut readers = Vec::new();
    let mut first_left_out = None;
    for node in &nodes {
        match variable(node, path) {
            Ok(None) => dataset.groups.push(Group {
                path: node.path.clone(),
                attributes: attributes::all(&node.attributes, false),
            }),
            Ok(Some((variable, meta))) => {
                dataset.variables.push(variable);
                readers.push(Reader::new(
                    store.clone(),
                    node.path.clone(),
                    meta,
                    options.memory_bytes,
                ));
            }
            Err(why) => {
                let name = if node.path.is_empty() {
                    "the array"
                } else {
                    &format!("'{}'", node.path)
                };
                let note = format!("{name} is left out: {why:#}");
                first_left_out = first_left_out.or_else(|| Some(note.clone()));
                dataset.notes.push(note);
            }
        }
    }
    if let Some(note) = first_left_out.filter(|_| readers.is_empty()) {
        bail!("nothing in the store can be imported: {note}");
    }
    cf::source(dataset, Box::new(Arrays { readers }), options)
}

/// The variable of an array; `None` for a group.
fn variable(node: &Node, store: &Path) -> Result<Option<(Variable, Meta)>> {
    let (mut meta, is_v2) = match &node.kind {
        Kind::Group => return Ok(None),
        Kind::Array2(value) => (Meta::of_v2(value)?, true),
        Kind::Array3(value) => (Meta::of_v3(value)?, false),
    };
    let named = node.attributes.get(attributes::DIMENSIONS).and_then(|n| n.as_array());
    let is_xarray = is_v2 && named.is_some_and(|n| n.len() == meta.shape.len());
    if let Some(names) = named.filter(|_| is_xarray) {
        meta.names = names.iter().map(|n| n.as_str().map(str::to_owned)).collect();
    }
    let (datatype, cell) = meta.of.stored();
    let mut attributes = attributes::all(&node.attributes, datatype.is_float());
    // In version 2, xarray takes the fill value for the missing value.
    if is_xarray && meta.has_fill && matches!(meta.of.kind, Cells::Number(_)) {
        attributes.retain(|(name, _)| name != attributes::FILL);
        attributes.push((attributes::FILL.to_owned(), MetaValue::bytes(datatype, &meta.fill)));
    }
    let axes = meta
        .shape
        .iter()
        .zip(&meta.names)
        .enumerate()
        .map(|(n, (length, name))| Axis {
            name: name
                .clone()
                .filter(|n| !n.is_empty())
                .unwrap_or_else(|| format!("dim_{n}")),
            length: *length,
            unlimited: false,
        });
    let (group, name) = node.path.rsplit_once('/').unwrap_or(("", &node.path));
    let variable = Variable {
        group: group.to_owned(),
        // An array that is the whole store has the name of its folder.
        name: if name.is_empty() { stem(store) } else { name.to_owned() },
        axes: axes.collect(),
        fields: vec![Field::only(datatype, cell)],
        chunk: (!meta.chunk.is_empty()).then(|| meta.chunk.clone()),
        attributes,
    };
    Ok(Some((variable, meta)))
}

/// The name of a store without its ending.
fn stem(store: &Path) -> String {
    let stem = store.file_stem().map(|s| s.to_string_lossy().into_owned());
    stem.filter(|s| !s.is_empty()).unwrap_or_else(|| "data".to_owned())
}

/// The arrays of a store, in the order of the variables.
struct Arrays {
    readers: Vec<Reader>,
}

impl ReadBox for Arrays {
    fn read(&mut self, variable: usize, ranges: &[Range<u64>]) -> Result<Vec<Column>> {
        let reader = self.readers.get_mut(variable).context("there is no such array")?;
        Ok(vec![reader.read(ranges)?])
    }
}
