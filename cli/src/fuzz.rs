//! Entry points of the fuzz targets.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use hyperslab::Column;
pub use hyperslab_formats::Format;
use hyperslab_formats::{Length, Options, open};

use crate::formats::Input;
use crate::import;
use crate::input::{self, BatchLimit, Batches, CellFile, Grid, Stream, Table, Text, TextRules};

/// Cells of a batch, and the most batches that are read. A header may claim far more cells than the file has.
const BATCH_CELLS: usize = 3;
const BATCHES_MAX: usize = 64;
/// The most arrays of a file that are read.
const ARRAYS_MAX: usize = 64;

/// Reads an .npy file, or an .npz file if `zipped` is set, as an import does: once for the schema, and once in batches
/// for the cells. Also reads it as a whole.
///
/// # Errors
/// The file is damaged or cannot be imported.
///
/// # Panics
/// If the number of cells depends on how they are read.
pub fn import_numpy(bytes: &[u8], zipped: bool) -> Result<()> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    let (mut table, grid) = Grid::look(file, zipped)?;
    let stream = Stream::counted(CellFile::Grid(grid))?;
    let fields = import::attributes(&mut table)?;
    if let Ok(whole) = stream.table() {
        assert_eq!(whole.rows() as u64, stream.rows, "all cells at once");
    }
    let mut opened = stream.open()?;
    let mut reader = opened.reader(&|_| true)?;
    let mut rows = 0;
    for _ in 0..BATCHES_MAX {
        let Some(mut batch) = reader.next(BatchLimit::Rows(BATCH_CELLS))? else {
            assert_eq!(rows, stream.rows, "all batches");
            break;
        };
        rows += batch.rows() as u64;
        for field in &fields {
            if let Some(named) = batch.take(|name| name == field.name || name.is_empty()) {
                let column = input::column(named, field.clone())?;
                column.check(&field.name)?;
            }
        }
    }
    Ok(())
}

/// Reads a Parquet file as an import does: once for the schema, and once in batches for the cells.
///
/// # Errors
/// The file is damaged or cannot be imported.
///
/// # Panics
/// If the number of cells depends on how they are read.
pub fn import_parquet(bytes: &[u8]) -> Result<()> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    let batches = Batches::open(file, true)?;
    let stream = Stream::counted(CellFile::Arrow(batches))?;
    let table = stream.table()?;
    assert_eq!(table.rows() as u64, stream.rows, "all cells at once");
    check_batches(&stream, table)
}

/// Reads JSON objects as an import does: once for the columns and their types, and once in batches for the cells.
///
/// # Errors
/// The file is damaged or cannot be imported.
///
/// # Panics
/// If the number of cells depends on how they are read.
pub fn import_json(bytes: &[u8]) -> Result<()> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    let text = Text::open(file, Input::Jsonl, None, TextRules::default())?;
    let table = text.look(&[])?;
    let looked = table.rows() as u64;
    let stream = Stream::counted(CellFile::Text(text))?;
    assert_eq!(looked, stream.rows, "all cells at once");
    check_batches(&stream, table)
}

/// Reads a file that describes its own arrays, or a Zarr store, as an import does: its plan, and boxes at both ends of
/// each array.
///
/// # Errors
/// The file is damaged or cannot be imported.
pub fn import_file(path: &Path, format: Format) -> Result<()> {
    let options = Options {
        memory_bytes: 1 << 20,
        unpack: true,
    };
    let mut source = open(path, format, &options)?;
    let arrays = source.plan().arrays.clone();
    for (number, new) in arrays.iter().enumerate().take(ARRAYS_MAX) {
        new.schema.check()?;
        match &new.length {
            Length::Box(lengths) => {
                let first = lengths.iter().map(|n| 0..(*n).min(BATCH_CELLS as u64));
                let last = lengths.iter().map(|n| n.saturating_sub(BATCH_CELLS as u64)..*n);
                for ranges in [first.collect::<Vec<_>>(), last.collect()] {
                    check_columns(source.read_box(number, &ranges)?)?;
                }
            }
            Length::Rows(_) => {
                while let Some(columns) = source.read_rows(number, BATCH_CELLS)? {
                    check_columns(columns)?;
                }
            }
        }
    }
    Ok(())
}

fn check_columns(columns: Vec<(String, Column)>) -> Result<()> {
    columns.iter().try_for_each(|(name, column)| Ok(column.check(name)?))
}

/// Reads the cells in batches.
fn check_batches(stream: &Stream, mut table: Table) -> Result<()> {
    let fields = import::attributes(&mut table)?;
    let mut opened = stream.open()?;
    let mut reader = opened.reader(&|_| true)?;
    let mut rows = 0;
    while let Some(mut batch) = reader.next(BatchLimit::Rows(BATCH_CELLS))? {
        rows += batch.rows() as u64;
        for field in &fields {
            if let Some(named) = batch.take(|name| name == field.name) {
                let column = input::column(named, field.clone())?;
                column.check(&field.name)?;
            }
        }
    }
    assert_eq!(rows, stream.rows, "all batches");
    Ok(())
}
