//! `schema | create` and `export | write` copy any readable array. Every array written by an old release is copied, and
//! libtiledb 2.30 must read the same cells from the copy.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use hyperslab_tests::case::Case;
use hyperslab_tests::golden;
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{fresh, program};
use rayon::prelude::*;
use serde_json::{Value, json};

/// The arrays and files of one case: the original, the copy, the key.
fn unpack(folder: &Path, case: &Case) -> Result<()> {
    for (path, bytes) in &case.files {
        let place = folder.join("original").join(path);
        std::fs::create_dir_all(place.parent().context("a folder")?)?;
        std::fs::write(place, &bytes.0)?;
    }
    if let Some(key) = &case.key {
        std::fs::write(folder.join("key"), &key.0)?;
    }
    Ok(())
}

/// `hyperslab FROM… | hyperslab TO…`.
fn pipe(folder: &Path, from: &[&str], to: &[&str]) -> Result<()> {
    let command = |words: &[&str]| {
        let mut c = Command::new(program());
        c.current_dir(folder).args(words).stderr(Stdio::piped());
        if folder.join("key").exists() {
            c.args(["--key-file", "key"]);
        }
        c
    };
    let mut source = command(from).stdout(Stdio::piped()).spawn()?;
    let sink = command(to)
        .stdin(source.stdout.take().context("a pipe")?)
        .stdout(Stdio::null())
        .output()?;
    let source = source.wait_with_output()?;
    for (words, done) in [(from, &source), (to, &sink)] {
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "hyperslab {}: {said}", words.join(" "));
    }
    Ok(())
}

fn copy(folder: &Path, case: &Case) -> Result<()> {
    unpack(folder, case)?;
    // Samples with several schemas have timestamps in the future.
    pipe(
        folder,
        &["schema", "original", "--at", "0.."],
        &["create", "copy", "--schema", "-"],
    )?;
    pipe(
        folder,
        &["export", "original", "-", "--format", "arrow", "--at", "0.."],
        &["write", "copy", "-", "--format", "arrow"],
    )
}

#[test]
fn every_golden_array_can_be_copied_through_pipes() {
    let folder = fresh("copies");
    let texts = golden::texts();
    let cases: Vec<(String, Value)> = texts
        .into_iter()
        .flat_map(|(library, cases)| cases.into_iter().map(move |c| (library.clone(), c)))
        .collect();
    program();
    let outcomes: Vec<Result<bool, String>> = cases
        .par_chunks(cases.len().div_ceil(2).max(1))
        .flat_map_iter(|cases| {
            let mut oracle = Oracle::start().unwrap();
            let folder = &folder;
            cases.iter().map(move |(library, case)| {
                let name = format!("{library} {}", case["name"]);
                let here = folder.join(name.replace(['/', '"', ' '], "_"));
                check(&mut oracle, &here, case).map_err(|e| format!("{name}: {e:#}"))
            })
        })
        .collect();
    let copied = outcomes.iter().filter(|o| **o == Ok(true)).count();
    let failed: Vec<&String> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    println!("copies: {copied} of {} arrays, {} failed", cases.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(copied >= 600, "only {copied} were copied");
}

/// The name of the unnamed attribute in releases before 2.0. The copy leaves it unnamed.
const UNNAMED: &str = "__attr";

/// Copies an array and compares. Returns `false` if libtiledb cannot read all of the original, so that the sample has
/// no answers of it.
fn check(oracle: &mut Oracle, folder: &Path, case: &Value) -> Result<bool> {
    let questions = case["queries"].as_array().context("a list of questions")?;
    let is_latest = |window: &Value| window.is_null() || window[1] == case["now"];
    let is_whole = |q: &&Value| is_latest(&q["window"]) && q["ranges"].is_null() && q["cond"].is_null();
    let Some(whole) = questions.iter().find(is_whole) else {
        return Ok(false);
    };
    copy(folder, &serde_json::from_value(case.clone())?)?;
    let mut asked = case.clone();
    asked["queries"] = json!([whole]);
    asked["queries"][0]["window"] = Value::Null;
    asked.as_object_mut().context("a case")?.remove("metadata");
    asked["files"] = json!({});
    let cells = asked["queries"][0]["expect"]["cols"].as_object_mut();
    let cells = cells.context("columns")?;
    if let Some(unnamed) = cells.remove(UNNAMED) {
        cells.insert(String::new(), unnamed);
        let fields = asked["queries"][0]["fields"].as_array_mut().context("fields")?;
        let old = fields.iter_mut().filter(|f| f[0] == UNNAMED);
        old.for_each(|f| f[0] = json!(""));
    }
    let why = oracle.about("judge", &folder.join("copy"), &asked, &[])?;
    std::fs::remove_dir_all(folder)?;
    ensure!(why == "", "libtiledb reads the copy: {why}");
    Ok(true)
}
