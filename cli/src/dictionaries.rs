//! The values of an enumeration as the metadata of a Parquet column. Parquet stores a dictionary for each row group, with
//! only the values that occur there and in the order in which they occur.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Schema as ArrowSchema;
use hyperslab::arrow::FieldType;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Enumeration, EnumerationRef, Field, Schema};
use hyperslab::{CellCount, Datatype, schema_json};
use serde_json::{Value, json};

/// The key of a column's metadata.
const KEY: &str = "tiledb.enumeration";

/// The same schema, with the values of enumerations as metadata.
pub(crate) fn stated(schema: &ArrowSchema, fields: &[FieldType]) -> ArrowSchema {
    let columns = schema.fields().iter().zip(fields).map(|(column, field)| {
        let mut column = column.as_ref().clone();
        if let Some(e) = &field.enumeration {
            let mut metadata = column.metadata().clone();
            metadata.insert(KEY.to_owned(), text(e));
            column.set_metadata(metadata);
        }
        column
    });
    ArrowSchema::new_with_metadata(columns.collect::<Vec<_>>(), schema.metadata().clone())
}

/// The values that a column's metadata states, as an Arrow array. Metadata that makes no sense counts as none.
pub(crate) fn values(column: &arrow_schema::Field) -> Option<ArrayRef> {
    let found: Value = serde_json::from_str(column.metadata().get(KEY)?).ok()?;
    let mut schema = schema_json::to_json(&holder(), &[]);
    schema
        .as_object_mut()?
        .insert("enumerations".to_owned(), json!([found]));
    let (_, enumerations) = schema_json::from_json(&schema).ok()?;
    let mut field = Field::new(column.name(), Datatype::Uint64, CellCount::ONE);
    field.enumeration = Some(Arc::new(enumerations.into_iter().next()?));
    FieldType::from(field).dictionary().ok()?
}

/// An enumeration as in the JSON of a schema.
fn text(e: &Enumeration) -> String {
    let named = Enumeration {
        name: "values".to_owned(),
        ..e.clone()
    };
    let mut schema = holder();
    schema.enumerations = vec![EnumerationRef {
        name: named.name.clone(),
        file: String::new(),
    }];
    schema_json::to_json(&schema, &[named])["enumerations"][0].to_string()
}

/// A schema to hold an enumeration.
fn holder() -> Schema {
    let dimension = Dimension::new("d", Datatype::Int32, 0, 1, 1);
    let attribute = Attribute::new("a", Datatype::Uint64, CellCount::ONE);
    Schema::new(ArrayType::Dense, vec![dimension], vec![attribute])
}
