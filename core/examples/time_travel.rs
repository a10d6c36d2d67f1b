//! Writes an array several times, reads its past, and consolidates it.
//!
//! Run with `cargo run --example time_travel`.

use std::error::Error;
use std::io::{self, Write};

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, ScalarRange, Window,
    WriteOptions,
};

#[allow(dead_code, reason = "the tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}

/// Runs the example on an array in memory.
pub(crate) fn run(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let context = Context::memory();
    let x = Dimension::new("x", Datatype::Int32, 0, 5, 3);
    let count = Attribute::new("count", Datatype::Int32, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![x], vec![count]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "counts", &schema, &[], &options))?;
    let array = block_on(Array::open(&context, "counts", &OpenOptions::default()))?;

    // Three writes, at times 1000, 2000 and 3000.
    write(&array, 1000, 0, &[1; 6])?;
    write(&array, 2000, 2, &[2; 3])?;
    write(&array, 3000, 3, &[3])?;
    let array = block_on(array.at(Window::ALL))?;
    writeln!(out, "times {:?}", array.times())?;
    show(&array, &[1500, 2500, 3500], out)?;

    // Merge the three fragments into one. The past stays readable until the vacuum.
    let done = block_on(consolidate(
        &array,
        &ConsolidateOptions::new(Mode::Fragments),
        &at(4000),
    ))?;
    writeln!(out, "{} fragments became {}", done.replaced, done.written.len())?;
    show(&array, &[1500, 2500, 3500], out)?;

    // Vacuum removes the merged fragments, and with them the times in between.
    let array = block_on(array.at(Window::ALL))?;
    block_on(vacuum(&array, Mode::Fragments, false, &at(5000)))?;
    show(&array, &[1500, 3500], out)
}

fn at(timestamp_ms: u64) -> WriteOptions {
    // A program takes 32 random bytes: no two writes may have the same seed.
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&timestamp_ms.to_le_bytes());
    WriteOptions {
        timestamp_ms,
        seed,
        sync: false,
    }
}

/// Writes `values` from the cell `first` on.
fn write(array: &Array, timestamp_ms: u64, first: i32, values: &[i32]) -> hyperslab::Result<String> {
    let cells = Cells {
        region: Some(vec![ScalarRange::new(first, first + values.len() as i32 - 1)]),
        layout: Layout::RowMajor,
        columns: vec![("count".into(), Column::from_values(Datatype::Int32, values))],
    };
    block_on(array.write(cells, &at(timestamp_ms)))
}

/// Prints the array as of each time. Cells that were not written then have the fill value, shown as a dot.
fn show(array: &Array, times: &[u64], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    for time in times {
        let past = block_on(array.at(Window::at(*time)))?;
        let batch = block_on(past.read(&Query::default()))?;
        let column = batch.column("count").ok_or("the attribute")?;
        let text = |v: &i32| if *v == i32::MIN { ".".to_owned() } else { v.to_string() };
        let cells: Vec<String> = column.values::<i32>()?.iter().map(text).collect();
        writeln!(out, "at {time}: {}", cells.join(" "))?;
    }
    Ok(())
}
