//! The layout of TileDB-CF, for files of variables over named axes: a group with a dense array for each variable.
//!
//! ```text
//! t2m(time, lat)  ─▶  array t2m, dimensions time and lat from 0, attribute t2m
//! lat(lat)        ─▶  array lat, dimension lat, attribute lat.data, because names may not repeat
//! height          ─▶  array height, dimension __scalars of length 1
//! t2m:units = "K" ─▶  metadata __tiledb_attr.t2m.units of the array t2m
//! ```
//!
//! A format describes its file as a [`Dataset`] and reads boxes of [`Variable`]s; see [`source`].

mod names;
mod plan;
mod unpack;

use std::collections::HashSet;
use std::ops::Range;

use anyhow::{Context as _, Result};
use hyperslab::metadata::MetaValue;
use hyperslab::{CellCount, Column, Datatype};

use self::unpack::Unpack;
use crate::{Options, Plan, Source};

/// The groups and variables of a file.
#[derive(Debug, Default)]
pub(crate) struct Dataset {
    /// The groups, each before the groups within it. The first is the root, with the path "". None for a single array.
    pub(crate) groups: Vec<Group>,
    /// The variables.
    pub(crate) variables: Vec<Variable>,
    /// What does not carry over.
    pub(crate) notes: Vec<String>,
}

/// A group of a file.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Its path, such as `forecast/daily`.
    pub(crate) path: String,
    /// Its attributes.
    pub(crate) attributes: Vec<(String, MetaValue)>,
}

/// An axis of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Its name.
    pub(crate) name: String,
    /// Its length.
    pub(crate) length: u64,
    /// Whether it can grow.
    pub(crate) unlimited: bool,
}

/// A variable of a file.
#[derive(Debug, Default)]
pub(crate) struct Variable {
    /// The path of its group.
    pub(crate) group: String,
    /// Its name.
    pub(crate) name: String,
    /// Its axes; none for a single value.
    pub(crate) axes: Vec<Axis>,
    /// Its fields: one, or one for each member of a compound type.
    pub(crate) fields: Vec<Field>,
    /// The lengths of its chunks, if it has chunks.
    pub(crate) chunk: Option<Vec<u64>>,
    /// Its attributes.
    pub(crate) attributes: Vec<(String, MetaValue)>,
}

/// A value in each cell of a variable.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Its name in a compound type; `None` if the variable has no other field.
    pub(crate) name: Option<String>,
    /// The type of its values.
    pub(crate) datatype: Datatype,
    /// How many values a cell holds.
    pub(crate) cell: CellCount,
    /// The value of cells that were never written, unless an attribute `_FillValue` says it.
    pub(crate) fill: Option<Vec<u8>>,
    /// The values that its integers stand for, counted from 0.
    pub(crate) names: Option<Column>,
}

impl Field {
    /// The only field of a variable.
    pub(crate) fn only(datatype: Datatype, cell: CellCount) -> Self {
        Self {
            name: None,
            datatype,
            cell,
            fill: None,
            names: None,
        }
    }
}

/// The axes that are lengths of text, as xarray finds them: they are the last axis of character variables only, and no
/// variable has their name. `variables` gives the name, the axes and whether the cells are characters.
pub(crate) fn text_axes<'a>(variables: impl Iterator<Item = (&'a str, Vec<&'a str>, bool)>) -> HashSet<String> {
    let (mut last, mut other) = (HashSet::new(), HashSet::new());
    for (name, axes, characters) in variables {
        other.insert(name.to_owned());
        for (n, axis) in axes.iter().enumerate() {
            let is_last = characters && n + 1 == axes.len();
            let side = if is_last { &mut last } else { &mut other };
            side.insert((*axis).to_owned());
        }
    }
    last.retain(|axis| !other.contains(axis));
    last
}

/// Reads the cells of variables.
pub(crate) trait ReadBox: Send {
    /// Reads a box of a variable: a column for each field, in row-major order. A range for each axis.
    fn read(&mut self, variable: usize, ranges: &[Range<u64>]) -> Result<Vec<Column>>;
}

/// A source for the variables of a file.
pub(crate) fn source(dataset: Dataset, reader: Box<dyn ReadBox>, options: &Options) -> Result<Box<dyn Source>> {
    let unpacks = dataset
        .variables
        .iter()
        .map(|v| options.unpack.then(|| Unpack::of(v)).flatten());
    let unpacks: Vec<Option<Unpack>> = unpacks.collect();
    let plan = plan::plan(&dataset, &unpacks)?;
    Ok(Box::new(Variables {
        plan,
        unpacks,
        scalars: dataset.variables.iter().map(|v| v.axes.is_empty()).collect(),
        reader,
    }))
}

/// The variables of a file as a source of arrays.
struct Variables {
    plan: Plan,
    unpacks: Vec<Option<Unpack>>,
    /// Which variables have no axes.
    scalars: Vec<bool>,
    reader: Box<dyn ReadBox>,
}

impl Source for Variables {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        let new = self.plan.arrays.get(array).context("there is no such array")?;
        let scalar = self.scalars.get(array).copied().unwrap_or(false);
        let ranges = if scalar { &[] } else { ranges };
        let columns = self.reader.read(array, ranges);
        let mut columns = columns.with_context(|| format!("cannot read the variable '{}'", new.path))?;
        if let (Some(Some(unpack)), [column]) = (self.unpacks.get(array), columns.as_mut_slice()) {
            *column = unpack.apply(column);
        }
        let names = new.schema.attributes.iter().map(|a| a.name.clone());
        Ok(names.zip(columns).collect())
    }

    fn read_rows(&mut self, _: usize, _: usize) -> Result<Option<Vec<(String, Column)>>> {
        Ok(None)
    }
}
