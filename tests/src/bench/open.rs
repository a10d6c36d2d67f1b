//! Opens an array of many fragments and makes a small read.

use anyhow::{Context, Result};
use hyperslab::Batch;
use hyperslab::blocking::block_on;
use serde_json::Value;

use super::Job;
use super::data::{self, Box4, SparseQueries};
use super::limit;
use super::measure::{Metric, Unit, measure};

/// Rows 50,000 to 50,009 of a dense array of ten columns.
const BOX: Box4 = [50_000, 50_009, 0, 9];
/// Rows of the dense array.
pub(super) const ROWS: i64 = 100_000;
/// Columns of the dense array.
pub(super) const COLUMNS: i64 = 10;
/// The set of queries whose first box is read from the sparse array.
const SET: &str = "sq-1k";

pub(super) fn open(job: &Job) -> Result<bool> {
    let [kind, how] = job.parts()[..] else { return Ok(false) };
    let fragments: usize = how.split('+').next().unwrap_or(how).parse()?;
    let times = if fragments < 1000 { 10 } else { 3 };
    let (b, want) = match kind {
        "dense" => (BOX, (100, dense_sum())),
        "sparse" => sparse_box(job)?,
        _ => return Ok(false),
    };
    let query = if kind == "dense" {
        super::dense::query(&b)
    } else {
        super::sparse::query(&b, &SparseQueries::load(&job.data)?.columns[..2])
    };
    let metric = |name| Metric::new(name, Unit::Milliseconds, times, Value::Null);
    let only = |()| {
        for _ in 0..times {
            job.open()?;
        }
        Ok(())
    };
    measure(job, &metric("open"), None, || Ok(()), only)?;

    let mut batch = Batch::default();
    block_on(job.open()?.read_into(&query, &mut batch))?;
    let found = data::sums(&batch)?;
    let sum = |name: &str| found.get(name).copied().unwrap_or(0);
    let first = batch.columns.first().map_or("", |c| &c.0);
    let correct = (sum("cells"), sum(first)) == want;
    let both = |()| {
        for _ in 0..times {
            block_on(job.open()?.read_into(&query, &mut batch))?;
        }
        Ok(())
    };
    measure(job, &metric("open_read"), Some(correct), || Ok(()), both)?;
    if job.limit && fragments > 1 && !how.contains('+') {
        limit::files::open(job, "open", times, None)?;
        limit::files::open(job, "open_read", times, Some(&b))?;
    }
    Ok(true)
}

fn dense_sum() -> i64 {
    let row = |r: i64| (BOX[2]..=BOX[3]).map(|c| r * COLUMNS + c).sum::<i64>();
    (BOX[0]..=BOX[1]).map(row).sum()
}

/// The box, the number of cells in it and the sum of their first coordinates.
fn sparse_box(job: &Job) -> Result<(Box4, (i64, i64))> {
    let q = SparseQueries::load(&job.data)?;
    let b = *q.subarray.get(SET).and_then(|s| s.boxes.first()).context("no box")?;
    let columns = data::columns(&job.data, "sparse-new", &q.columns[..2])?;
    let typed: Vec<Vec<i64>> = columns.iter().map(|c| bytemuck::pod_collect_to_vec(c)).collect();
    let inside = |(x, y): &(&i64, &i64)| (b[0]..=b[1]).contains(*x) && (b[2]..=b[3]).contains(*y);
    let found: Vec<i64> = typed[0].iter().zip(&typed[1]).filter(inside).map(|c| *c.0).collect();
    Ok((b, (i64::try_from(found.len())?, found.iter().sum())))
}
