//! Arrow dictionaries become enumerations.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{Array as _, ArrayRef, DictionaryArray, Float64Array, Int8Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Field;

use crate::Shell;

/// Writes an Arrow file with the column `e`, whose batches have these dictionaries and one cell for each value.
fn dictionaries(shell: &Shell, batches: Vec<ArrayRef>, ordered: bool) {
    let keyed = |values: ArrayRef| -> ArrayRef {
        let keys = Int8Array::from_iter_values((0..).take(values.len()));
        Arc::new(DictionaryArray::<Int8Type>::new(keys, values))
    };
    let arrays: Vec<ArrayRef> = batches.into_iter().map(keyed).collect();
    let field = Field::new("e", arrays[0].data_type().clone(), false).with_dict_is_ordered(ordered);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &schema).unwrap();
    for array in arrays {
        writer
            .write(&RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap())
            .unwrap();
    }
    writer.finish().unwrap();
    shell.file("in.arrow", stream);
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn equal_values_of_a_dictionary_are_one_value_of_the_enumeration() {
    let numbers = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
    let cases = [
        (strings(&["x", "x"]), 1, "e\nx\nx\n"),
        (strings(&["", ""]), 1, "e\n\"\"\n\"\"\n"),
        (strings(&["a", "b", "a"]), 2, "e\na\nb\na\n"),
        (numbers(&[f64::NAN, f64::NAN]), 1, "e\nnan\nnan\n"),
        (numbers(&[0.0, -0.0, 0.0]), 2, "e\n0.0\n-0.0\n0.0\n"),
    ];
    for (values, distinct, csv) in cases {
        let shell = Shell::new();
        dictionaries(&shell, vec![values], false);
        shell.ok("import in.arrow a");
        let found = shell.schema("a")["enumerations"][0]["values"].as_array().unwrap().len();
        assert_eq!(found, distinct, "{csv}");
        let cells = shell.ok("export a - --format csv");
        let cells: String = cells
            .lines()
            .map(|l| l.split_once(',').unwrap().1.to_owned() + "\n")
            .collect();
        assert_eq!(cells, csv);
    }
}

#[test]
fn an_ordered_dictionary_becomes_an_ordered_enumeration() {
    let import = |batches: &[&[&str]]| {
        let shell = Shell::new();
        dictionaries(&shell, batches.iter().map(|b| strings(b)).collect(), true);
        let output = shell.run("import in.arrow a", b"");
        assert!(output.status.success());
        let warning = String::from_utf8(output.stderr).unwrap();
        let ordered = shell.schema("a")["enumerations"][0]["ordered"] == true;
        (shell, ordered, warning)
    };
    let (shell, ordered, warning) = import(&[&["lo", "mid", "hi"], &["lo", "hi", "top"]]);
    assert!(ordered && warning.is_empty(), "{warning}");
    let cells = shell.ok("export a - --format csv --where 'e >= \"mid\"'");
    assert_eq!(cells, "row,e\n0,\n1,mid\n2,hi\n3,\n4,hi\n5,top\n");
    // Arrow keeps the order on the way out, too.
    shell.ok("export a b.arrow");
    shell.ok("import b.arrow b");
    assert_eq!(shell.schema("b")["enumerations"][0]["ordered"], true);

    let (_, ordered, warning) = import(&[&["lo", "hi"], &["hi", "lo"]]);
    assert!(
        !ordered && warning.contains("'e'") && warning.contains("unify"),
        "{warning}"
    );
}
