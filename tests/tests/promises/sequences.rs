//! Random sequences of steps, performed by libtiledb, by Hyperslab, and by both in turn. After every step, both readers
//! must find the same cells in all three arrays. `HYPERSLAB_SEQUENCES` sets the number of sequences (default 60).

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use hyperslab::Context;
use hyperslab_tests::case::{Case, Op};
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{compare, fresh, perform};
use serde_json::{Value, json};

use super::setting;

/// The engine that performs a step.
#[derive(Clone, Copy)]
enum Who {
    Libtiledb,
    Hyperslab,
    InTurn,
}

const ALL: [(&str, Who); 3] = [
    ("libtiledb", Who::Libtiledb),
    ("hyperslab", Who::Hyperslab),
    ("in-turn", Who::InTurn),
];

#[test]
fn random_operations_give_the_same_cells_in_both_engines() {
    let folder = fresh("sequences");
    let mut oracle = Oracle::start().unwrap();
    let count = setting("HYPERSLAB_SEQUENCES", 60);
    let mut failed = Vec::new();
    for number in 0..count {
        let case = oracle.ask(&json!({"do": "sequence", "number": number})).unwrap();
        let here = folder.join(number.to_string());
        std::fs::create_dir_all(&here).unwrap();
        if let Err(e) = run(&mut oracle, &here, case) {
            failed.push(format!("sequence {number}: {e:#}"));
        }
    }
    println!("sequences: {count} run, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

fn run(oracle: &mut Oracle, folder: &Path, mut case: Value) -> Result<()> {
    let evolves = case["evolves"] == true;
    let context = Context::local(folder);
    let mut parsed: Case = serde_json::from_value(without_answers(&case))?;
    let created = if evolves { now_ms() } else { 1 };
    for (name, who) in ALL {
        match who {
            Who::Hyperslab => perform::begin(&context, name, &parsed, created)?,
            _ => drop(oracle.about("create", &folder.join(name), &case, &[])?),
        }
    }
    let steps = case["ops"].as_array().cloned().unwrap_or_default();
    for (number, mut step) in (1_usize..).zip(steps) {
        if evolves && step.get("t").is_some() {
            // Schema changes must be later than the creation of the array, which is now.
            std::thread::sleep(std::time::Duration::from_millis(3));
            step["t"] = now_ms().into();
        }
        let op: Op = serde_json::from_value(step.clone())?;
        for (name, who) in ALL {
            let ours = match who {
                Who::Libtiledb => false,
                Who::Hyperslab => true,
                Who::InTurn => number % 2 == 0,
            };
            let done = if ours {
                perform::step(&context, name, &parsed, &op, perform::seed(&parsed.name, number))
            } else {
                oracle
                    .about("perform", &folder.join(name), &case, &[("op", &step)])
                    .map(drop)
            };
            done.with_context(|| format!("step {number} {} on {name}", step["op"]))?;
        }
        if !evolves {
            let first = case["queries"][0].clone();
            agree(oracle, folder, &mut case, &mut parsed, &[first])
                .with_context(|| format!("after step {number}, {}", step["op"]))?;
        }
    }
    let all = case["queries"].as_array().cloned().unwrap_or_default();
    agree(oracle, folder, &mut case, &mut parsed, &all).context("at the end")
}

/// A case whose queries have no answers yet, in the form the Rust side reads.
fn without_answers(case: &Value) -> Value {
    let mut case = case.clone();
    case["queries"] = json!([]);
    case
}

/// Queries libtiledb about its own array, and compares both readers of the other arrays with the answers.
fn agree(oracle: &mut Oracle, folder: &Path, case: &mut Value, parsed: &mut Case, queries: &[Value]) -> Result<()> {
    let truth = folder.join("libtiledb");
    let mut asked = without_answers(case);
    let mut answered = Vec::new();
    for query in queries {
        let mut query = query.clone();
        query["expect"] = oracle.about("read", &truth, case, &[("query", &query)])?;
        answered.push(query);
    }
    asked["queries"] = answered.into();
    asked["metadata"] = oracle.about("metadata", &truth, case, &[])?;
    *parsed = serde_json::from_value(asked.clone())?;
    let context = Context::local(folder);
    for (name, _) in ALL {
        compare::check(&context, name, parsed).with_context(|| format!("Hyperslab reads {name}"))?;
        let why = oracle.about("judge", &folder.join(name), &asked, &[])?;
        ensure!(why == "", "libtiledb reads {name}: {why}");
    }
    Ok(())
}
