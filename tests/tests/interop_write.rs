//! The matrix, the other way: Hyperslab writes every kind of array; it and libtiledb read each cell of
//! it, and what its fragment metadata says is what libtiledb's says for the same cells.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod matrix;

use std::collections::HashMap;
use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, ensure};
use hyperslab::array::{Array, OpenOptions, Window};
use hyperslab::blocking::block_on;
use hyperslab::format::fragment::slots::FieldId;
use hyperslab::format::schema::Schema;
use hyperslab::{CellCount, Context, Datatype, schema_json};
use hyperslab_tests::case::{Case, Op};
use hyperslab_tests::metadata::{Fact, facts};
use hyperslab_tests::{compare, here, perform, python, scratch};

/// Differences that are known and not yet mended: family of cases, kind, and how many arrays at most.
///
/// Statistics: minima of tiles of nulls alone, which libtiledb leaves at the identity of the minimum,
/// and those of consolidated fragments. Schemas: what evolution leaves in a schema file.
const OPEN: &[(&str, &str, usize)] = &[
    ("condition", "statistics", 4),
    ("consolidate", "statistics", 60),
    ("current", "schema", 24),
    ("delete", "statistics", 12),
    ("dim", "statistics", 4),
    ("enum", "statistics", 12),
    ("evolve", "schema", 120),
    ("fill", "statistics", 4),
    ("fragments", "cells", 6),
    ("fragments", "statistics", 6),
    ("stack", "statistics", 12),
    ("type", "statistics", 4),
];

#[test]
fn what_hyperslab_writes_reads_alike() {
    let matrix = matrix::generated();
    let folder = scratch("hyperslab");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let ours = Context::local(&folder);
    let theirs = Context::local(&matrix.folder);
    let refused = matrix.written(|case| perform::perform(&ours, &case.name, case));
    let judged = judge(&folder, &matrix.folder);
    matrix.check(
        "matrix: written by Hyperslab, read by libtiledb",
        OPEN,
        |case: &Case| {
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
        },
    );
}

/// What libtiledb has to say of each array: nothing, or what is wrong with it.
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

/// Both schemas as JSON, which leaves out only the names of files.
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
            if fact != expected && !libtiledb_is_wrong(&mine.schema, mine.dense, merged, fact) {
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

/// The statistics that libtiledb 2.30 is known to get wrong, or to leave to chance.
fn libtiledb_is_wrong(schema: &Schema, dense: bool, merged: bool, fact: &Fact) -> bool {
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
    // Where a sum leaves its type, libtiledb's depends on how it cut the tile into runs.
    let overflown = |value: &str| {
        let ends = [i64::MAX as u64, i64::MIN as u64, u64::MAX];
        ends.iter().any(|end| value.contains(&end.to_string()))
    };
    match fact.what {
        // Zero where nothing but a minimum would have been computed; off by the padding elsewhere.
        "tile null counts" | "fragment null count" => a.nullable && (!has_minimum || (dense && var)),
        // The fill values between the merged cells count in dense fragments.
        _ if dense && merged => true,
        "tile sums" | "fragment sum" => dense && overflown(&fact.value),
        // Padding counts as text in dense tiles, and what a tile of nulls alone has is left to chance.
        "tile minima" | "tile maxima" | "fragment minimum" | "fragment maximum" => {
            a.nullable && (plain_text || a.datatype.is_datetime() || a.datatype.is_time())
        }
        _ => false,
    }
}
