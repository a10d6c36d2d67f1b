//! Selects cells by the values along axes, which coordinate variables hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use hyperslab::blocking::block_on;
use hyperslab::internals::view::selection;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::view::View;
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, ScalarRange, WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ROOM: u64 = 99;

/// Makes a dense array with these dimensions, which have room for more cells.
fn make(context: &Context, path: &str, dimensions: &[&str], attribute: &str, cells: Option<Column>) {
    let dimension = |name: &&str| Dimension::new(name, Datatype::Uint64, 0_u64, ROOM, 10_u64);
    let datatype = cells.as_ref().map_or(Datatype::Int8, |c| c.datatype);
    let cell = cells.as_ref().map_or(CellCount::ONE, |c| c.cell);
    let schema = Schema::new(
        ArrayType::Dense,
        dimensions.iter().map(dimension).collect(),
        vec![Attribute::new(attribute, datatype, cell)],
    );
    let seed = [path.len() as u8 + path.as_bytes()[path.len() - 1]; 32];
    let options = CreateOptions {
        timestamp_ms: 1,
        seed,
        key: None,
    };
    block_on(Array::create(context, path, &schema, &[], &options)).unwrap();
    let Some(column) = cells else { return };
    let write = WriteOptions {
        timestamp_ms: 2,
        seed,
        sync: false,
    };
    let cells = Cells {
        region: Some(vec![ScalarRange::new(0_u64, column.len() as u64 - 1)]),
        layout: Layout::RowMajor,
        columns: vec![(attribute.to_owned(), column)],
    };
    block_on(open(context, path).write(cells, &write)).unwrap();
}

fn note(context: &Context, path: &str, key: &str, value: MetaValue) {
    let entry = Entry {
        key: key.to_owned(),
        value: Some(value),
    };
    let options = WriteOptions {
        timestamp_ms: 3,
        seed: [key.len() as u8; 32],
        sync: false,
    };
    block_on(open(context, path).write_metadata(&[entry], &options)).unwrap();
}

fn open(context: &Context, path: &str) -> Array {
    block_on(Array::open(context, path, &OpenOptions::default())).unwrap()
}

/// A group as TileDB-CF writes it. Latitudes descend, longitudes are packed, days are hours since a moment, and `level`
/// has no values.
fn climate() -> Context {
    let context = Context::memory();
    make(&context, "g/t2m", &["time", "lat", "lon", "level", "site"], "t2m", None);
    let latitudes: Vec<f32> = (0..10).map(|i| 45.0 - 2.5 * i as f32).collect();
    make(
        &context,
        "g/lat",
        &["lat"],
        "lat.data",
        Some(Column::from_values(Datatype::Float32, &latitudes)),
    );
    let longitudes: Vec<i16> = (0..8).map(|i| i * 10).collect();
    make(
        &context,
        "g/lon",
        &["lon"],
        "lon.index",
        Some(Column::from_values(Datatype::Int16, &longitudes)),
    );
    let number = |v: f64| MetaValue::bytes(Datatype::Float64, &v.to_le_bytes());
    note(&context, "g/lon", "__tiledb_attr.lon.index.scale_factor", number(0.5));
    note(&context, "g/lon", "__tiledb_attr.lon.index.add_offset", number(-10.0));
    let hours: Vec<i32> = (0..60).map(|day| day * 24 + 12).collect();
    make(
        &context,
        "g/time",
        &["time"],
        "time.data",
        Some(Column::from_values(Datatype::Int32, &hours)),
    );
    let units = MetaValue::text("hours since 2020-01-01 00:00:00");
    note(&context, "g/time", "__tiledb_attr.time.data.units", units);
    let names = ["oslo", "bern", "rome"];
    make(
        &context,
        "g/site",
        &["site"],
        "site_",
        Some(Column::from_cells(Datatype::StringUtf8, names)),
    );
    context
}

