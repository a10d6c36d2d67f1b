//! Writing the matrix: Hyperslab writes every kind of array, and both engines read every cell. The fragment metadata
//! must equal that which libtiledb writes for the same cells.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod matrix;

use std::collections::HashMap;
use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, ensure};
use hyperslab::blocking::block_on;
use hyperslab::internals::format::fragment::slots::FieldId;
use hyperslab::schema::{Attribute, Schema};
use hyperslab::{Array, CellCount, Context, Datatype, OpenOptions, Window, schema_json};
use hyperslab_tests::case::{Case, Op};
use hyperslab_tests::metadata::{Fact, facts};
use hyperslab_tests::{compare, here, perform, python, scratch};

#[test]
fn libtiledb_reads_what_hyperslab_writes() {
    let matrix = matrix::generated();
    let folder = scratch("hyperslab");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let ours = Context::local(&folder);
    let theirs = Context::local(&matrix.folder);
    let refused = matrix.written(|case| perform::perform(&ours, &case.name, case));
    let judged = judge(&folder, &matrix.folder);
    matrix.check("matrix: written by Hyperslab, read by libtiledb", |case: &Case| {
        if case.only.as_deref() == Some("read") {
            return Ok(0);
        }
        if let Some(why) = refused.get(&case.name) {
            anyhow::bail!("not written: {why}");
        }
        let cells = compare::check(&ours, &case.name, case).context("read by Hyperslab itself")?;
        let verdict = judged.get(&case.name).context("libtiledb was not asked")?;
        ensure!(verdict.is_empty(), "libtiledb: {verdict}");
        same_schema(&ours, &theirs, case).context("schema")?;
        same_metadata(&ours, &theirs, case).context("fragment metadata")?;
        Ok(cells)
    });
}

/// Returns libtiledb's verdict on each array, by name.
fn judge(ours: &std::path::Path, theirs: &std::path::Path) -> HashMap<String, String> {
    let script = here().join("interop/check.py");
    let out = Command::new(python())
        .arg(script)
        .arg(ours)
        .arg(theirs)
        .stderr(std::process::Stdio::inherit())
        .output()
        .unwrap();
    std::io::stdout().flush().unwrap();
    assert!(out.status.success(), "check.py: {}", out.status);
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines()
        .map(|l| serde_json::from_str::<(String, String)>(l).unwrap())
        .collect()
}

fn open(context: &Context, case: &Case) -> anyhow::Result<Array> {
    Ok(block_on(Array::open(
        context,
        &case.name,
        &OpenOptions {
            window: Window::ALL,
            key: case.key()?,
        },
    ))?)
}

/// Compares both schemas as JSON, which leaves out only file names.
fn same_schema(ours: &Context, theirs: &Context, case: &Case) -> anyhow::Result<()> {
    let mut texts = Vec::new();
    for context in [ours, theirs] {
        let array = open(context, case)?;
        let mut schema = (**array.schema()).clone();
        let mut enumerations = Vec::new();
        for reference in &mut schema.enumerations {
            let mut e = (*block_on(array.enumeration(&reference.name))?).clone();
            e.file.clear();
            reference.file.clear();
            enumerations.push(e);
        }
        schema.enumerations.sort_by(|a, b| a.name.cmp(&b.name));
        enumerations.sort_by(|a, b| a.name.cmp(&b.name));
        let json = schema_json::to_json(&schema, &enumerations);
        let (again, again_enums) = schema_json::from_json(&json)?;
        ensure!(
            schema_json::to_json(&again, &again_enums) == json,
            "its JSON does not come back: {json}"
        );
        texts.push(json);
    }
    ensure!(texts[0] == texts[1], "is {}\nlibtiledb's is {}", texts[0], texts[1]);
    Ok(())
}

