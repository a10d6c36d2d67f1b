//! Reads points with conditions: by coordinates, by value, by text, and as counts.
//!
//! Run with `cargo run --example sparse`.

use std::error::Error;
use std::io::{self, Write};

use hyperslab::blocking::block_on;
use hyperslab::{
    Aggregate, Array, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange, Window,
    WriteOptions, schema::Layout, schema_json,
};

#[allow(dead_code, reason = "the tests call `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout())
}

/// Runs the example on an array in memory.
pub(crate) fn run(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let array = earthquakes()?;

    // All cells between two latitudes and two longitudes. The result has the dimensions, then the attributes.
    let region = vec![ScalarRange::new(30.0, 40.0), ScalarRange::new(-125.0, -110.0)];
    let box_only = Query {
        region: Region::from_box(region),
        ..Query::default()
    };
    let batch = block_on(array.read(&box_only))?;
    writeln!(out, "{} in the box", batch.cells)?;

    // The strong ones, with fields by name. Tiles whose statistics rule out a match are not read.
    let strong = Query {
        fields: Some(vec!["mag".into(), "place".into()]),
        condition: Some("mag >= 4.5 and not place in ('Alaska')".parse()?),
        ..Query::default()
    };
    let batch = block_on(array.read(&strong))?;
    let [mag, place] = ["mag", "place"].map(|name| batch.column(name));
    let (mag, place) = (mag.ok_or("mag")?, place.ok_or("place")?);
    for (i, mag) in mag.values::<f32>()?.iter().enumerate() {
        writeln!(out, "{mag} {}", String::from_utf8_lossy(place.cell(i)))?;
    }

    // Counts and aggregates take the same queries.
    let known = Query {
        condition: Some("depth is not null".parse()?),
        ..Query::default()
    };
    let wanted = [(Aggregate::Max, "mag"), (Aggregate::Mean, "depth")];
    let found = block_on(array.aggregate(&known, &wanted))?;
    writeln!(out, "{} of known depth: {found:?}", block_on(array.count(&known))?)?;
    Ok(())
}

/// Five earthquakes by latitude and longitude, one of unknown depth.
fn earthquakes() -> Result<Array, Box<dyn Error>> {
    let (schema, _) = schema_json::from_json(&serde_json::json!({
        "type": "sparse",
        "dimensions": [
            {"name": "lat", "type": "float64", "domain": [-90, 90], "tile": 10},
            {"name": "lon", "type": "float64", "domain": [-180, 180], "tile": 10},
        ],
        "attributes": [
            {"name": "mag", "type": "float32", "filters": ["zstd"]},
            {"name": "depth", "type": "float32", "nullable": true},
            {"name": "place", "type": "string_utf8", "cell": "var"},
        ],
    }))?;
    let context = Context::memory();
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&context, "quakes", &schema, &[], &options))?;
    let array = block_on(Array::open(&context, "quakes", &OpenOptions::default()))?;

    let numbers = |values: &[f64]| Column::from_values(Datatype::Float64, values);
    let floats = |values: &[f32]| Column::from_values(Datatype::Float32, values);
    let places = ["Nevada", "Alaska", "California", "Chile", "California"];
    let cells = Cells {
        region: None,
        layout: Layout::Unordered,
        columns: vec![
            ("lat".into(), numbers(&[38.1, 61.2, 34.9, -33.4, 36.7])),
            ("lon".into(), numbers(&[-117.9, -149.9, -119.7, -70.7, -121.3])),
            ("mag".into(), floats(&[4.6, 5.1, 2.9, 6.2, 3.4])),
            (
                "depth".into(),
                floats(&[8.0, 30.0, 0.0, 100.0, 6.0]).with_validity(vec![1, 1, 0, 1, 1]),
            ),
            ("place".into(), Column::from_cells(Datatype::StringUtf8, places)),
        ],
    };
    let write = WriteOptions {
        timestamp_ms: 1000,
        seed: [2; 32],
        sync: false,
    };
    block_on(array.write(cells, &write))?;
    Ok(block_on(array.at(Window::ALL))?)
}
