//! Data frames, as `tiledb.from_pandas` and `from_csv` write them.

use serde_json::Value;

use super::driver::Scope;
use super::model::{Application, Dataset};
use super::object::Array;
use super::{cf, parts, value};

/// The data frame of an array.
pub(super) fn frame(scope: &Scope<'_>, path: &str, name: &str, array: Array<'_>) -> Dataset {
    let mut table = parts::table(name, path, array);
    cf::add_units(&mut table, array);
    for key in ["__pandas_attribute_repr", "__pandas_index_dims"] {
        if !array.object.has(key) {
            continue;
        }
        let Some(Value::Object(types)) = array.object.json(key) else {
            scope.note_at(
                path,
                &format!("the metadata '{key}' is not a JSON object and was ignored"),
            );
            continue;
        };
        if key == "__pandas_index_dims" {
            table.key.retain(|k| types.contains_key(k));
            continue;
        }
        for column in &mut table.columns {
            let logical = value::json_text(types.get(&column.name));
            column.logical = logical.filter(|l| l != column.datatype);
        }
    }
    Dataset {
        application: Application::Pandas,
        attributes: parts::attributes(scope, path, array.object, &[]),
        tables: vec![table],
        ..Dataset::default()
    }
}