fn same_metadata(ours: &Context, theirs: &Context, case: &Case) -> anyhow::Result<()> {
    let (a, b) = (open(ours, case)?, open(theirs, case)?);
    let (ours, theirs) = (facts(&a)?, facts(&b)?);
    ensure!(
        ours.len() == theirs.len(),
        "{} fragments, libtiledb has {}",
        ours.len(),
        theirs.len()
    );
    for ((mine, facts), (_, expected)) in ours.iter().zip(&theirs) {
        ensure!(
            facts.len() == expected.len(),
            "{} facts, libtiledb's has {}",
            facts.len(),
            expected.len()
        );
        for (fact, expected) in facts.iter().zip(expected) {
            let merged = mine.start_ms != mine.end_ms
                || case
                    .ops
                    .iter()
                    .any(|op| matches!(op, Op::Consolidate { mode, .. } if mode == "fragments"));
            if fact != expected && !libtiledb_is_wrong(&mine.schema, mine.dense, merged, fact, expected) {
                anyhow::bail!(
                    "{} of {}: {} is {}, libtiledb has {}",
                    fact.field.map_or_else(|| "fragment".to_owned(), |f| format!("{f:?}")),
                    mine.name,
                    fact.what,
                    fact.value,
                    expected.value
                );
            }
        }
    }
    Ok(())
}

/// Statistics that libtiledb 2.30 gets wrong or computes nondeterministically.
fn libtiledb_is_wrong(schema: &Schema, dense: bool, merged: bool, fact: &Fact, theirs: &Fact) -> bool {
    let Some(FieldId::Attribute(i)) = fact.field else {
        return false;
    };
    let Some(a) = schema.attributes.get(i) else {
        return false;
    };
    let var = a.cell == CellCount::Var;
    let plain_text = matches!(a.datatype, Datatype::Char | Datatype::StringAscii);
    let has_minimum =
        plain_text || (a.cell == CellCount::Fixed(1) && !a.datatype.is_opaque() && !a.datatype.is_string());
    match fact.what {
        // Zero if only a minimum would have been computed; otherwise off by the padding.
        "tile null counts" | "fragment null count" if a.nullable && (!has_minimum || (dense && var)) => true,
        // Dense fragments count the fill values between and beyond the merged cells.
        _ if dense && merged => true,
        // The order of cells with equal coordinates is arbitrary, and so is their tile.
        what if schema.allows_duplicates && what.starts_with("tile ") => true,
        "tile sums" | "fragment sum" => sums_agree(a, &fact.value, &theirs.value) || (dense && overflown(&fact.value)),
        // A merged tile of nulls has zeros or the initial interval of the search.
        "tile minima" | "tile maxima" if merged && a.nullable => true,
        // Dense tiles count padding as text.
        "tile minima" | "tile maxima" | "fragment minimum" | "fragment maximum" => dense && a.nullable && plain_text,
        _ => false,
    }
}

/// Whether a partial sum of integers may have overflowed, because the sum exceeds a quarter of its type's range. Then
/// libtiledb's sum depends on how it split the tile into runs.
fn overflown(value: &str) -> bool {
    let mut sums = value.split(|c: char| !c.is_ascii_digit()).filter(|t| !t.is_empty());
    sums.any(|t| t.parse::<u64>().is_ok_and(|bits| (1 << 61..=7 << 61).contains(&bits)))
}

/// Whether sums of floats differ only by rounding. They depend on the order of addition; in dense tiles this is the
/// order of the written buffer.
fn sums_agree(a: &Attribute, ours: &str, theirs: &str) -> bool {
    if !matches!(a.datatype, Datatype::Float32 | Datatype::Float64) {
        return false;
    }
    let list = |text: &str| -> Vec<f64> {
        let bits = text.split(|c: char| !c.is_ascii_digit()).filter(|t| !t.is_empty());
        bits.map(|t| f64::from_bits(t.parse().unwrap())).collect()
    };
    let (ours, theirs) = (list(ours), list(theirs));
    let near = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a - b).abs() <= a.abs().max(b.abs()) * 1e-12;
    ours.len() == theirs.len() && ours.iter().zip(&theirs).all(near)
}
