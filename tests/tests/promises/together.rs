//! Concurrent writers, readers and a consolidator, as threads and as processes, including libtiledb. Every writer
//! overwrites its own row with increasing numbers. A row with two numbers is a torn write. A number smaller than one
//! acknowledged before the read is a lost write.
//!
//! `HYPERSLAB_TOGETHER_WRITES` sets the number of writes per writer (default 25).

use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use std::io::{BufRead, BufReader};

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, Steps, consolidate, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, Error, OpenOptions, Query, ScalarRange,
    WriteOptions,
};
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{fresh, hex};
use serde_json::{Value, json};

use super::setting;

const JOB: &str = "HYPERSLAB_TOGETHER_JOB";
const COLUMNS: usize = 64;
/// Rows 0 and 1 are written by threads, 2 and 3 by processes, 4 by libtiledb.
const ROWS: usize = 5;

fn schema(dense: bool) -> Schema {
    let rows = Dimension::new("y", Datatype::Int32, 0_i32, ROWS as i32 - 1, 2_i32);
    let columns = Dimension::new("x", Datatype::Int32, 0_i32, COLUMNS as i32 - 1, 16_i32);
    let value = Attribute::new("v", Datatype::Int64, CellCount::ONE);
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    let mut schema = Schema::new(kind, vec![rows, columns], vec![value]);
    schema.capacity = 20;
    schema
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

fn options(who: usize, n: i64) -> WriteOptions {
    let mut seed = [who as u8; 32];
    seed[..8].copy_from_slice(&n.to_be_bytes());
    WriteOptions {
        timestamp_ms: now_ms(),
        seed,
        sync: false,
    }
}

/// Opens the array and runs `f` on it, and tries again if a vacuum has removed a fragment meanwhile.
fn with_array<T>(folder: &Path, work: impl Fn(&Array) -> hyperslab::Result<T>) -> T {
    for _ in 0..100 {
        let context = Context::local(folder);
        let done = block_on(Array::open(&context, "array", &OpenOptions::default())).and_then(|a| work(&a));
        match done {
            Err(Error::NotFound { .. }) => (),
            done => return done.unwrap(),
        }
    }
    panic!("not found, a hundred times");
}

fn write(folder: &Path, dense: bool, row: usize, n: i64) {
    with_array(folder, |array| {
        let mut columns = vec![("v".into(), Column::from_values(Datatype::Int64, &[n; COLUMNS]))];
        if !dense {
            let x: Vec<i32> = (0..COLUMNS as i32).collect();
            columns.push(("y".into(), Column::from_values(Datatype::Int32, &[row as i32; COLUMNS])));
            columns.push(("x".into(), Column::from_values(Datatype::Int32, &x)));
        }
        let range = |lo: usize, hi: usize| ScalarRange::new(lo as i32, hi as i32);
        let cells = Cells {
            region: dense.then(|| vec![range(row, row), range(0, COLUMNS - 1)]),
            layout: Layout::RowMajor,
            columns,
        };
        // The write must be later than the one before.
        std::thread::sleep(Duration::from_millis(2));
        block_on(array.write(cells, &options(row, n)))
    });
}

/// Writes all cells of dense arrays. Otherwise a merge would hide concurrent writes to cells of its box that none of
/// its fragments holds.
fn begin(folder: &Path, dense: bool) {
    let range = |hi: usize| ScalarRange::new(0_i32, hi as i32 - 1);
    let cells = Cells {
        region: Some(vec![range(ROWS), range(COLUMNS)]),
        layout: Layout::RowMajor,
        columns: vec![(
            "v".into(),
            Column::from_values(Datatype::Int64, &[-1_i64; ROWS * COLUMNS]),
        )],
    };
    if dense {
        with_array(folder, |array| block_on(array.write(cells.clone(), &options(ROWS, 0))));
    }
}

/// The number of every row, read by Hyperslab; -1 if it was never written.
fn read_ours(folder: &Path, dense: bool) -> Vec<Vec<i64>> {
    let fields = if dense { &["v"][..] } else { &["v", "y"] };
    let query = Query {
        fields: Some(fields.iter().map(|f| (*f).to_owned()).collect()),
        ..Query::default()
    };
    let batch = with_array(folder, |array| block_on(array.read(&query)));
    let values = batch.column("v").unwrap().values::<i64>().unwrap().into_owned();
    let rows = batch.column("y").map(|y| y.values::<i32>().unwrap().into_owned());
    by_row(&values, rows.as_deref())
}

fn by_row(values: &[i64], rows: Option<&[i32]>) -> Vec<Vec<i64>> {
    let mut out = vec![Vec::new(); ROWS];
    for (i, value) in values.iter().enumerate() {
        let row = rows.map_or(i / COLUMNS, |rows| rows[i] as usize);
        // The fill value of dense cells that were never written.
        out[row].push(if *value == i64::MIN { -1 } else { *value });
    }
    out
}

fn case(dense: bool) -> Value {
    let int = |n: usize| hex::encode(&(n as i32).to_le_bytes());
    let dim = |name, n| json!({"name": name, "type": "int32", "domain": [int(0), int(n - 1)]});
    let kind = if dense { "dense" } else { "sparse" };
    json!({"schema": {"kind": kind, "dims": [dim("y", ROWS), dim("x", COLUMNS)], "attrs": [{"name": "v", "type": "int64", "cell": 1}]}})
}

fn read_libtiledb(oracle: &mut Oracle, folder: &Path, dense: bool) -> Vec<Vec<i64>> {
    let mut fields = vec![json!(["v", "int64", 1, false])];
    if !dense {
        fields.push(json!(["y", "int32", 1, false]));
    }
    let query = json!({"layout": "row", "fields": fields});
    for _ in 0..100 {
        // libtiledb reports files that a vacuum removes while it opens the array with many different messages.
        let Ok(answer) = oracle.about("read", &folder.join("array"), &case(dense), &[("query", &query)]) else {
            continue;
        };
        let data = |name: &str| hex::decode(answer["cols"][name]["data"].as_str().unwrap_or_default()).unwrap();
        let values: Vec<i64> = data("v").as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
        let rows: Vec<i32> = data("y").as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
        return by_row(&values, (!dense).then_some(&rows));
    }
    panic!("libtiledb fails a hundred times");
}

fn write_libtiledb(oracle: &mut Oracle, folder: &Path, dense: bool, row: usize, n: i64) {
    let int = |n: usize| hex::encode(&(n as i32).to_le_bytes());
    let value = json!({"data": hex::encode(&n.to_le_bytes().repeat(COLUMNS))});
    let mut op = json!({"op": "write", "t": now_ms(), "layout": "row", "cols": {"v": value}});
    if dense {
        op["box"] = json!([[int(row), int(row)], [int(0), int(COLUMNS - 1)]]);
    } else {
        op["layout"] = "unordered".into();
        op["cols"]["y"] = json!({"data": int(row).repeat(COLUMNS)});
        op["cols"]["x"] = json!({"data": (0..COLUMNS).map(int).collect::<String>()});
    }
    let done = oracle.about("perform", &folder.join("array"), &case(dense), &[("op", &op)]);
    done.unwrap();
}

/// The main function of a process: a writer that prints its progress, or the consolidator.
#[test]
fn worker() {
    let Ok(job) = std::env::var(JOB) else { return };
    let job: Value = serde_json::from_str(&job).unwrap();
    let (folder, dense) = (PathBuf::from(job["folder"].as_str().unwrap()), job["dense"] == true);
    if let Some(row) = job["row"].as_u64() {
        for n in 0..job["writes"].as_i64().unwrap() {
            write(&folder, dense, row as usize, n);
            println!("done {n}");
        }
        return;
    }
    let (mut n, parent) = (0, parent_id());
    while !folder.join("stop").exists() && parent_id() == parent {
        n += 1;
        // Merge all fragments, or two or three neighbours in time.
        let mut some = ConsolidateOptions::new(Mode::Fragments);
        if n % 2 == 0 {
            some.steps = Steps {
                count: 1,
                fragments_min: 2,
                fragments_max: 3,
                amplification: 1e9,
                ..Steps::default()
            };
        }
        let commits = ConsolidateOptions::new(Mode::Commits);
        for (what, mode) in [(some, Mode::Fragments), (commits, Mode::Commits)] {
            with_array(&folder, |a| block_on(consolidate(a, &what, &options(100, n))));
            with_array(&folder, |a| block_on(vacuum(a, mode, false, &options(101, n))));
        }
    }
    println!("rounds {n}");
}

fn start(job: &Value) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "together::worker", "--nocapture"])
        .env(JOB, job.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The state shared by all threads.
struct Shared {
    folder: PathBuf,
    dense: bool,
    writes: i64,
    acknowledged: [AtomicI64; ROWS],
    ended: AtomicBool,
}

impl Shared {
    /// Reads and checks until all writers are done. Returns the number of reads.
    fn watch(&self, who: &str, mut read: impl FnMut() -> Vec<Vec<i64>>) -> usize {
        let mut reads = 0;
        loop {
            let last = self.ended.load(Ordering::SeqCst);
            let known: Vec<i64> = self.acknowledged.iter().map(|a| a.load(Ordering::SeqCst)).collect();
            self.judge(who, &known, &read());
            reads += 1;
            if last {
                return reads;
            }
        }
    }

    fn judge(&self, who: &str, known: &[i64], rows: &[Vec<i64>]) {
        for (row, (cells, known)) in rows.iter().zip(known).enumerate() {
            let first = cells.first().copied().unwrap_or(-1);
            assert!(cells.iter().all(|c| *c == first), "{who}: row {row} is torn: {cells:?}");
            assert!(
                cells.is_empty() || cells.len() == COLUMNS,
                "{who}: row {row} has {} cells",
                cells.len()
            );
            assert!(
                first >= *known,
                "{who}: row {row}: read {first} after {known} was acknowledged"
            );
        }
    }

    fn follow(&self, row: usize) {
        let job = json!({"folder": self.folder, "dense": self.dense, "row": row, "writes": self.writes});
        let mut child = start(&job);
        for line in BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
        {
            if let Some(n) = line.strip_prefix("done ") {
                self.acknowledged[row].store(n.parse().unwrap(), Ordering::SeqCst);
            }
        }
        assert!(child.wait().unwrap().success(), "the writer of row {row}");
    }
}

/// Sets the flag that writing is over, on drop.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::SeqCst);
        std::fs::write(self.0.folder.join("stop"), "").unwrap();
    }
}

