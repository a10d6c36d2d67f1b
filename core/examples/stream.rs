//! Writes and reads an array that is much larger than the memory it may use.
//!
//! Run with `cargo run --release --example stream -- FOLDER`.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Pipeline, Schema};
use hyperslab::{
    Array, CellCount, Column, Context, CreateOptions, Datatype, OpenOptions, Query, ScalarRange, Window, WriteOptions,
};

const CELLS: u64 = 4 << 20;
const TILE: u64 = 64 << 10;
/// The most bytes of cells in memory at a time: a 32nd of the array.
const BUDGET_BYTES: u64 = CELLS * 8 / 32;

#[allow(dead_code, reason = "the tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder for the new array")?;
    run(Path::new(&folder), &mut io::stdout())
}

/// Runs the example on a new array in `folder`.
pub(crate) fn run(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // The cache of decoded tiles counts too.
    let context = Context::local(folder).with_cache_bytes(BUDGET_BYTES);
    let i = Dimension::new("i", Datatype::Uint64, 0_u64, CELLS - 1, TILE);
    let mut square = Attribute::new("square", Datatype::Uint64, CellCount::ONE);
    square.filters = Pipeline::new(vec![Filter::Zstd { level: 3 }]);
    let schema = Schema::new(ArrayType::Dense, vec![i], vec![square]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "squares", &schema, &[], &options))?;
    let array = block_on(Array::open(&context, "squares", &OpenOptions::default()))?;

    // A writer takes the cells of one fragment in batches, in the order of the tiles.
    let write = WriteOptions {
        timestamp_ms: 1000,
        seed: [2; 32],
        sync: false,
    };
    let mut writer = block_on(array.writer(Some(vec![ScalarRange::new(0_u64, CELLS - 1)]), &write))?;
    let mut cells = 0..CELLS;
    loop {
        let part: Vec<u64> = cells.by_ref().take(TILE as usize).map(|i| i * i).collect();
        if part.is_empty() {
            break;
        }
        let column = Column::from_values(Datatype::Uint64, &part);
        block_on(writer.push(vec![("square".into(), column)]))?;
    }
    block_on(writer.finish())?;

    // A read returns batches of at most this many bytes.
    let array = block_on(array.at(Window::ALL))?;
    let mut batches = array.batches(Query {
        batch_bytes: BUDGET_BYTES,
        ..Query::default()
    });
    let (mut count, mut sum, mut largest) = (0, 0_u128, 0);
    while let Some(batch) = block_on(batches.next())? {
        let column = batch.column("square").ok_or("the attribute that was asked for")?;
        sum += column.values::<u64>()?.iter().map(|v| u128::from(*v)).sum::<u128>();
        largest = largest.max(column.data.len() as u64);
        count += 1;
    }
    writeln!(out, "sum {sum} of {CELLS} cells")?;
    let fits = largest <= BUDGET_BYTES && count > 1;
    writeln!(out, "every batch fits the budget: {fits}")?;
    Ok(())
}
