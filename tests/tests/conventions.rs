//! Describes what real applications wrote, exactly as in `conventions/`. To accept changes, set UPDATE_EXPECT=1.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::path::PathBuf;

use expect_test::expect_file;
use hyperslab::blocking::block_on;
use hyperslab::conventions::{self, Dataset};
use hyperslab::vfs::join;
use hyperslab::{Context, OpenOptions};
use hyperslab_tests::conventions::{examples, in_memory};
use hyperslab_tests::here;

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
