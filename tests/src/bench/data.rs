//! Inputs, queries and expected answers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use hyperslab::{Batch, Column, Datatype};
use serde::Deserialize;

/// An inclusive box: first and last row, first and last column (or X and Y).
pub(super) type Box4 = [i64; 4];

/// `queries/dense.json`.
#[derive(Debug, Deserialize)]
pub(super) struct DenseQueries {
    pub(super) shape: [i64; 2],
    pub(super) tile: [i64; 2],
    pub(super) subarray: BTreeMap<String, DenseSet>,
    pub(super) random: BTreeMap<String, RandomSet>,
    pub(super) updates: Vec<Box4>,
    pub(super) sq1k_sum_after: BTreeMap<String, i64>,
}

/// Boxes of a dense array and the sum of their cells.
#[derive(Debug, Deserialize)]
pub(super) struct DenseSet {
    pub(super) boxes: Vec<Box4>,
    pub(super) sum: i64,
}

/// Cells of a dense array and their sum.
#[derive(Debug, Deserialize)]
pub(super) struct RandomSet {
    file: String,
    pub(super) sum: i64,
}

/// `queries/sparse.json`.
#[derive(Debug, Deserialize)]
pub(super) struct SparseQueries {
    pub(super) domain: Box4,
    pub(super) columns: Vec<String>,
    pub(super) first: usize,
    pub(super) subarray: BTreeMap<String, SparseSet>,
    pub(super) after: BTreeMap<String, Sums>,
}

/// Boxes of a sparse array and the expected contents.
#[derive(Debug, Deserialize)]
pub(super) struct SparseSet {
    pub(super) boxes: Vec<Box4>,
    pub(super) expect: Sums,
    pub(super) expect_first: Sums,
}

/// The sum of each column; `cells` is the number of cells.
pub(super) type Sums = BTreeMap<String, i64>;

impl DenseQueries {
    pub(super) fn load(data: &Path) -> Result<Self> {
        json(&data.join("queries/dense.json"))
    }
}

impl SparseQueries {
    pub(super) fn load(data: &Path) -> Result<Self> {
        json(&data.join("queries/sparse.json"))
    }
}

impl RandomSet {
    /// The rows and the columns of the cells.
    pub(super) fn cells(&self, data: &Path) -> Result<[Vec<i64>; 2]> {
        let bytes = std::fs::read(data.join("queries").join(&self.file))?;
        let values: Vec<i64> = bytemuck::pod_collect_to_vec(&bytes);
        let every = |first: usize| values.iter().skip(first).step_by(2).copied().collect();
        Ok([every(0), every(1)])
    }
}

fn json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_reader(std::io::BufReader::new(file))?)
}

/// The dense matrix, row by row.
pub(super) fn matrix(data: &Path) -> Result<Vec<u8>> {
    whole(&data.join("input/dense.i32"))
}

/// The matrix tile by tile.
pub(super) fn tiled(matrix: &[u8], shape: [i64; 2], tile: [i64; 2]) -> Vec<u8> {
    let [rows, cols] = shape.map(|n| n as usize);
    let [tile_rows, tile_cols] = tile.map(|n| n as usize);
    let mut out = Vec::with_capacity(matrix.len());
    for r in (0..rows).step_by(tile_rows) {
        for c in (0..cols).step_by(tile_cols) {
            for row in r..r + tile_rows {
                let start = (row * cols + c) * 4;
                out.extend_from_slice(&matrix[start..start + tile_cols * 4]);
            }
        }
    }
    out
}

/// The sparse cells of `input/SET`, a column of eight-byte integers for each name.
pub(super) fn columns(data: &Path, set: &str, names: &[String]) -> Result<Vec<Vec<u8>>> {
    let folder = data.join("input").join(set);
    names
        .iter()
        .map(|name| whole(&folder.join(format!("{name}.i64"))))
        .collect()
}

/// Reads the file into a buffer of its exact size.
fn whole(path: &Path) -> Result<Vec<u8>> {
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    let size = usize::try_from(file.metadata()?.len())?;
    let mut out = vec![0; size];
    file.read_exact(&mut out)?;
    ensure!(file.read(&mut [0])? == 0, "{} grows", path.display());
    Ok(out)
}

/// Named columns of eight-byte integers.
pub(super) fn named(names: &[String], columns: Vec<Vec<u8>>) -> Vec<(String, Column)> {
    let column = |data| Column {
        data,
        ..Column::from_values::<i64>(Datatype::Int64, &[])
    };
    names.iter().cloned().zip(columns.into_iter().map(column)).collect()
}

/// The sum of every column of a batch, and its number of cells.
pub(super) fn sums(batch: &Batch) -> Result<Sums> {
    let mut out = Sums::from([("cells".to_owned(), i64::try_from(batch.cells)?)]);
    for (name, column) in &batch.columns {
        let sum = match column.datatype {
            Datatype::Int32 => column.values::<i32>()?.iter().map(|v| i64::from(*v)).sum(),
            _ => column.values::<i64>()?.iter().sum(),
        };
        out.insert(name.clone(), sum);
    }
    Ok(out)
}

/// Adds the sums of `more` to those of `total`.
pub(super) fn add(total: &mut Sums, more: Sums) {
    for (name, sum) in more {
        *total.entry(name).or_default() += sum;
    }
}
