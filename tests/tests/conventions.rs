//! Describes what real applications wrote, exactly as in `conventions/`. To accept changes, set UPDATE_EXPECT=1.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;
use hyperslab::blocking::block_on;
use hyperslab::conventions::{self, Dataset};
use hyperslab::vfs::join;
use hyperslab::{Context, OpenOptions};
use hyperslab_tests::conventions::{examples, in_folder, in_memory};
use hyperslab_tests::{fresh, here, programs};

/// The objects to describe in each example.
const OBJECTS: [(&str, &[&str]); 12] = [
    ("bioimg_ome", &[""]),
    ("bioimg_rgb", &["png", "pyramid", "webp"]),
    ("cf_netcdf", &["collected", "per_variable", "per_variable/t2m"]),
    ("cf_xarray", &["", "air"]),
    ("gdal_mdim", &["", "temp"]),
    ("gdal_raster", &["", "l_0"]),
    ("gdal_raster_modes", &["attributes", "band", "pixel", "pixel_is_point"]),
    ("gdal_vector", &["", "layers/things"]),
    (
        "pandas",
        &["dense", "index_dims_full_domain", "index_time_text", "sparse_rows"],
    ),
    ("soma_experiment", &["", "obs", "ms/RNA/X/data"]),
    ("soma_spatial", &["experiment", "geometry"]),
    ("vector_search", &[""]),
];

fn describe(context: &Context, path: &str) -> Dataset {
    block_on(conventions::of(context, path, &OpenOptions::default())).unwrap()
}

/// What `hyperslab info` prints about an object of an example, without the line of its path.
fn printed(folder: &Path, path: &str) -> String {
    let mut program = Command::new(programs().join("hyperslab"));
    let output = program.current_dir(folder).args(["info", path]).output().unwrap();
    assert!(
        output.status.success(),
        "{path}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn file(name: &str) -> PathBuf {
    here().join("conventions").join(format!("{name}.json"))
}

#[test]
fn every_example_is_described() {
    assert_eq!(
        examples().into_keys().collect::<Vec<_>>(),
        OBJECTS.map(|(name, _)| name)
    );
    for (name, objects) in OBJECTS {
        let context = in_memory(name);
        for object in objects {
            let dataset = describe(&context, &join(name, object));
            let text = format!("{}\n", serde_json::to_string_pretty(&dataset).unwrap());
            let short = [name, object].join(" ").trim_end().replace(['/', ' '], "-");
            expect_file![file(&short)].assert_eq(&text);
        }
    }
}

#[test]
fn the_program_sums_up_every_example() {
    let folder = fresh("conventions");
    let mut text = String::new();
    for (name, objects) in OBJECTS {
        in_folder(name, &folder);
        for object in objects {
            let path = join(name, object);
            let told = printed(&folder, &path);
            // What follows is the schema, as for every array.
            let head = told.lines().take_while(|line| !line.starts_with("type "));
            writeln!(text, "$ hyperslab info {path}").unwrap();
            head.for_each(|line| writeln!(text, "{line}").unwrap());
            text.push('\n');
        }
    }
    expect_file![here().join("conventions/info.txt")].assert_eq(&text);
}

#[test]
fn info_as_json_has_the_dataset_under_a_key() {
    let folder = fresh("conventions-json");
    for (name, object) in [("gdal_raster", ""), ("gdal_raster", "l_0"), ("pandas", "dense")] {
        in_folder(name, &folder);
        let path = join(name, object);
        let output = Command::new(programs().join("hyperslab"))
            .current_dir(&folder)
            .args(["info", "--json", &path])
            .output();
        let json: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let expected = describe(&in_memory(name), &path);
        let found = (&json["dataset"]["variables"], &json["dataset"]["tables"]);
        let whole = serde_json::to_value(&expected).unwrap();
        assert_eq!(found, (&whole["variables"], &whole["tables"]), "{path}");
        assert_eq!(json["type"], if object.is_empty() { "group" } else { "dense" });
    }
}
