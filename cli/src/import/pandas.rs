//! The metadata that pandas adds to Arrow and Parquet files: which columns are the index, and their types in pandas.
//! `tiledb.open_dataframe` reads the same facts from two keys of an array.

use arrow_schema::Schema;
use hyperslab::arrow::FieldType;
use serde_json::{Map, Value};

use crate::args::Import;
use crate::show;

/// The name that tiledb-py gives the dimension of an index without a name.
pub(super) const ROWS: &str = "__tiledb_rows";
/// The key of an array with the pandas types of attributes, where they differ from those that a read gives.
const ATTRIBUTES: &str = "__pandas_attribute_repr";
/// The key of an array with the dimensions of the index.
const INDEX: &str = "__pandas_index_dims";

/// The description of a data frame in a file.
pub(super) struct DataFrame {
    /// The columns of the index; empty for an index that only counts rows.
    index: Vec<String>,
    /// The name and the description of each column.
    columns: Vec<(String, Value)>,
}

impl DataFrame {
    /// The data frame that a schema's metadata describes. Metadata that makes no sense counts as none.
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        let found: Value = serde_json::from_str(schema.metadata().get("pandas")?).ok()?;
        let index = found.get("index_columns")?.as_array()?;
        let known = |name: &&str| schema.fields().iter().any(|f| f.name() == name);
        let index = index.iter().filter_map(Value::as_str).filter(known).map(str::to_owned);
        let columns = found.get("columns").and_then(Value::as_array).into_iter().flatten();
        let columns = columns.filter_map(|c| Some((name_of(c)?.to_owned(), c.clone())));
        Some(Self {
            index: index.collect(),
            columns: columns.collect(),
        })
    }

    /// Options that make dimensions of the index, unless the user chose dimensions.
    pub(super) fn options(&self, args: &Import, fields: &[FieldType]) -> Option<Import> {
        let marked = fields.iter().any(|f| f.role.is_some());
        let chosen = args.dims.is_some() || args.attrs.is_some();
        (!self.index.is_empty() && !marked && !chosen).then(|| Import {
            dims: Some(self.index.clone()),
            sparse: true,
            ..args.clone()
        })
    }

    /// The metadata of the array. `dimensions` are columns; without them, the rows are counted.
    pub(super) fn metadata(&self, dimensions: &[String]) -> Vec<(String, String)> {
        let mut attributes = Map::new();
        for (name, column) in self.columns.iter().filter(|(name, _)| !dimensions.contains(name)) {
            if let Some(t) = attribute_type(column) {
                attributes.insert(name.clone(), t.into());
            }
        }
        let mut index = Map::new();
        for name in dimensions {
            let column = self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c);
            index.insert(name.clone(), column.map_or("int64", index_type).into());
        }
        if dimensions.is_empty() {
            index.insert(ROWS.to_owned(), "int64".into());
        }
        let text = |map| Value::Object(map).to_string();
        vec![
            (ATTRIBUTES.to_owned(), text(attributes)),
            (INDEX.to_owned(), text(index)),
        ]
    }

    /// Says that the index cannot be dimensions.
    pub(super) fn warn_of_index(&self, why: &anyhow::Error) {
        show::note(format_args!(
            "the index of the data frame ({}) is imported as attributes, because it cannot be dimensions: {why:#}",
            self.index.join(", ")
        ));
    }
}

/// The name of a column in the file.
fn name_of(column: &Value) -> Option<&str> {
    column.get("field_name").or_else(|| column.get("name"))?.as_str()
}

fn text<'a>(column: &'a Value, key: &str) -> &'a str {
    column.get(key).and_then(Value::as_str).unwrap_or("")
}

/// The pandas type of a column, if a read of the array gives another one.
fn attribute_type(column: &Value) -> Option<&str> {
    let numpy = text(column, "numpy_type");
    match text(column, "pandas_type") {
        "categorical" => Some("category"),
        _ if matches!(numpy, "bool" | "boolean") => Some(numpy),
        _ => ["Int", "UInt", "Float"]
            .iter()
            .any(|t| numpy.starts_with(t))
            .then_some(numpy),
    }
}

fn index_type(column: &Value) -> &str {
    match text(column, "numpy_type") {
        "" => "int64",
        "object" | "string" | "str" => "<U0",
        // An array has no time zones, and pandas refuses to add one.
        dates if dates.starts_with("datetime64") => "datetime64[ns]",
        other => other,
    }
}
