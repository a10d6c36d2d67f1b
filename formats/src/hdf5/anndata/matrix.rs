//! Matrices, dense or compressed by row or column, as the cells that are not zero.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::schema::Attribute;
use hyperslab::{CellCount, Column, Datatype};

use super::file::{File, Values};
use super::soma;
use crate::{Length, NewArray};

/// The extent of a tile along each axis.
const TILE: u64 = 2048;
/// The most rows of a compressed matrix: their starts are held in memory.
const ROWS_MAX: u64 = 1 << 27;

/// A matrix, and how many of its cells were read.
pub(super) struct Matrix {
    shape: [u64; 2],
    datatype: Datatype,
    cells: Cells,
    /// The next cell: the number of a stored cell, or that of a cell in row-major order.
    next: u64,
}

enum Cells {
    Dense(Values),
    Compressed {
        data: Values,
        indices: Values,
        /// Where each row starts, and the number of cells.
        starts: Vec<u64>,
        /// Whether it is compressed by column.
        by_column: bool,
    },
}

impl Matrix {
    pub(super) fn new(file: &File, path: &str) -> Result<Self> {
        let (shape, values) = if file.is_group(path) {
            let by_column = match file.text(path, "encoding-type").as_deref() {
                Some("csr_matrix") => false,
                Some("csc_matrix") => true,
                other => bail!("its encoding {} is not supported", other.unwrap_or("without a name")),
            };
            let shape = file.attribute(path, "shape").context("it has no shape")?;
            let shape: Vec<i64> = shape.read_1d().context("its shape is damaged")?;
            let shape: Vec<u64> = shape.into_iter().filter_map(|n| u64::try_from(n).ok()).collect();
            let rows = shape.get(usize::from(by_column)).copied().unwrap_or(0);
            let cells = compressed(file, path, rows, by_column)?;
            (shape, cells)
        } else {
            let values = file.required(path, 2)?;
            (values.shape().to_vec(), Cells::Dense(values))
        };
        let shape = <[u64; 2]>::try_from(shape).ok().context("it has not two axes")?;
        let stored = match &values {
            Cells::Dense(values) => values,
            Cells::Compressed { data, .. } => data,
        };
        let datatype = stored.datatype;
        let number = datatype.is_integer() || datatype.is_float() || datatype == Datatype::Bool;
        ensure!(number && stored.cell == CellCount::ONE, "its cells are no numbers");
        Ok(Self {
            shape,
            datatype,
            cells: values,
            next: 0,
        })
    }

    /// The array to make.
    pub(super) fn array(&self, path: &str) -> NewArray {
        let [rows, columns] = self.shape;
        let [first, second] = soma::AXES;
        let mut attribute = Attribute::new(soma::DATA, self.datatype, CellCount::ONE);
        attribute.filters = soma::filters();
        let stored = match &self.cells {
            Cells::Dense(_) => None,
            Cells::Compressed { data, .. } => Some(data.length()),
        };
        NewArray {
            path: path.to_owned(),
            schema: soma::schema(&[(first, rows, TILE), (second, columns, TILE)], vec![attribute]),
            enumerations: Vec::new(),
            metadata: soma::metadata("SOMASparseNDArray"),
            length: Length::Rows(stored),
        }
    }

    /// The next cells, at most this many and at least one.
    pub(super) fn read(&mut self, most: u64) -> Result<Option<Vec<(String, Column)>>> {
        match &self.cells {
            Cells::Compressed { .. } => self.read_compressed(most),
            Cells::Dense(_) => loop {
                match self.read_dense(most)? {
                    Some(cells) if cells.first().is_some_and(|(_, c)| c.is_empty()) => {}
                    found => return Ok(found),
                }
            },
        }
    }

