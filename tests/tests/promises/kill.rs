//! Processes that write, delete, consolidate and vacuum are killed at random times. Afterwards both engines must read
//! all acknowledged steps, and the interrupted step either completely or not at all.
//!
//! `HYPERSLAB_KILLS` sets how many are killed (default 100).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete, vacuum};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
use hyperslab::{
    Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, ScalarRange, WriteOptions,
};
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{fresh, hex};
use serde_json::{Value, json};

use super::setting;

const SIDE: i32 = 24;
const JOB: &str = "HYPERSLAB_KILL_JOB";

/// The expected cells: coordinate, number, text.
type Seen = BTreeMap<(i32, i32), (i32, String)>;

fn schema(dense: bool) -> Schema {
    let dim = |name, tile| Dimension::new(name, Datatype::Int32, 0_i32, SIDE - 1, tile);
    let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
    let text = Attribute::new("text", Datatype::StringAscii, CellCount::Var);
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    let mut schema = Schema::new(kind, vec![dim("y", 6), dim("x", 5)], vec![number, text]);
    schema.capacity = 40;
    schema
}

/// The action of step `k`, which is always the same.
enum Step {
    Write(Vec<(i32, i32)>),
    Delete(i32),
    Consolidate(Mode),
    Vacuum(Mode),
}

fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

fn step(k: i32, dense: bool) -> Step {
    let chance = |salt: u64, n: u64| mixed(k as u64 * 8 + salt) % n;
    match chance(0, 12) {
        6 if !dense => Step::Delete(k - 1 - chance(1, 4) as i32),
        7 => Step::Consolidate(Mode::Fragments),
        8 => Step::Vacuum(Mode::Fragments),
        9 => [Step::Consolidate(Mode::Commits), Step::Vacuum(Mode::Commits)]
            .into_iter()
            .nth(chance(2, 2) as usize)
            .unwrap(),
        10 => Step::Consolidate(Mode::FragmentMetadata),
        11 => Step::Vacuum(Mode::FragmentMetadata),
        _ if dense => {
            let (y, x) = (chance(1, 20) as i32, chance(2, 20) as i32);
            let (rows, columns) = (1 + chance(3, 24 - y as u64) as i32, 1 + chance(4, 24 - x as u64) as i32);
            Step::Write(
                (y..y + rows)
                    .flat_map(|y| (x..x + columns).map(move |x| (y, x)))
                    .collect(),
            )
        }
        _ => {
            let place = |i: u64| mixed(k as u64 * 1000 + i) % (SIDE * SIDE) as u64;
            let places: std::collections::BTreeSet<_> = (0..150).map(place).collect();
            Step::Write(places.iter().map(|p| (*p as i32 / SIDE, *p as i32 % SIDE)).collect())
        }
    }
}

fn text(number: i32) -> String {
    format!("{number} ").repeat(number as usize % 6)
}

fn apply(seen: &mut Seen, k: i32, dense: bool) {
    match step(k, dense) {
        Step::Write(places) => seen.extend(places.into_iter().map(|p| (p, (k, text(k))))),
        Step::Delete(number) => seen.retain(|_, cell| cell.0 != number),
        Step::Consolidate(_) | Step::Vacuum(_) => (),
    }
}

fn perform(context: &Context, k: i32, dense: bool) -> hyperslab::Result<()> {
    let array = block_on(Array::open(context, "array", &OpenOptions::default()))?;
    let mut seed = [9; 32];
    seed[..4].copy_from_slice(&k.to_be_bytes());
    // A repeated step uses new names.
    seed[4..8].copy_from_slice(&std::process::id().to_be_bytes());
    let options = WriteOptions {
        timestamp_ms: 10 + k as u64,
        seed,
        sync: true,
    };
    match step(k, dense) {
        Step::Write(places) => {
            let numbers = vec![k; places.len()];
            let texts = Column::from_cells(Datatype::StringAscii, numbers.iter().map(|n| text(*n)));
            let mut columns = vec![
                ("number".into(), Column::from_values(Datatype::Int32, &numbers)),
                ("text".into(), texts),
            ];
            let at = |of: fn(&(i32, i32)) -> i32| places.iter().map(of).collect::<Vec<_>>();
            let (y, x) = (at(|p| p.0), at(|p| p.1));
            let region = dense.then(|| {
                let span = |v: &[i32]| ScalarRange::new(v[0], v[v.len() - 1]);
                vec![span(&y), span(&x)]
            });
            if !dense {
                columns.push(("y".into(), Column::from_values(Datatype::Int32, &y)));
                columns.push(("x".into(), Column::from_values(Datatype::Int32, &x)));
            }
            let cells = Cells {
                region,
                layout: hyperslab::schema::Layout::RowMajor,
                columns,
            };
            block_on(array.write(cells, &options)).map(drop)
        }
        Step::Delete(number) => block_on(delete(&array, &format!("number = {number}").parse()?, &options)).map(drop),
        Step::Consolidate(mode) => block_on(consolidate(&array, &ConsolidateOptions::new(mode), &options)).map(drop),
        Step::Vacuum(mode) => block_on(vacuum(&array, mode, false, &options)).map(drop),
    }
}

