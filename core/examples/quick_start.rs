//! Creates an array on disk, writes it, reads a part, and shows its schema as JSON.
//!
//! Run with `cargo run --example quick_start -- FOLDER`.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange, Window,
    WriteOptions, schema_json,
};

#[allow(dead_code, reason = "the tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder for the new array")?;
    run(Path::new(&folder), &mut io::stdout())
}

/// Runs the example on a new array in `folder`.
pub(crate) fn run(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let context = Context::local(folder);

    // An image of 4 x 6 pixels in tiles of 2 x 3, compressed with zstd.
    let y = Dimension::new("y", Datatype::Uint32, 0_u32, 3_u32, 2_u32);
    let x = Dimension::new("x", Datatype::Uint32, 0_u32, 5_u32, 3_u32);
    let mut light = Attribute::new("light", Datatype::Uint8, CellCount::ONE);
    light.filters = Pipeline::new(vec![Filter::Zstd { level: 5 }]);
    let schema = Schema::new(ArrayType::Dense, vec![y, x], vec![light]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "image", &schema, &[], &options))?;

    // All pixels, in row-major order.
    let array = block_on(Array::open(&context, "image", &OpenOptions::default()))?;
    let pixels: Vec<u8> = (0..24).collect();
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: vec![("light".into(), Column::from_values(Datatype::Uint8, &pixels))],
    };
    let write = WriteOptions {
        timestamp_ms: 1000,
        seed: [2; 32],
        sync: true,
    };
    block_on(array.write(cells, &write))?;

    // Rows 1 and 2 of the columns 2 to 4.
    let array = block_on(array.at(Window::ALL))?;
    let region = vec![ScalarRange::new(1_u32, 2_u32), ScalarRange::new(2_u32, 4_u32)];
    let query = Query {
        region: Region::from_box(region),
        ..Query::default()
    };
    let batch = block_on(array.read(&query))?;
    let light = batch.column("light").ok_or("the attribute that was asked for")?;
    for row in light.values::<u8>()?.chunks(3) {
        writeln!(out, "{row:?}")?;
    }
    let json = schema_json::to_json(array.schema(), &[]);
    writeln!(out, "{}", json["attributes"][0])?;
    Ok(())
}
