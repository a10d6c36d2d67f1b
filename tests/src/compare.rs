//! Runs the queries of a case and compares the results, cell by cell, with those of libtiledb.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::blocking::block_on;
use hyperslab::{Array, Batch, Column, Context, OpenOptions, Query, Window};

use crate::aggregates;
use crate::case::{Case, QuerySpec, condition, layout};

/// Runs all queries of a case on the array at `path`. Returns the number of cells compared.
///
/// # Errors
/// Names the query, the field and the cell that differ.
pub fn check(context: &Context, path: &str, case: &Case) -> Result<u64> {
    let mut cells = 0;
    for (i, q) in case.queries.iter().enumerate() {
        let label = || {
            format!(
                "query {i} ({} {:?} {})",
                q.layout,
                q.window,
                if q.ranges.is_some() { "part" } else { "all" }
            )
        };
        cells += check_query(context, path, case, q).with_context(label)?;
    }
    check_metadata(context, path, case).context("metadata")?;
    Ok(cells)
}

fn open(context: &Context, path: &str, case: &Case, window: Option<(u64, u64)>) -> Result<Array> {
    let window = window.map_or(Window::ALL, |(start_ms, end_ms)| Window { start_ms, end_ms });
    Ok(block_on(Array::open(
        context,
        path,
        &OpenOptions {
            window,
            key: case.key()?,
        },
    ))?)
}

fn check_query(context: &Context, path: &str, case: &Case, q: &QuerySpec) -> Result<u64> {
    let array = open(context, path, case, q.window)?;
    let tree = q
        .cond
        .as_ref()
        .map(|c| condition(array.schema(), &case.enum_types()?, c))
        .transpose()?;
    let query = Query {
        fields: Some(q.fields.iter().map(|f| f.0.clone()).collect()),
        region: q.region(array.schema()),
        order: layout(&q.layout)?,
        condition: tree,
        ..Query::default()
    };
    let got = block_on(array.read(&query))?;
    same(case, q, &got).context("read at once")?;
    // A budget so small that batches end in the middle of rows and tiles.
    let parts = collect(
        &array,
        Query {
            batch_bytes: 100,
            ..query.clone()
        },
    )?;
    same(case, q, &parts).context("read in batches")?;
    let count = block_on(array.count(&query))?;
    if q.cond.is_none() || !array.schema().is_dense() {
        let theirs = q.aggregates.as_ref();
        aggregates::check(&array, &query, &got, theirs).context("aggregates")?;
        ensure!(
            count == q.expect.cells,
            "counted {count} cells, libtiledb found {}",
            q.expect.cells
        );
    }
    Ok(got.cells)
}

/// The joined batches of a streamed read.
fn collect(array: &Array, query: Query) -> Result<Batch> {
    let mut all: Option<Batch> = None;
    let mut batches = array.batches(query.clone());
    while let Some(batch) = block_on(batches.next())? {
        let Some(whole) = &mut all else {
            all = Some(batch);
            continue;
        };
        whole.cells += batch.cells;
        for ((_, to), (_, from)) in whole.columns.iter_mut().zip(&batch.columns) {
            append(to, from);
        }
    }
    match all {
        Some(all) => Ok(all),
        None => Ok(block_on(array.read(&query))?),
    }
}

fn append(to: &mut Column, from: &Column) {
    let base = to.data.len() as u64;
    to.data.extend_from_slice(&from.data);
    if let (Some(to), Some(from)) = (&mut to.offsets, &from.offsets) {
        to.extend(from.iter().skip(1).map(|o| base + o));
    }
    if let (Some(to), Some(from)) = (&mut to.validity, &from.validity) {
        to.extend_from_slice(from);
    }
}

fn same(case: &Case, q: &QuerySpec, got: &Batch) -> Result<()> {
    ensure!(
        got.cells == q.expect.cells,
        "{} cells, libtiledb found {}",
        got.cells,
        q.expect.cells
    );
    let expected = q
        .fields
        .iter()
        .map(|f| Ok((f.0.clone(), q.expected(&f.0)?)))
        .collect::<Result<Vec<_>>>()?;
    for (name, column) in &got.columns {
        column.check(name)?;
    }
    // The order is not specified among equal coordinates and in unordered results.
    if q.layout == "unordered" || case.schema.dups {
        let (ours, theirs) = (rows(&got.columns), rows(&expected));
        for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            ensure!(a == b, "sorted row {i} is {a}, libtiledb has {b}");
        }
        return Ok(());
    }
    for ((name, ours), (_, theirs)) in got.columns.iter().zip(&expected) {
        differ(ours, theirs).with_context(|| format!("field '{name}'"))?;
    }
    Ok(())
}

fn differ(ours: &Column, theirs: &Column) -> Result<()> {
    ensure!(
        ours.datatype == theirs.datatype && ours.cell == theirs.cell,
        "another type"
    );
    ensure!(
        ours.validity.is_some() == theirs.validity.is_some(),
        "nullable on one side only"
    );
    for i in 0..theirs.len().max(ours.len()) {
        if show(ours, i) != show(theirs, i) {
            bail!(
                "cell {i} of {} is {}, libtiledb has {}",
                theirs.len(),
                show(ours, i),
                show(theirs, i)
            );
        }
    }
    Ok(())
}

/// A cell as text. The value of a null is ignored.
fn show(column: &Column, i: usize) -> String {
    if column.is_null(i) {
        "null".to_owned()
    } else {
        crate::hex::encode(column.cell(i))
    }
}

fn rows(columns: &[(String, Column)]) -> Vec<String> {
    let cells = columns.first().map_or(0, |(_, c)| c.len());
    let mut rows: Vec<String> = (0..cells)
        .map(|i| columns.iter().map(|(_, c)| show(c, i)).collect::<Vec<_>>().join(" "))
        .collect();
    rows.sort_unstable();
    rows
}

fn check_metadata(context: &Context, path: &str, case: &Case) -> Result<()> {
    let Some(expected) = &case.metadata else { return Ok(()) };
    let got = block_on(open(context, path, case, None)?.metadata())?;
    let keys: Vec<_> = got.keys().collect();
    ensure!(
        keys == expected.keys().collect::<Vec<_>>(),
        "keys {keys:?}, libtiledb has {:?}",
        expected.keys()
    );
    for (key, (datatype, num, data)) in expected {
        let value = &got[key];
        // In the C API, a value without data has the count 1; on disk it is 0.
        let num = if data.0.is_empty() { 0 } else { *num };
        ensure!(
            value.datatype.name() == datatype && value.num == num && value.data == data.0,
            "'{key}' is {value:?}"
        );
    }
    Ok(())
}
