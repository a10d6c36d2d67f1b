//! Two processes merge and vacuum fragments and commits of an array with duplicates, and are killed at random times.
//! Afterwards both engines must read every cell as often as it was written.
//!
//! `HYPERSLAB_MAINTAINERS` sets how often both are killed (default 16).

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Result, WriteOptions,
};
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{fresh, hex};
use serde_json::json;

use super::setting;

const JOB: &str = "HYPERSLAB_MAINTAINERS_JOB";

fn open(folder: &Path) -> Result<Array> {
    block_on(Array::open(&Context::local(folder), "array", &OpenOptions::default()))
}

fn options(time: u64, n: u32) -> WriteOptions {
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&n.to_be_bytes());
    seed[4..8].copy_from_slice(&std::process::id().to_be_bytes());
    WriteOptions {
        timestamp_ms: time,
        seed,
        sync: false,
    }
}

fn merge(folder: &Path, mode: Mode, n: u32) -> Result<()> {
    block_on(consolidate(
        &open(folder)?,
        &ConsolidateOptions::new(mode),
        &options(1 << 40, n),
    ))
    .map(drop)
}

fn sweep(folder: &Path, mode: Mode, n: u32) -> Result<()> {
    block_on(vacuum(&open(folder)?, mode, false, &options(1 << 40, n))).map(drop)
}

/// A process that maintains the array until it is killed.
#[test]
fn worker() {
    let Ok(folder) = std::env::var(JOB) else { return };
    let folder = Path::new(&folder);
    for n in 0..2000 {
        merge(folder, Mode::Fragments, 4 * n).unwrap();
        sweep(folder, Mode::Fragments, 4 * n + 1).unwrap();
        merge(folder, Mode::Commits, 4 * n + 2).unwrap();
        sweep(folder, Mode::Commits, 4 * n + 3).unwrap();
    }
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "maintainers::worker", "--nocapture"])
        .env(JOB, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Writes the number `n` into cell 3 and one other cell.
fn write(folder: &Path, n: i32) {
    let column = |values: &[i32]| Column::from_values(Datatype::Int32, values);
    let cells = Cells {
        region: None,
        layout: Layout::Unordered,
        columns: vec![("x".into(), column(&[3, n % 10])), ("v".into(), column(&[n, n]))],
    };
    let array = open(folder).unwrap();
    block_on(array.write(cells, &options(10 + n as u64, n as u32))).unwrap();
}

fn numbers(values: impl IntoIterator<Item = i32>) -> Vec<i32> {
    let mut values: Vec<i32> = values.into_iter().collect();
    values.sort_unstable();
    values
}

fn read_ours(folder: &Path) -> Vec<i32> {
    let batch = block_on(open(folder).unwrap().read(&Query::default())).unwrap();
    numbers(batch.column("v").unwrap().values::<i32>().unwrap().iter().copied())
}

fn read_libtiledb(oracle: &mut Oracle, folder: &Path) -> Vec<i32> {
    let int = |n: i32| hex::encode(&n.to_le_bytes());
    let dim = json!({"name": "x", "type": "int32", "domain": [int(0), int(9)]});
    let case = json!({"schema": {"kind": "sparse", "dims": [dim]}, "big": true});
    let fields = json!([["v", "int32", 1, false], ["x", "int32", 1, false]]);
    let query = json!({"layout": "row", "fields": fields});
    let answer = oracle
        .about("read", &folder.join("array"), &case, &[("query", &query)])
        .unwrap();
    let data = hex::decode(answer["cols"]["v"]["data"].as_str().unwrap()).unwrap();
    numbers(data.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)))
}

#[test]
fn maintainers_that_are_killed_lose_and_multiply_nothing() {
    let folder = fresh("maintainers");
    let dimension = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
    let number = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Sparse, vec![dimension], vec![number]);
    schema.allows_duplicates = true;
    let created = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(&Context::local(&folder), "array", &schema, &[], &created)).unwrap();
    let mut oracle = Oracle::start().unwrap();
    let mut model = Vec::new();
    for kill in 0..i32::try_from(setting("HYPERSLAB_MAINTAINERS", 16)).unwrap() {
        let mut workers = [start(&folder), start(&folder)];
        for n in 3 * kill..3 * kill + 3 {
            write(&folder, n);
            model.extend([n, n]);
            std::thread::sleep(Duration::from_millis(u64::from(n.unsigned_abs() * 13 % 40)));
        }
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        // The array must open in any state they left. The next merge completes an interrupted one.
        open(&folder).unwrap();
        merge(&folder, Mode::Fragments, (1 << 20) + kill.unsigned_abs()).unwrap();
        sweep(&folder, Mode::Fragments, (1 << 21) + kill.unsigned_abs()).unwrap();
        assert_eq!(read_ours(&folder), model, "kill {kill}");
        assert_eq!(read_libtiledb(&mut oracle, &folder), model, "kill {kill}");
    }
}
