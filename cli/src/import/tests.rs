use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::writer::FileWriter;
use clap::Parser as _;
use hyperslab::schema::{Enumeration, Schema};
use hyperslab::{CellCount, Datatype};

use super::infer;
use crate::args::{Cli, Command};
use crate::input::read_arrow;

/// The schema that an import infers for an Arrow file of these columns.
fn inferred(columns: &[(&str, ArrayRef)], options: &str) -> anyhow::Result<(Schema, Vec<Enumeration>)> {
    let batch = RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
    let mut file = Vec::new();
    let mut writer = FileWriter::try_new(&mut file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let line = format!("hyperslab import in.arrow array {options}");
    let Command::Import(args) = Cli::try_parse_from(line.split_whitespace()).unwrap().command else {
        panic!("these are the arguments of an import")
    };
    infer::schema(&mut read_arrow(file)?, &args, None)
}

fn dictionary(keys: Vec<Option<i8>>, values: ArrayRef) -> ArrayRef {
    Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values))
}

#[test]
fn enumerations_omit_null_values_of_dictionaries() {
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
    let columns = [("c", dictionary(vec![Some(0), Some(1), Some(2), None], values))];
    let (schema, enumerations) = inferred(&columns, "").unwrap();
    assert!(schema.attributes[0].nullable);
    assert_eq!(enumerations[0].values.len(), 2);
}

#[test]
fn a_dimension_has_the_type_of_the_values_of_its_dictionary() {
    let data: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let columns = |values: &ArrayRef, last| {
        let c = dictionary(vec![Some(1), Some(0), last], Arc::clone(values));
        [("c", c), ("v", Arc::clone(&data))]
    };
    let (schema, _) = inferred(&columns(&words, Some(1)), "--sparse --dims c").unwrap();
    let c = &schema.dimensions[0];
    assert_eq!((c.datatype, c.cell), (Datatype::StringAscii, CellCount::Var));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1000, 2000]));
    let (schema, _) = inferred(&columns(&numbers, Some(1)), "--sparse --dims c").unwrap();
    assert_eq!(schema.dimensions[0].datatype, Datatype::Int64);
    let error = inferred(&columns(&words, None), "--sparse --dims c").unwrap_err();
    assert!(
        format!("{error:#}").contains("the coordinates in 'c' cannot be null"),
        "{error:#}"
    );
}

#[test]
fn date_coordinates_cannot_be_null() {
    let columns = |last| {
        let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), last]));
        let data: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        [("day", days), ("v", data)]
    };
    let (schema, _) = inferred(&columns(Some(2)), "--sparse --dims day").unwrap();
    assert_eq!(schema.dimensions[0].datatype, Datatype::DatetimeDay);
    let error = inferred(&columns(None), "--sparse --dims day").unwrap_err();
    assert!(format!("{error:#}").contains("cannot be null"), "{error:#}");
}