#[test]
fn names_select_by_value_and_positions_by_index() {
    let context = climate();
    let array = open(&context, "g/t2m");
    let select = |text: &str| block_on(selection::by_index(&array, text));
    for (text, same) in [
        // Both ends are included. The latitudes descend.
        ("lat=40:45", "lat=@0:3"),
        ("lat=30.5:40", "lat=@2:6"),
        ("lat=42:", "lat=@0:2"),
        // A single value is the nearest.
        ("lat=42.5", "lat=@1"),
        ("lat=41.3", "lat=@1"),
        ("lat=41.2", "lat=@2"),
        // Packed values count as what they stand for: -10, -5, 0, …
        ("lon=-5:5", "lon=@1:4"),
        ("lon=-5", "lon=@1"),
        // Dates mean their whole period.
        ("time=2020-01-03", "time=@2"),
        ("time=2020-02", "time=@31:60"),
        ("time=2020-01-30:2020-02-01", "time=@29:32"),
        ("time=2020-01-30T12:00:2020-01-30T13:00", "time=@29:30"),
        ("time=2020-01-30T11:00", "time=@29"),
        // Text.
        ("site=bern", "site=@1"),
        ("t2m@lat=40:45,time=2020-02", "t2m@lat=@0:3,time=@31:60"),
        // By index.
        ("lat=@2:6", "lat=@2:6"),
        ("t2m@lat=@2:6", "t2m@lat=@2:6"),
        ("2:6,0:3", "2:6,0:3"),
        ("lat=:", "lat=:"),
        // An axis without values is selected by index.
        ("level=3:5", "level=3:5"),
    ] {
        assert_eq!(select(text).unwrap(), same, "{text}");
    }
    for (text, why) in [
        (
            "lat=30.1:30.2",
            "no value is there; the values go from 45.0 to 22.5; to select by index, write lat=@0:10",
        ),
        ("lat=80", "no value is there"),
        ("lat=40:30", "the end is before the start"),
        ("lat=40:45:2", "cannot have a step"),
        ("lat=north", "is not a number"),
        (
            "time=2021-01",
            "the values go from 2020-01-01T12:00:00.000 to 2020-02-29T12:00:00.000",
        ),
        ("site=paris", "no value is there"),
        ("site=oslo:rome", "not next to each other"),
    ] {
        let error = select(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// A number would be mistaken for a year.
#[test]
fn times_of_other_calendars_are_selected_by_index() {
    let context = climate();
    note(
        &context,
        "g/time",
        "__tiledb_attr.time.data.calendar",
        MetaValue::text("360_day"),
    );
    let array = open(&context, "g/t2m");
    let error = block_on(selection::by_index(&array, "time=2020"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("calendar '360_day' cannot be turned into dates; select by index"),
        "{error}"
    );
    assert_eq!(block_on(selection::by_index(&array, "time=@3")).unwrap(), "time=@3");
}

#[test]
fn the_same_cells_are_read_by_value_and_by_index() {
    let context = climate();
    let array = open(&context, "g/t2m");
    let read = |text: &str| block_on(selection::read(&array, text)).unwrap();
    assert_eq!(read("lat=30.5:40,lon=-5"), read("lat=@2:6,lon=@1"));
    assert_eq!(read("lat=@2:6"), read(":,2:6"));
    assert!(read("lon=-5").axes[2].single);
}

#[test]
fn other_arrays_are_no_coordinate_variables() {
    let context = Context::memory();
    let values = || Some(Column::from_values(Datatype::Float64, &[1.0, 2.0]));
    make(&context, "g/v", &["a", "b", "c", "d"], "v", None);
    make(&context, "g/a", &["a"], "other", values());
    make(&context, "g/b", &["x"], "b", values());
    make(&context, "g/c", &["c"], "c.data", None);
    let array = open(&context, "g/v");
    for dimension in 0..4 {
        assert_eq!(block_on(array.axis_values(dimension)).unwrap(), None, "{dimension}");
    }
    // Whole numbers are indexes then, as before.
    let selected = block_on(selection::read(&array, "a=1:3")).unwrap();
    assert_eq!(selected.shape()[0], 2);
}

#[test]
fn the_cells_of_a_raster_are_selected_by_their_centres() {
    let context = Context::memory();
    make(&context, "dem", &["Y", "X"], "TDB_VALUES", None);
    let xml = r#"<PAMDataset><GeoTransform>500000, 30, 0, 4100000, 0, -30</GeoTransform>
        <Metadata domain="IMAGE_STRUCTURE"><MDI key="X_SIZE">50</MDI><MDI key="Y_SIZE">40</MDI></Metadata></PAMDataset>"#;
    note(&context, "dem", "dataset_type", MetaValue::text("raster"));
    note(
        &context,
        "dem",
        "_gdal",
        MetaValue::bytes(Datatype::Uint8, xml.as_bytes()),
    );
    let array = open(&context, "dem");
    let select = |text: &str| block_on(selection::by_index(&array, text));
    for (text, same) in [
        ("X=500015:500075,Y=4099955:4100000", "X=@0:3,Y=@0:2"),
        ("X=500050", "X=@1"),
        ("Y=@3", "Y=@3"),
    ] {
        assert_eq!(select(text).unwrap(), same, "{text}");
    }
    let why = select("X=502000:503000").unwrap_err().to_string();
    assert!(why.contains("the values go from 500015.0 to 501485.0"), "{why}");
}

#[test]
fn tables_have_the_values_along_axes_as_coordinates() {
    let context = climate();
    let view = View::of_array(&open(&context, "g/t2m"), "t2m".to_owned());
    let read = |name: &str| block_on(view.read_file(&format!("slices/{name}"))).unwrap();
    let of = "time=2020-01-02,lat=40:42.5,lon=-5,level=3,site=bern";
    assert_eq!(
        read(&format!("{of}.csv")),
        "time,lat,lon,level,site,t2m\n2020-01-02T12:00:00.000,42.5,-5.0,3,bern,-128\n\
         2020-01-02T12:00:00.000,40.0,-5.0,3,bern,-128\n"
    );
    assert_eq!(
        read("time=@1,lat={40,45},lon=@1,level=3,site=@2+limit=1.jsonl"),
        "{\"time\":\"2020-01-02T12:00:00.000\",\"lat\":40.0,\"lon\":-5.0,\"level\":3,\"site\":\"rome\",\"t2m\":-128}\n"
    );
    let indices = "time,lat,lon,level,site,t2m\n1,1,1,3,1,-128\n1,2,1,3,1,-128\n";
    assert_eq!(read(&format!("{of}+coordinates=index.csv")), indices);
    // Nothing has the values of these cells.
    assert!(
        read("time=@1,lat=@40,lon=@1,level=3,site=@2.csv")
            .ends_with(b"\n2020-01-02T12:00:00.000,40,-5.0,3,rome,-128\n")
    );
    let error = block_on(view.lookup("slices/lat=@1+coordinates=index.npy"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("a .npy file has no coordinates; write .csv"), "{error}");
}

#[test]
fn a_table_has_another_id_after_its_axis_changed() {
    let context = climate();
    let id = |name: &str| {
        let view = View::of_array(&open(&context, "g/t2m"), "t2m".to_owned());
        block_on(view.lookup(&format!("slices/{name}"))).unwrap().unwrap().id
    };
    let names = [
        "time=@0,lat=@0,lon=@0,level=0,site=@0",
        "time=@0,lat=@0,lon=@0,level=0,site=@0+coordinates=index",
    ];
    let before = names.map(|name| id(&format!("{name}.csv")));
    let number = MetaValue::bytes(Datatype::Float64, &2_f64.to_le_bytes());
    note(&context, "g/lon", "__tiledb_attr.lon.index.scale_factor", number);
    let same_place = id(&format!("{}.csv", names[0]));
    assert_eq!(same_place, before[0], "the first longitude is the same");
    let number = MetaValue::bytes(Datatype::Float64, &7_f64.to_le_bytes());
    note(&context, "g/lon", "__tiledb_attr.lon.index.add_offset", number);
    assert_ne!(id(&format!("{}.csv", names[0])), before[0]);
    assert_eq!(id(&format!("{}.csv", names[1])), before[1]);
}

#[test]
#[cfg(feature = "arrow")]
fn an_arrow_slice_has_values_if_asked() {
    let context = climate();
    let view = View::of_array(&open(&context, "g/t2m"), "t2m".to_owned());
    let of = "lat=@0:2,lon=@0:2,time=@0,level=0,site=@0";
    for (name, types) in [
        (format!("{of}.arrow"), "uint64,uint64,uint64,uint64,uint64,int8"),
        (
            format!("{of}+coordinates=values.arrow"),
            "datetime_ms,float32,float64,uint64,string_utf8,int8",
        ),
    ] {
        let node = block_on(view.lookup(&format!("slices/{name}"))).unwrap().unwrap();
        let fact = node.facts.iter().find(|(key, _)| *key == "dtype");
        assert_eq!(fact.map(|(_, v)| v.as_str()), Some(types), "{name}");
        assert!(block_on(view.read(&node, 0..u64::MAX)).unwrap().starts_with(b"ARROW1"));
    }
}
