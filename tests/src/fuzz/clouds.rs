//! Imports of LAS and LAZ files.

use hyperslab_cli::fuzz::import_cloud;

use super::{Allowance, Target};

pub(super) fn targets() -> Vec<Target> {
    let run = |bytes: &[u8]| {
        // Most inputs are damaged.
        let _ = import_cloud(bytes);
        Allowance {
            bytes: bytes.len(),
            // The models of the codec.
            fixed: 64 << 20,
        }
    };
    let seeds = vec![
        include_bytes!("../../../formats/tests/files/cloud.las").to_vec(),
        include_bytes!("../../../formats/tests/files/cloud.laz").to_vec(),
    ];
    for seed in &seeds {
        import_cloud(seed).unwrap();
    }
    vec![Target::new("cloud", seeds, run)]
}