/// The process to be killed. It performs step after step and prints the number of each when it is done.
#[test]
fn worker() {
    let Ok(job) = std::env::var(JOB) else { return };
    let job: Value = serde_json::from_str(&job).unwrap();
    let context = Context::local(job["folder"].as_str().unwrap());
    let parent = parent_id();
    println!("ready");
    for k in job["from"].as_i64().unwrap() as i32.. {
        perform(&context, k, job["dense"] == true).unwrap();
        println!("done {k}");
        if parent_id() != parent {
            break;
        }
    }
}

/// Starts the worker and kills it after a while. Returns the first step that it did not acknowledge.
fn cut_short(folder: &Path, dense: bool, from: i32, after: Duration) -> i32 {
    let job = json!({"folder": folder.to_string_lossy(), "dense": dense, "from": from});
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::worker", "--nocapture"])
        .env(JOB, job.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(worker.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(lines.any(|l| l.ends_with("ready")), "the worker starts");
    std::thread::sleep(after);
    assert_eq!(
        worker.try_wait().unwrap(),
        None,
        "the worker goes on until it is killed"
    );
    worker.kill().unwrap();
    worker.wait().unwrap();
    let done = lines.filter_map(|l| l.strip_prefix("done ").and_then(|k| k.parse::<i32>().ok()));
    done.last().map_or(from, |k| k + 1)
}

fn read_ours(folder: &Path) -> Seen {
    let context = Context::local(folder);
    let array = block_on(Array::open(&context, "array", &OpenOptions::default())).unwrap();
    let query = Query {
        fields: Some(["y", "x", "number", "text"].map(str::to_owned).into()),
        ..Query::default()
    };
    let batch = block_on(array.read(&query)).unwrap();
    let numbers = |name: &str| batch.column(name).unwrap().values::<i32>().unwrap().into_owned();
    let texts = batch.column("text").unwrap();
    let texts = (0..texts.len()).map(|i| texts.cell(i).to_vec()).collect();
    seen(numbers("y"), numbers("x"), numbers("number"), texts)
}

fn seen(y: Vec<i32>, x: Vec<i32>, number: Vec<i32>, texts: Vec<Vec<u8>>) -> Seen {
    let all = y.into_iter().zip(x).zip(number).zip(texts);
    // Cells of dense arrays that were never written hold the fill value.
    all.filter(|(((_, _), n), _)| *n != i32::MIN)
        .map(|(((y, x), n), text)| ((y, x), (n, String::from_utf8(text).unwrap())))
        .collect()
}

fn read_libtiledb(oracle: &mut Oracle, folder: &Path, dense: bool) -> Seen {
    let end = hex::encode(&(SIDE - 1).to_le_bytes());
    let dim = |name| json!({"name": name, "type": "int32", "domain": ["00000000", end]});
    let kind = if dense { "dense" } else { "sparse" };
    let case = json!({"schema": {"kind": kind, "dims": [dim("y"), dim("x")]}, "big": true});
    let mut fields = vec![
        json!(["number", "int32", 1, false]),
        json!(["text", "string_ascii", "var", false]),
    ];
    if !dense {
        fields.extend([json!(["y", "int32", 1, false]), json!(["x", "int32", 1, false])]);
    }
    let query = json!({"layout": "row", "fields": fields});
    let answer = oracle
        .about("read", &folder.join("array"), &case, &[("query", &query)])
        .unwrap();
    let data = |name: &str| hex::decode(answer["cols"][name]["data"].as_str().unwrap()).unwrap();
    let numbers = |name: &str| {
        data(name)
            .as_chunks()
            .0
            .iter()
            .map(|b| i32::from_le_bytes(*b))
            .collect::<Vec<_>>()
    };
    let (bytes, ends): (_, Vec<usize>) = (
        data("text"),
        serde_json::from_value(answer["cols"]["text"]["off"].clone()).unwrap(),
    );
    let texts = ends.windows(2).map(|w| bytes[w[0]..w[1]].to_vec()).collect();
    let (y, x) = match dense {
        true => (
            (0..SIDE * SIDE).map(|i| i / SIDE).collect(),
            (0..SIDE * SIDE).map(|i| i % SIDE).collect(),
        ),
        false => (numbers("y"), numbers("x")),
    };
    seen(y, x, numbers("number"), texts)
}

#[test]
fn a_crash_at_any_moment_loses_nothing_and_shows_nothing_half() {
    let kills = setting("HYPERSLAB_KILLS", 100);
    let mut oracle = Oracle::start().unwrap();
    let (mut cut, mut steps, mut left, mut half) = (0, 0, 0, 0);
    for dense in [false, true] {
        let folder = fresh(if dense { "kill-dense" } else { "kill-sparse" });
        let options = CreateOptions {
            timestamp_ms: 1,
            seed: [1; 32],
            key: None,
        };
        block_on(Array::create(
            &Context::local(&folder),
            "array",
            &schema(dense),
            &[],
            &options,
        ))
        .unwrap();
        let (mut model, mut next) = (Seen::new(), 0);
        for kill in 0..kills / 2 {
            let after = Duration::from_micros(mixed(kill as u64 + 7) % 60_000);
            let acknowledged = cut_short(&folder, dense, next, after);
            (next..acknowledged).for_each(|k| apply(&mut model, k, dense));
            let ours = read_ours(&folder);
            let theirs = read_libtiledb(&mut oracle, &folder, dense);
            assert!(
                ours == theirs,
                "kill {kill}: the engines read different cells after step {acknowledged}"
            );
            steps += acknowledged - next;
            next = acknowledged;
            if ours != model {
                apply(&mut model, next, dense);
                assert!(ours == model, "kill {kill}: neither before nor after step {next}");
                (cut, next) = (cut + 1, next + 1);
            }
        }
        half += uncommitted(&folder);
        left += clean_up(&folder);
        assert!(read_ours(&folder) == model && read_libtiledb(&mut oracle, &folder, dense) == model);
    }
    assert!(steps > 0, "nothing was ever done");
    println!(
        "kills: {kills} after {steps} steps; {cut} steps were visible but not acknowledged, {half} fragments were left without a commit, {left} unfinished files removed"
    );
}

/// The number of fragment folders that are not committed.
fn uncommitted(folder: &Path) -> usize {
    let visible = block_on(Array::open(&Context::local(folder), "array", &OpenOptions::default())).unwrap();
    let commits = std::fs::read_dir(folder.join("array/__commits")).unwrap();
    let names: String = commits
        .map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap_or_default())
        .collect();
    let folders = std::fs::read_dir(folder.join("array/__fragments")).unwrap();
    let folders = folders.map(|e| e.unwrap().file_name().into_string().unwrap());
    folders
        .filter(|f| !visible.fragments().iter().any(|v| v.name == *f))
        .filter(|f| !names.contains(f.as_str()) && !folder.join(format!("array/__commits/{f}.wrt")).exists())
        .count()
}

fn unfinished(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder.join("array")).unwrap();
    let paths = entries.map(|e| e.unwrap().path());
    paths.filter(|p| p.extension().is_some_and(|e| e == "tmp")).collect()
}

/// Removes the leftovers of killed processes once they are old enough. Returns the number of files.
fn clean_up(folder: &Path) -> usize {
    let found = unfinished(folder);
    for path in &found {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(300)).unwrap();
    }
    let started = Instant::now();
    let array = block_on(Array::open(&Context::local(folder), "array", &OpenOptions::default())).unwrap();
    let options = WriteOptions {
        timestamp_ms: 1 << 40,
        seed: [3; 32],
        sync: false,
    };
    block_on(vacuum(&array, Mode::Fragments, false, &options)).unwrap();
    assert!(unfinished(folder).is_empty(), "after {:?}", started.elapsed());
    found.len()
}
