//! AnnData files, as `tests/formats/samples.py` writes them.
#![cfg(feature = "h5ad")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say where"
)]

mod common;

use common::{all, array, find, open, texts, value};
use hyperslab::metadata::MetaValue;
use hyperslab::{Column, Datatype};
use hyperslab_formats::{Format, Length, Source};

fn column(columns: &[(String, Column)], name: &str) -> Column {
    columns.iter().find(|(n, _)| n == name).unwrap().1.clone()
}

/// The cells of a matrix, sorted by row and column, read a few at a time.
fn cells(source: &mut dyn Source, path: &str) -> Vec<(i64, i64, f64)> {
    let number = find(source, path);
    let mut out = Vec::new();
    while let Some(columns) = source.read_rows(number, 3).unwrap() {
        let (rows, others) = (column(&columns, "soma_dim_0"), column(&columns, "soma_dim_1"));
        let data = column(&columns, "soma_data");
        let values: Vec<f64> = match data.datatype {
            Datatype::Float32 => data.values::<f32>().unwrap().iter().map(|v| f64::from(*v)).collect(),
            _ => data.values::<f64>().unwrap().to_vec(),
        };
        assert!((1..=3).contains(&values.len()), "{path}");
        let rows = rows.values::<i64>().unwrap().to_vec();
        let at = rows.into_iter().zip(others.values::<i64>().unwrap().to_vec());
        out.extend(at.zip(values).map(|((row, other), value)| (row, other, value)));
    }
    out.sort_by(|a, b| a.partial_cmp(b).unwrap());
    out
}

#[test]
fn a_file_is_an_experiment() {
    let source = open("cells.h5ad", Format::H5ad);
    let plan = source.plan();
    let groups: Vec<&str> = plan.groups.iter().map(|g| g.path.as_str()).collect();
    for wanted in [
        "",
        "ms",
        "ms/RNA",
        "ms/RNA/X",
        "ms/RNA/obsm",
        "ms/RNA/uns",
        "ms/RNA/uns/deep",
        "ms/raw",
        "ms/raw/X",
    ] {
        assert!(groups.contains(&wanted), "{wanted}: {groups:?}");
    }
    plan.check().unwrap();
    assert!(plan.arrays.iter().all(|a| a.schema.check().is_ok()));
    assert_eq!(
        value(&plan.groups[0].metadata, "soma_object_type"),
        MetaValue::text("SOMAExperiment")
    );
    let uns = &plan.groups.iter().find(|g| g.path == "ms/RNA/uns").unwrap().metadata;
    assert_eq!(value(uns, "title"), MetaValue::text("A sample"));
    assert_eq!(value(uns, "number").datatype, Datatype::Int64);
}

#[test]
fn arrays_of_uns_are_stored_as_tiledbsoma_does() {
    let mut source = open("cells.h5ad", Format::H5ad);
    let hint = |source: &dyn Source, path: &str| value(&array(source, path).metadata, "soma_uns_outgest_hint");
    let colors = "ms/RNA/uns/colors";
    assert_eq!(hint(source.as_ref(), colors), MetaValue::text("array_1d"));
    let columns = all(source.as_mut(), colors);
    assert_eq!(texts(&column(&columns, "values")), ["#ff0000", "#00ff00"]);
    assert_eq!(*column(&columns, "soma_joinid").values::<i64>().unwrap(), [0, 1]);
    let grid = "ms/RNA/uns/deep/grid";
    assert_eq!(hint(source.as_ref(), grid), MetaValue::text("array_2d"));
    let columns = all(source.as_mut(), grid);
    assert_eq!(texts(&column(&columns, "values_1")), ["b", "d", ""]);
    let numbers = "ms/RNA/uns/deep/variance";
    let new = array(source.as_ref(), numbers);
    assert_eq!(
        value(&new.metadata, "soma_object_type"),
        MetaValue::text("SOMADenseNDArray")
    );
    assert_eq!(new.length, Length::Box(vec![2, 3]));
    new.schema.check().unwrap();
    let columns = all(source.as_mut(), numbers);
    assert_eq!(
        *column(&columns, "soma_data").values::<f32>().unwrap(),
        [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    );
    let columns = all(source.as_mut(), "ms/RNA/uns/table");
    assert_eq!(texts(&column(&columns, "index")), ["r1", "r2"]);
    assert_eq!(*column(&columns, "q").values::<f64>().unwrap(), [1.5, 2.5]);
    let notes = source.plan().notes.join("\n");
    assert!(notes.contains("'uns/none' is left out: it is empty"), "{notes}");
}

#[test]
fn tables_have_categories_and_nulls() {
    let mut source = open("cells.h5ad", Format::H5ad);
    let new = array(source.as_ref(), "obs").clone();
    let names: Vec<&str> = new.schema.attributes.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["obs_id", "kind", "stage", "total", "good", "age", "note"]);
    assert_eq!(new.enumerations[0].name, "kind_U");
    assert_eq!(texts(&new.enumerations[1].values), ["low", "high"]);
    assert!(new.enumerations[1].ordered && !new.enumerations[0].ordered);
    let columns = all(source.as_mut(), "obs");
    assert_eq!(
        *column(&columns, "soma_joinid").values::<i64>().unwrap(),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(texts(&column(&columns, "obs_id"))[5], "cell5");
    let kind = column(&columns, "kind");
    assert_eq!(*kind.values::<i32>().unwrap(), [0, 1, 0, 0, 1, 0]);
    assert_eq!(kind.validity.unwrap(), [1, 1, 0, 1, 1, 1]);
    assert_eq!(column(&columns, "age").validity.unwrap(), [1, 0, 1, 1, 1, 1]);
    assert_eq!(column(&columns, "good").datatype, Datatype::Bool);
    assert_eq!(texts(&column(&columns, "note"))[3], "é");
}

#[test]
fn matrices_are_sparse_whatever_they_were() {
    let mut source = open("cells.h5ad", Format::H5ad);
    let x = cells(source.as_mut(), "ms/RNA/X/data");
    assert_eq!(x.len(), 8);
    assert_eq!((x[0], x[2]), ((0, 2, 1.0), (3, 0, 2.0)));
    for path in ["ms/RNA/X/columns", "ms/RNA/X/dense", "ms/raw/X/data"] {
        assert_eq!(cells(source.as_mut(), path), x, "{path}");
    }
    assert_eq!(cells(source.as_mut(), "ms/RNA/obsm/X_pca").len(), 12);
    assert_eq!(cells(source.as_mut(), "ms/RNA/obsp/near")[5], (5, 5, 1.0));
    assert_eq!(
        array(source.as_ref(), "ms/RNA/varm/loadings").schema.dimensions.len(),
        2
    );
}
