//! Point clouds of PDAL: sparse arrays over X, Y, Z.

use serde_json::Value;

use super::driver::Scope;
use super::model::{Application, Bits, Column, Dataset};
use super::object::Array;
use super::{crs, parts};

/// The parts of the field `BitFields`: name, lowest bit, width.
const BIT_FIELDS: [(&str, u8, u8); 6] = [
    ("ReturnNumber", 8, 4),
    ("NumberOfReturns", 12, 4),
    ("ClassFlags", 0, 4),
    ("ScanChannel", 4, 2),
    ("ScanDirectionFlag", 6, 1),
    ("EdgeOfFlightLine", 7, 1),
];

/// The points of an array.
pub(super) fn points(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut table = parts::table(name, path, array);
    let names = ["X", "Y", "Z"]
        .into_iter()
        .filter(|d| array.schema.dimension(d).is_some());
    table.points = names.map(str::to_owned).collect();
    if array.schema.attribute("BitFields").is_some() {
        table.columns.extend(BIT_FIELDS.map(|(name, shift, width)| Column {
            name: name.to_owned(),
            datatype: "uint8",
            bits: Some(Bits {
                of: "BitFields".to_owned(),
                shift,
                width,
            }),
            ..Column::default()
        }));
    }
    let mut dataset = Dataset {
        application: Application::Pdal,
        attributes: parts::attributes(scope, path, array.object, &["_pdal", "dataset_type"]),
        ..Dataset::default()
    };
    let pipeline = array.object.json("_pdal");
    if pipeline.is_none() && array.object.has("_pdal") {
        scope.note_at(path, "the metadata '_pdal' is not valid JSON and was ignored");
    }
    let reference = pipeline
        .as_ref()
        .and_then(|p| p.get("root")?.get("writers.tiledb")?.get("spatialreference"));
    let found = reference.and_then(Value::as_str).and_then(crs::from_text);
    table.crs = found.map(|c| crs::add(&mut dataset, c));
    dataset.tables.push(table);
    dataset
}
