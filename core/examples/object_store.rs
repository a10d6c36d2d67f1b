//! Writes and reads an array in S3, Google Cloud Storage or Azure, or in any other store with a URL.
//!
//! Run with `cargo run --features object-store --example object_store -- s3://BUCKET/PREFIX`. The keys and the endpoint
//! come from the variables of the service, such as `AWS_ACCESS_KEY_ID` and `AWS_ENDPOINT_URL`.

use std::error::Error;
use std::io::{self, Write};

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Window, WriteOptions, vfs,
};

#[allow(dead_code, reason = "the tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args()
        .nth(1)
        .ok_or("give a URL, such as s3://bucket/prefix")?;
    let (store, path) = vfs::open_url(&url)?;
    run(&Context::new(store), &path, &mut io::stdout())
}

/// Runs the example below the folder `path` of a store.
pub(crate) fn run(context: &Context, path: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = vfs::join(path, "numbers");
    let i = Dimension::new("i", Datatype::Int64, 0_i64, 9_i64, 5_i64);
    let number = Attribute::new("number", Datatype::Int64, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![i], vec![number]);
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(context, &path, &schema, &[], &options))?;

    // A write becomes visible with its last request. It is durable then, so `sync` changes nothing.
    let array = block_on(Array::open(context, &path, &OpenOptions::default()))?;
    let values: Vec<i64> = (0..10).map(|i| i * 100).collect();
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: vec![("number".into(), Column::from_values(Datatype::Int64, &values))],
    };
    let write = WriteOptions {
        timestamp_ms: 1000,
        seed: [2; 32],
        sync: false,
    };
    block_on(array.write(cells, &write))?;

    // Opening takes two rounds of requests, and a read one per data file.
    let array = block_on(array.at(Window::ALL))?;
    let batch = block_on(array.read(&Query::default()))?;
    let column = batch.column("number").ok_or("the attribute")?;
    writeln!(out, "{:?}", column.values::<i64>()?)?;
    for entry in block_on(context.vfs.list(&path))? {
        writeln!(out, "{}", entry.name)?;
    }
    Ok(())
}
