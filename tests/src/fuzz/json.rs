//! Imports of JSON objects and GeoJSON points.

use hyperslab_cli::fuzz::import_json;

use super::{Allowance, Target};

pub(super) fn targets() -> Vec<Target> {
    let run = |bytes: &[u8]| {
        // Most inputs are damaged.
        let _ = import_json(bytes);
        Allowance {
            bytes: bytes.len(),
            // Each key is a column, and each new column has statistics. Compressed text may be far longer.
            fixed: 256 << 20,
        }
    };
    let seeds: Vec<Vec<u8>> = [
        "{\"a\":1,\"b\":\"x\\u00e4\"}\n{\"b\":null,\"c\":[1,{\"d\":true}]}\n",
        "[{\"a\":1.5e3,\"day\":\"31.01.2020\"},\n {\"a\":\"NaN\",\"day\":\"2020-02-01 9:05\"}]",
        "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"id\":1,\"geometry\":{\"type\":\"Point\",\
         \"coordinates\":[1,2.5,3]},\"properties\":{\"a\":1}}]}",
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    for seed in &seeds {
        import_json(seed).unwrap();
    }
    vec![Target::new("json", seeds, run)]
}
