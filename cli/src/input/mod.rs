//! Files of cells: what is in them, before it is known what an array makes of it.

mod arrow;
mod bounds;
mod convert;
mod csv;
mod npy;
mod npz;
mod text;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use arrow_array::ArrayRef;
use hyperslab::Column;
use hyperslab::arrow::FieldType;
use hyperslab::format::schema::Layout;

use crate::failure::usage;
use crate::formats::{self, Input};

#[cfg(test)]
pub(crate) use arrow::read as read_arrow;
pub(crate) use convert::column;
#[cfg(test)]
pub(crate) use npy::read as read_npy;
#[cfg(test)]
pub(crate) use npz::read as read_npz;
pub(crate) use text::{Lines, hex, infer as infer_text, number, range, scalar};

/// Columns of equal length, or arrays of equal shape.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Named>,
    /// The lengths of the axes and the order of cells, where the file knows.
    pub(crate) shape: Option<Shape>,
    /// Values that belong to no cell: names, and one row of values each.
    pub(crate) extras: Vec<(String, Column)>,
    /// What the axes are called, where the file hints at it.
    pub(crate) axes: Option<Vec<String>>,
}

/// One column.
#[derive(Debug)]
pub(crate) struct Named {
    /// Empty if the file does not say.
    pub(crate) name: String,
    pub(crate) values: Values,
}

/// The values of a column, as the file holds them.
#[derive(Debug)]
pub(crate) enum Values {
    /// What the Arrow field says, and an array a batch.
    Arrow(FieldType, Vec<ArrayRef>),
    /// Numbers, and bytes of a fixed length.
    Plain(Column),
    /// Text of any type: UTF-8 cells, null where there is nothing.
    Text(Column, Arc<Lines>),
}

/// How cells lie.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) lengths: Vec<u64>,
    pub(crate) layout: Layout,
}

impl Values {
    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Arrow(_, arrays) => arrays.iter().map(|a| a.len()).sum(),
            Self::Plain(column) | Self::Text(column, _) => column.len(),
        }
    }
}

impl Table {
    /// How many cells each column has.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }

    /// Takes a column out.
    pub(crate) fn take(&mut self, is: impl Fn(&str) -> bool) -> Option<Named> {
        let at = self.columns.iter().position(|c| is(&c.name))?;
        Some(self.columns.remove(at))
    }

    /// On which lines of a file of text the rows start.
    pub(crate) fn lines(&self) -> Option<Arc<Lines>> {
        self.columns.iter().find_map(|c| match &c.values {
            Values::Text(_, lines) => Some(Arc::clone(lines)),
            Values::Arrow(..) | Values::Plain(_) => None,
        })
    }

    /// What the columns are called.
    pub(crate) fn names(&self) -> String {
        self.columns
            .iter()
            .map(|c| c.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(name: &str, format: Option<Input>) -> Result<Table> {
    ensure!(
        !name.contains("://"),
        usage(
            "IN",
            format!("{name} is no file of this machine; fetch it first, or pipe it in with -")
        )
    );
    let format = match format {
        Some(format) => format,
        None if name == "-" => {
            return Err(usage(
                "IN",
                "standard input has no ending; give --format, as in --format arrow",
            ));
        }
        None => formats::of_name(name).map_err(|why| usage("IN", why))?,
    };
    let table = open(name).and_then(|input| match format {
        Input::Npy => npy::read(input),
        Input::Npz => npz::read(all(input)?),
        Input::Csv => csv::read(&all(input)?, b','),
        Input::Tsv => csv::read(&all(input)?, b'\t'),
        Input::Arrow => arrow::read(all(input)?),
    });
    let table = table.with_context(|| format!("cannot read {}", if name == "-" { "standard input" } else { name }))?;
    let rows = table.rows();
    if let Some(odd) = table.columns.iter().find(|c| c.values.len() != rows) {
        ensure!(
            odd.values.len() == rows,
            "{name}: column '{}' has {} rows, others {rows}",
            odd.name,
            odd.values.len()
        );
    }
    Ok(table)
}

fn open(name: &str) -> Result<Box<dyn Read>> {
    if name == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::with_capacity(1 << 20, File::open(name)?)))
}

fn all(mut input: Box<dyn Read>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