fn at_once(dense: bool) {
    let folder = fresh(if dense { "together-dense" } else { "together-sparse" });
    let created = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(
        &Context::local(&folder),
        "array",
        &schema(dense),
        &[],
        &created,
    ))
    .unwrap();
    begin(&folder, dense);
    let shared = Arc::new(Shared {
        folder: folder.clone(),
        dense,
        writes: setting("HYPERSLAB_TOGETHER_WRITES", 25) as i64,
        acknowledged: [const { AtomicI64::new(-1) }; ROWS],
        ended: AtomicBool::new(false),
    });
    let mut consolidator = start(&json!({"folder": folder, "dense": dense}));
    let s = &*shared;
    let reads: Vec<usize> = std::thread::scope(|scope| {
        let ours = (0..2).map(|_| scope.spawn(|| s.watch("ours", || read_ours(&s.folder, dense))));
        let mut readers: Vec<_> = ours.collect();
        readers.push(scope.spawn(|| {
            let mut oracle = Oracle::start().unwrap();
            s.watch("libtiledb", || read_libtiledb(&mut oracle, &s.folder, dense))
        }));
        // Readers run until all writers have ended, even by failing.
        let over = Over(s);
        std::thread::scope(|scope| {
            for row in 0..2 {
                scope.spawn(move || {
                    for n in 0..s.writes {
                        write(&s.folder, dense, row, n);
                        s.acknowledged[row].store(n, Ordering::SeqCst);
                    }
                });
            }
            for row in 2..4 {
                scope.spawn(move || s.follow(row));
            }
            scope.spawn(|| {
                let mut oracle = Oracle::start().unwrap();
                for n in 0..s.writes {
                    write_libtiledb(&mut oracle, &s.folder, dense, 4, n);
                    s.acknowledged[4].store(n, Ordering::SeqCst);
                }
            });
        });
        drop(over);
        readers.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let mut said = String::new();
    std::io::Read::read_to_string(&mut consolidator.stdout.take().unwrap(), &mut said).unwrap();
    assert!(consolidator.wait().unwrap().success());
    let rounds = said.lines().find_map(|l| l.strip_prefix("rounds ")).unwrap_or("0");
    let all = vec![s.writes - 1; ROWS];
    s.judge("ours, at last", &all, &read_ours(&folder, dense));
    s.judge(
        "libtiledb, at last",
        &all,
        &read_libtiledb(&mut Oracle::start().unwrap(), &folder, dense),
    );
    let kind = if dense { "dense" } else { "sparse" };
    println!(
        "together: {kind}, {} writes, {reads:?} reads, {rounds} rounds of consolidation",
        s.writes * ROWS as i64
    );
}

#[test]
fn sparse_writers_readers_and_a_consolidator_at_once() {
    at_once(false);
}

#[test]
fn dense_writers_readers_and_a_consolidator_at_once() {
    at_once(true);
}
