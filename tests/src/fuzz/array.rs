//! Opens, reads and counts whole arrays in which one file was changed.

use std::sync::{Arc, Mutex};

use hyperslab::blocking::block_on;
use hyperslab::vfs::MemVfs;
use hyperslab::{Array, Context, OpenOptions, Query};

use super::samples::{Sample, Samples};
use super::{Allowance, Target, choices};

/// Arrays and batches are small. A hostile file may claim more; it is read only up to this limit.
const BATCHES_MAX: usize = 50;
const BATCH_BYTES: u64 = 64 << 10;

pub(super) fn targets(samples: &Samples) -> Vec<Target> {
    let arrays: Vec<Arc<Sample>> = samples
        .arrays
        .iter()
        .step_by(3)
        .map(|a| {
            Arc::new(Sample {
                files: a.files.clone(),
                key: a.key.clone(),
            })
        })
        .collect();
    let mut seeds = Vec::new();
    for (i, array) in arrays.iter().enumerate() {
        for (j, (path, bytes)) in array.files.iter().enumerate() {
            let is_data = path.ends_with(".tdb") && !path.ends_with("metadata.tdb");
            // The data files of fields are alike, so use a few. Every other kind of file occurs once per array.
            if bytes.len() <= 4096 && !bytes.is_empty() && (!is_data || (i + j) % 4 == 0) {
                seeds.push([&(i as u16).to_le_bytes(), &[j as u8][..], bytes].concat());
            }
        }
    }
    let busy = Mutex::new(());
    let run = move |input: &[u8]| {
        let Some(([a, b, file], bytes)) = choices(input) else {
            return Allowance::of(0);
        };
        let sample = &arrays[usize::from(u16::from_le_bytes([a, b])) % arrays.len()];
        let _busy = busy.lock();
        perform(sample, usize::from(file) % sample.files.len(), bytes);
        Allowance {
            bytes: input.len(),
            fixed: 256 << 20,
        }
    };
    vec![Target::new("array", seeds, run)]
}

fn perform(sample: &Sample, changed: usize, bytes: &[u8]) {
    let store = MemVfs::new();
    for (i, (path, original)) in sample.files.iter().enumerate() {
        let bytes = if i == changed { bytes } else { original };
        store.replace(format!("array/{path}"), bytes.to_vec());
    }
    let context = Context::new(Arc::new(store));
    let options = OpenOptions {
        key: sample.key.clone(),
        ..OpenOptions::default()
    };
    let Ok(array) = block_on(Array::open(&context, "array", &options)) else {
        return;
    };
    let _ = block_on(array.metadata());
    let query = Query {
        batch_bytes: BATCH_BYTES,
        ..Query::default()
    };
    let mut batches = array.batches(query);
    for _ in 0..BATCHES_MAX {
        match block_on(batches.next()) {
            Ok(Some(batch)) => batch
                .columns
                .iter()
                .for_each(|(name, column)| column.check(name).unwrap()),
            _ => break,
        }
    }
}
