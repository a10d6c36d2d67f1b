//! The arrays of `uns`, as tiledbsoma stores them: numbers as dense arrays, and text as tables with a hint.

use std::ops::Range;

use anyhow::{Result, ensure};
use hyperslab::schema::{ArrayType, Attribute, CurrentDomain, Schema};
use hyperslab::{CellCount, Column, Datatype};

use super::file::{File, Values};
use super::rows::Rows;
use super::soma;
use crate::{Length, NewArray};

/// The key that tells text arrays from other tables, and its values by the number of axes.
const HINT: &str = "soma_uns_outgest_hint";
const HINTS: [&str; 2] = ["array_1d", "array_2d"];
/// The most columns of a text array.
const COLUMNS_MAX: u64 = 1 << 12;
/// The cells of a tile along each axis, by the number of axes less one.
const TILES: [u64; 3] = [2048, 512, 64];

/// A dense array of numbers.
pub(super) struct Numbers(Values);

/// A table of text.
pub(super) struct Texts {
    values: Values,
    rows: Rows,
    /// The length of its second axis; `None` if it has one axis only.
    columns: Option<u64>,
}

impl Numbers {
    /// # Errors
    /// The dataset cannot be read, or holds something else.
    pub(super) fn new(file: &File, path: &str, axes: usize) -> Result<Self> {
        let values = file.required(path, axes)?;
        let datatype = values.datatype;
        let is_number = datatype.is_integer() || datatype.is_float() || datatype == Datatype::Bool;
        ensure!(is_number && values.cell == CellCount::ONE, "its cells are no numbers");
        ensure!(axes > 0 && !values.shape().contains(&0), "it is empty");
        Ok(Self(values))
    }

    /// The array to make.
    pub(super) fn array(&self, path: &str) -> NewArray {
        let shape = self.0.shape();
        let tile = TILES.get(shape.len() - 1).or(TILES.last()).copied().unwrap_or(1);
        let names = (0..shape.len()).map(|axis| format!("soma_dim_{axis}"));
        let dimensions = names.map(|name| soma::dimension(&name, tile)).collect();
        let mut attribute = Attribute::new(soma::DATA, self.0.datatype, CellCount::ONE);
        attribute.filters = soma::filters();
        let mut schema = Schema::new(ArrayType::Dense, dimensions, vec![attribute]);
        schema.current_domain = Some(CurrentDomain {
            ranges: shape.iter().map(|length| soma::range(*length)).collect(),
        });
        NewArray {
            path: path.to_owned(),
            schema,
            enumerations: Vec::new(),
            metadata: soma::metadata("SOMADenseNDArray"),
            length: Length::Box(shape.to_vec()),
        }
    }

    pub(super) fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        Ok(vec![(soma::DATA.to_owned(), self.0.read(ranges)?)])
    }
}

impl Texts {
    /// # Errors
    /// The dataset cannot be read, or has more than two axes.
    pub(super) fn new(file: &File, path: &str, axes: usize) -> Result<Self> {
        ensure!(axes <= HINTS.len(), "text with {axes} axes is not supported");
        let values = file.required(path, axes)?;
        ensure!(values.datatype == Datatype::StringUtf8, "its cells are no text");
        let (rows, columns) = (values.length(), values.shape().get(1).copied());
        ensure!(
            columns.unwrap_or(1) <= COLUMNS_MAX,
            "it has more than {COLUMNS_MAX} columns"
        );
        ensure!(rows > 0 && columns != Some(0), "it is empty");
        Ok(Self {
            values,
            rows: Rows::new(rows),
            columns,
        })
    }

    fn names(&self) -> Vec<String> {
        match self.columns {
            None => vec!["values".to_owned()],
            Some(columns) => (0..columns).map(|n| format!("values_{n}")).collect(),
        }
    }

    /// The array to make.
    pub(super) fn array(&self, path: &str) -> NewArray {
        let attribute = |name: String| {
            let mut attribute = Attribute::new(&name, Datatype::StringUtf8, CellCount::Var);
            attribute.nullable = true;
            attribute.filters = soma::filters();
            attribute
        };
        let attributes = self.names().into_iter().map(attribute).collect();
        let mut array = self.rows.array(path, attributes, Vec::new(), None);
        let [one, two] = HINTS;
        let hint = if self.columns.is_some() { two } else { one };
        array.metadata.push(soma::text(HINT, hint));
        array
    }

    /// The next rows.
    pub(super) fn read(&mut self, rows: u64) -> Result<Option<Vec<(String, Column)>>> {
        let names = (0..).zip(self.names());
        let (values, is_matrix) = (&self.values, self.columns.is_some());
        let columns = names.map(|(number, name)| {
            let read = move |range: Range<u64>| {
                let column = match is_matrix {
                    false => values.read(&[range])?,
                    true => values.read(&[range, number..number + 1])?,
                };
                let cells = column.len();
                Ok(column.with_validity(vec![1; cells]))
            };
            (name, read)
        });
        self.rows.read(rows, columns)
    }
}
