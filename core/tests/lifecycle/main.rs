//! Compares the history of arrays in memory with naive models: writes, deletes, consolidation and vacuum in any order,
//! reads at any time, and stores that fail at any call.
//!
//! Tests that need a disk or threads do not run in browsers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[cfg(not(target_family = "wasm"))]
mod aborted;
mod dense;
mod evolved;
mod faults;
#[cfg(not(target_family = "wasm"))]
mod interleaved;
mod kept;
mod returned;
mod rounded;
mod sparse;
mod streaming;
mod windows;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, Steps, consolidate, vacuum};
use hyperslab::schema::Schema;
use hyperslab::{Array, Context, CreateOptions, OpenOptions, Window, WriteOptions};

/// Creates an empty array in a new store.
fn new_array(schema: &Schema) -> Context {
    let context = Context::memory();
    let options = CreateOptions {
        timestamp_ms: 0,
        seed: [0; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", schema, &[], &options)).unwrap();
    context
}

fn open(context: &Context, window: Window) -> Array {
    block_on(Array::open(context, "a", &OpenOptions { window, key: None })).unwrap()
}

fn at(timestamp_ms: u64) -> WriteOptions {
    let mut seed = [5; 32];
    seed[..8].copy_from_slice(&timestamp_ms.to_be_bytes());
    WriteOptions {
        timestamp_ms,
        seed,
        sync: false,
    }
}

/// The maintenance in a sequence of steps.
#[derive(Debug, Clone, Copy)]
enum Chore {
    /// Consolidates all fragments, or runs of two and three with little memory.
    Fragments {
        small: bool,
    },
    Vacuum(Mode),
    Lists(Mode),
}

/// Does a chore. `tick` increases and is used for names. Returns whether something was written.
fn do_chore(context: &Context, chore: Chore, tick: u64) -> bool {
    let array = open(context, Window::ALL);
    match chore {
        Chore::Fragments { small } => {
            let mut options = ConsolidateOptions::new(Mode::Fragments);
            if small {
                options.steps = Steps {
                    count: 2,
                    fragments_min: 2,
                    fragments_max: 3,
                    amplification: 1e9,
                    ..Steps::default()
                };
                options.memory_bytes = 64 << 10;
            } else {
                options.steps.amplification = 1e9;
            }
            !block_on(consolidate(&array, &options, &at(tick)))
                .unwrap()
                .written
                .is_empty()
        }
        Chore::Lists(mode) => !block_on(consolidate(&array, &ConsolidateOptions::new(mode), &at(tick)))
            .unwrap()
            .written
            .is_empty(),
        Chore::Vacuum(mode) => {
            block_on(vacuum(&array, mode, false, &at(tick))).unwrap();
            false
        }
    }
}
