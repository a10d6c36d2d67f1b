//! Boxes that are named by the values along their axes.

use hyperslab::view::View;
use hyperslab::{Array, Context, OpenOptions};
use hyperslab_cli::put::Destination;
use pollster::block_on;

use crate::{Shell, int16s, npy};

/// Latitudes 3 to 0, and an array along them.
fn climate() -> Shell {
    let shell = Shell::new();
    let latitudes: Vec<u8> = [3_i16, 2, 1, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
    shell.file("lat.npy", npy("'<i2'", "(4,)", &latitudes));
    shell.file("temp.npy", npy("'<i2'", "(4,)", &int16s(4)));
    shell.ok("group create climate");
    shell.ok("import lat.npy climate/lat --dims lat --attrs lat.data");
    shell.ok("import temp.npy climate/temp --dims lat --attrs temp");
    shell
}

#[test]
fn exports_and_writes_select_the_same_cells() {
    let shell = climate();
    let export = |select: &str| shell.ok(&format!("export climate/temp - --format csv --select {select}"));
    assert_eq!(export("lat=1:2"), "lat,temp\n2,1\n1,2\n");
    assert_eq!(export("lat=1:2"), export("lat=@1:3"));
    assert_eq!(export("lat=2.9"), export("lat=@0"));
    shell.file("new.npy", npy("'<i2'", "(2,)", &[70, 0, 80, 0]));
    shell.ok("write climate/temp new.npy --select lat=1:2");
    assert_eq!(export("lat=:"), "lat,temp\n3,0\n2,70\n1,80\n0,3\n");
    assert_eq!(export("'lat={0,2.9}'"), "lat,temp\n0,3\n3,0\n");
    assert_eq!(export("'lat=@{3,0:2}'"), "lat,temp\n0,3\n3,0\n2,70\n");
}

#[test]
fn slices_and_exports_have_the_same_rows() {
    let shell = climate();
    let context = Context::local(shell.path("climate"));
    let array = block_on(Array::open(&context, "temp", &OpenOptions::default())).unwrap();
    let view = View::of_array(&array, "temp".to_owned());
    for (name, export) in [
        ("lat=1:2.csv", "--select lat=1:2"),
        ("'lat={0,2.9}'.tsv", "--select 'lat={0,2.9}'"),
        ("all.json", ""),
        ("lat=@1:3+limit=1.jsonl", "--select lat=@1:3 --limit 1"),
        ("all+coordinates=index.csv", "--coordinates index"),
    ] {
        let name = name.replace('\'', "");
        let (_, format) = name.rsplit_once('.').unwrap();
        let slice = block_on(view.read_file(&format!("slices/{name}"))).unwrap();
        let exported = shell.pipe(&format!("export climate/temp - --format {format} {export}"), b"");
        assert_eq!(
            String::from_utf8_lossy(&slice),
            String::from_utf8_lossy(&exported),
            "{name}"
        );
    }
}

#[test]
fn names_of_stored_files_select_the_same_cells() {
    let shell = climate();
    let context = Context::local(shell.path("climate"));
    let array = block_on(Array::open(&context, "temp", &OpenOptions::default())).unwrap();
    let selection = |name: &str| {
        let destination = block_on(Destination::of(name, &array));
        destination.map(|d| d.selection().map(str::to_owned))
    };
    for name in ["lat=1:2.npy", "lat=@1:3.npy", "1:3.npy"] {
        assert_eq!(selection(name).unwrap(), Some("1:3".to_owned()), "{name}");
    }
    let error = selection("lat=7:9.npy").unwrap_err().to_string();
    assert!(error.contains("the values go from 3 to 0"), "{error}");
}

#[test]
#[cfg(feature = "formats")]
fn a_plane_of_four_axes_is_a_tiff() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(2, 2, 3, 4)", &int16s(48)));
    shell.ok("import in.npy a --dims t,z,y,x");
    shell.ok("export a plane.tif --select t=1,z=0");
    shell.ok("import plane.tif plane");
    let cells = |array: &str, select: &str| shell.pipe(&format!("export {array} - --format bin {select}"), b"");
    let plane = cells("plane/l_0.tdb", "");
    assert_eq!(plane, cells("a", "--select t=1,z=0"));
    assert_eq!(plane, int16s(48)[48..72]);
    assert!(
        shell
            .fails("export a all.tif")
            .1
            .contains("a GeoTIFF has two or three axes, and this array has 4")
    );
}
