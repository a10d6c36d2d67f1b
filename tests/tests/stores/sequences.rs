//! Performs the same steps on a remote array with this engine and with libtiledb.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use hyperslab::Context;
use hyperslab_tests::case::{Case, Op};
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{compare, perform};
use serde_json::{Value, json};

/// The sequences to run: some without schema evolution, so that their timestamps are fixed.
const SEQUENCES: [u64; 3] = [0, 1, 3];

/// Runs some cases in the root of `context`, whose URL for libtiledb is `ours`, and with libtiledb in `theirs`. Both
/// must hold the same cells, and libtiledb must be able to read ours.
pub(crate) fn run_sequences(what: &str, context: &Context, oracle: &mut Oracle, ours: &Path, theirs: &Path) {
    let mut cells = 0;
    for number in SEQUENCES {
        let case = oracle.ask(&json!({"do": "sequence", "number": number})).unwrap();
        let compared = one(context, oracle, &case, ours, theirs).with_context(|| format!("sequence {number}"));
        cells += compared.unwrap();
    }
    println!("{what}: {} sequences, {cells} cells compared", SEQUENCES.len());
    assert!(cells > 0, "no cell was compared");
}

/// Runs one case. Returns the number of cells compared.
fn one(context: &Context, oracle: &mut Oracle, case: &Value, ours: &Path, theirs: &Path) -> Result<u64> {
    let name = case["name"].as_str().context("a name")?;
    let (ours, theirs) = (ours.join(name), theirs.join(name));
    let mut asked = case.clone();
    asked["queries"] = json!([]);
    let parsed: Case = serde_json::from_value(asked.clone())?;
    perform::begin(context, name, &parsed, 1)?;
    oracle.about("create", &theirs, case, &[])?;
    for (number, step) in (1_usize..).zip(case["ops"].as_array().context("a list")?) {
        let op: Op = serde_json::from_value(step.clone())?;
        let seed = perform::seed(name, number);
        perform::step(context, name, &parsed, &op, seed).with_context(|| format!("step {number}, {}", step["op"]))?;
        oracle.about("perform", &theirs, case, &[("op", step)])?;
    }
    let mut answered = Vec::new();
    for query in case["queries"].as_array().context("a list")? {
        let mut query = query.clone();
        query["expect"] = oracle.about("read", &theirs, case, &[("query", &query)])?;
        answered.push(query);
    }
    asked["queries"] = answered.into();
    asked["metadata"] = oracle.about("metadata", &theirs, case, &[])?;
    let cells = compare::check(context, name, &serde_json::from_value(asked.clone())?)?;
    let why = oracle.about("judge", &ours, &asked, &[])?;
    ensure!(why == "", "libtiledb reads {}: {why}", ours.display());
    Ok(cells)
}