    fn read_compressed(&mut self, most: u64) -> Result<Option<Vec<(String, Column)>>> {
        let Cells::Compressed {
            data,
            indices,
            starts,
            by_column,
        } = &self.cells
        else {
            return Ok(None);
        };
        let end = data.length().min(self.next.saturating_add(most));
        if self.next >= end {
            return Ok(None);
        }
        let minor = indices.integers(self.next..end)?;
        let length = self.shape.get(usize::from(!by_column)).copied().unwrap_or(0);
        let outside = minor.iter().find(|n| u64::try_from(**n).map_or(true, |n| n >= length));
        if let Some(index) = outside {
            bail!("the index {index} is outside of an axis of {length}");
        }
        let mut row = starts.partition_point(|start| *start <= self.next).saturating_sub(1);
        let mut major = Vec::with_capacity(minor.len());
        for cell in self.next..end {
            while starts.get(row + 1).is_some_and(|next| *next <= cell) {
                row += 1;
            }
            major.push(i64::try_from(row)?);
        }
        let values = data.read(&[self.next..end])?;
        self.next = end;
        let coordinates = if *by_column { [minor, major] } else { [major, minor] };
        Ok(Some(columns(coordinates, values)))
    }

    /// The next cells of whole rows, or of a part of a row. None of them if all are zero.
    fn read_dense(&mut self, most: u64) -> Result<Option<Vec<(String, Column)>>> {
        let Cells::Dense(values) = &self.cells else {
            return Ok(None);
        };
        let [rows, width] = self.shape;
        let cells = rows.checked_mul(width).context("the matrix is too large")?;
        if self.next >= cells {
            return Ok(None);
        }
        let (row, column) = (self.next / width, self.next % width);
        let (rows, part) = if column == 0 && most >= width {
            (row..rows.min(row + most / width), 0..width)
        } else {
            (row..row + 1, column..width.min(column + most))
        };
        let found = values.read(&[rows.clone(), part.clone()])?;
        let bytes = self.datatype.size();
        let mut data = Vec::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let positions = rows.clone().flat_map(|r| part.clone().map(move |c| (r, c)));
        for ((row, column), value) in positions.zip(found.data.chunks_exact(bytes)) {
            if !is_zero(value, self.datatype) {
                data.extend_from_slice(value);
                first.push(i64::try_from(row)?);
                second.push(i64::try_from(column)?);
            }
        }
        self.next = (rows.end - 1) * width + part.end;
        let values = Column {
            data,
            ..Column::empty(self.datatype, CellCount::ONE, false)
        };
        Ok(Some(columns([first, second], values)))
    }
}

/// Whether a number is zero; so is -0.0.
fn is_zero(value: &[u8], datatype: Datatype) -> bool {
    match value.split_last() {
        Some((last, rest)) if datatype.is_float() => last & 0x7f == 0 && rest.iter().all(|b| *b == 0),
        _ => value.iter().all(|b| *b == 0),
    }
}

fn columns(coordinates: [Vec<i64>; 2], values: Column) -> Vec<(String, Column)> {
    let axes = soma::AXES.into_iter().zip(coordinates);
    let axes = axes.map(|(name, at)| (name.to_owned(), Column::from_values(Datatype::Int64, &at)));
    axes.chain([(soma::DATA.to_owned(), values)]).collect()
}

fn compressed(file: &File, path: &str, rows: u64, by_column: bool) -> Result<Cells> {
    let data = file.required(&format!("{path}/data"), 1)?;
    let indices = file.required(&format!("{path}/indices"), 1)?;
    let starts = file.required(&format!("{path}/indptr"), 1)?;
    ensure!(
        data.length() == indices.length(),
        "it has {} cells, but {} indices",
        data.length(),
        indices.length()
    );
    ensure!(rows < ROWS_MAX, "it has more than {ROWS_MAX} rows");
    // A damaged length could fill the memory.
    ensure!(
        starts.length() == rows + 1,
        "it has {} starts for {rows} rows",
        starts.length()
    );
    let starts = starts.integers(0..starts.length())?;
    let starts: Vec<u64> = starts.into_iter().filter_map(|n| u64::try_from(n).ok()).collect();
    let whole = starts.first() == Some(&0) && starts.last() == Some(&data.length());
    let complete = starts.len() as u64 == rows + 1;
    ensure!(
        whole && complete && starts.is_sorted(),
        "the starts of its rows are damaged"
    );
    Ok(Cells::Compressed {
        data,
        indices,
        starts,
        by_column,
    })
}
