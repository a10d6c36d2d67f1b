//! HDF5, and NetCDF-4, which is HDF5 with dimension scales.

#[cfg(feature = "h5ad")]
pub(crate) mod anndata;
mod attributes;
mod decode;
mod elements;
mod filters;
mod links;
mod scales;
mod tree;
mod types;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use hdf5_reader::{Hdf5File, OpenOptions, SliceInfo, SliceInfoElem};
use hyperslab::{CellCount, Column};

use self::tree::{Node, Tree};
use self::types::Layout;
use crate::cf::{self, Axis, Dataset, Field, Group, ReadBox, Variable};
use crate::{Options, Source, text};

/// Opens an HDF5 file.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>> {
    #[cfg(feature = "netcdf")]
    if crate::netcdf::is_classic(path)? {
        return crate::netcdf::open(path, options);
    }
    let file = open_file(path, options)?;
    let (dataset, objects) = describe(&file)?;
    cf::source(dataset, Box::new(Objects { objects }), options)
}

/// Opens the file. Data in other files that it names is not read, because a file could name any.
fn open_file(path: &Path, options: &Options) -> Result<Hdf5File> {
    let cache = usize::try_from(options.memory_bytes).unwrap_or(usize::MAX);
    let options = OpenOptions::default()
        .with_chunk_cache_bytes(cache)
        .with_filter_registry(filters::registry());
    Hdf5File::open_with_options(path, options).context("this is not an HDF5 or NetCDF-4 file, or it is damaged")
}

/// The datasets of a file, in the order of the arrays.
struct Objects {
    objects: Vec<Object>,
}

/// A dataset to read.
struct Object {
    dataset: hdf5_reader::Dataset,
    layout: Layout,
    /// The length of the text that the last axis holds.
    text: Option<u64>,
}

fn describe(file: &Hdf5File) -> Result<(Dataset, Vec<Object>)> {
    let tree = Tree::walk(file)?;
    let scales = scales::Scales::of(&tree);
    let mut out = Dataset {
        notes: tree.notes.clone(),
        ..Dataset::default()
    };
    for group in &tree.groups {
        let (attributes, notes) = attributes::of_group(group)?;
        out.groups.push(Group {
            path: group.path.clone(),
            attributes,
        });
        out.notes.extend(notes);
    }
    let (mut objects, mut first_left_out) = (Vec::new(), None);
    let nodes: Vec<&Node> = tree
        .datasets
        .iter()
        .filter(|n| !scales.is_only_a_dimension(n))
        .collect();
    let axes: Vec<Vec<Axis>> = nodes.iter().map(|n| scales.axes(n)).collect();
    let text_axes = cf::text_axes(nodes.iter().zip(&axes).map(|(node, axes)| {
        let axes = axes.iter().map(|a| a.name.as_str());
        (
            node.name.as_str(),
            axes.collect(),
            types::is_character(node.dataset.dtype()),
        )
    }));
    for (node, axes) in nodes.into_iter().zip(axes) {
        let is_text = |axis: &Axis| scales.is_netcdf() && text_axes.contains(&axis.name);
        let text = axes.last().filter(|a| is_text(a)).map(|a| a.length);
        match variable(node, axes, text, &scales) {
            Ok((variable, object, notes)) => {
                out.variables.push(variable);
                out.notes.extend(notes);
                objects.push(object);
            }
            Err(why) => {
                let note = format!("'{}' is left out: {why:#}", node.path());
                first_left_out = first_left_out.or_else(|| Some(note.clone()));
                out.notes.push(note);
            }
        }
    }
    if let Some(note) = first_left_out.filter(|_| objects.is_empty()) {
        bail!("nothing in the file can be imported: {note}");
    }
    Ok((out, objects))
}

type Described = (Variable, Object, Vec<String>);

fn variable(node: &Node, mut axes: Vec<Axis>, text: Option<u64>, scales: &scales::Scales) -> Result<Described> {
    let dataset = node.dataset.clone();
    ensure!(
        !dataset.shape().is_empty() || dataset.num_elements()? > 0,
        "it is empty, without axes"
    );
    let layout = types::layout(&dataset)?;
    check_filters(&dataset, &layout)?;
    let lengths: Vec<u64> = axes.iter().map(|a| a.length).collect();
    let dataset = dataset.with_padded_shape(&lengths)?;
    let chunk = dataset.chunks().unwrap_or_default();
    let mut chunk: Vec<u64> = chunk.into_iter().map(u64::from).collect();
    if text.is_some() {
        axes.pop();
        chunk.pop();
    }
    let (mut attributes, notes) = attributes::of_dataset(node)?;
    attributes.extend(layout.attributes());
    let mut fields = layout.fields();
    if let [field] = fields.as_mut_slice() {
        field.fill = fill(&dataset, &layout, field, scales.is_netcdf());
    }
    let variable = Variable {
        group: node.group.clone(),
        name: scales::name(&node.name).to_owned(),
        axes,
        fields,
        chunk: (!chunk.is_empty()).then_some(chunk),
        attributes,
    };
    Ok((variable, Object { dataset, layout, text }, notes))
}

/// Reads the first cell, because only a read tells whether the reader knows the filters.
///
/// # Errors
/// It does not know one of them. Other errors are left to the import.
fn check_filters(dataset: &hdf5_reader::Dataset, layout: &Layout) -> Result<()> {
    if dataset.shape().contains(&0) {
        return Ok(());
    }
    let first = SliceInfoElem::Slice {
        start: 0,
        end: 1,
        step: 1,
    };
    let selection = SliceInfo {
        selections: dataset.shape().iter().map(|_| first.clone()).collect(),
    };
    match elements::read(dataset, &selection, layout) {
        Err(why) if format!("{why:#}").contains("unsupported filter") => {
            bail!("{why:#}; to import it, unpack the file with `h5repack -f NONE IN OUT`")
        }
        _ => Ok(()),
    }
}

/// The fill value of a dataset. Zero is what HDF5 fills with if nobody says otherwise, and NetCDF declares its own as an
/// attribute.
fn fill(dataset: &hdf5_reader::Dataset, layout: &Layout, field: &Field, is_netcdf: bool) -> Option<Vec<u8>> {
    let bytes = dataset.fill_value()?.value.as_ref()?;
    let stated = !is_netcdf && field.cell == CellCount::ONE && bytes.iter().any(|b| *b != 0);
    if !stated || field.datatype.is_bytes() {
        return None;
    }
    let columns = decode::columns(dataset, layout, bytes, 1).ok()?;
    columns.into_iter().next().map(|column| column.data)
}

impl ReadBox for Objects {
    fn read(&mut self, variable: usize, ranges: &[Range<u64>]) -> Result<Vec<Column>> {
        let object = self.objects.get(variable).context("there is no such dataset")?;
        let mut all = ranges.to_vec();
        all.extend(object.text.map(|width| 0..width));
        let selections = all.iter().map(|r| SliceInfoElem::Slice {
            start: r.start,
            end: r.end,
            step: 1,
        });
        let selection = SliceInfo {
            selections: selections.collect(),
        };
        if let Some(width) = object.text {
            let bytes = elements::read(&object.dataset, &selection, &object.layout)?;
            return Ok(vec![text::column(&bytes, width, ranges)]);
        }
        let cells = ranges.iter().map(|r| r.end.saturating_sub(r.start)).product::<u64>();
        let bytes = elements::read(&object.dataset, &selection, &object.layout)?;
        decode::owned(&object.dataset, &object.layout, bytes, usize::try_from(cells)?)
    }
}
