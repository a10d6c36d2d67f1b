//! Workloads on the positions of ships.

use anyhow::{Context, Result};
use hyperslab::blocking::block_on;
use hyperslab::schema::Layout;
use hyperslab::{Cells, Query, Region, ScalarRange};
use serde_json::Value;

use super::Job;
use super::data::{self, Box4, SparseQueries, Sums};
use super::job::written;
use super::limit;
use super::measure::{Metric, Unit, measure};
use super::read::read;
use super::schema;

/// Cells of a later fragment.
const FRAGMENT_CELLS: usize = 1000;
/// The number of fragments written to measure writes.
const WRITES: usize = 20;

/// Writes all cells from memory to files.
pub(super) fn load(job: &Job) -> Result<bool> {
    let (codec, how) = job.variant.split_once('-').unwrap_or((&job.variant, ""));
    let q = SparseQueries::load(&job.data)?;
    let schema = schema::sparse(&q, codec, how == "dups")?;
    let (layout, writes) = match how {
        "" | "dups" => (Layout::Unordered, 1),
        "global" => (Layout::Global, 1),
        "m12" => (Layout::Unordered, 12),
        _ => return Ok(false),
    };
    let setup = || {
        job.remove()?;
        let columns = data::columns(&job.data, "sparse", &q.columns)?;
        let columns = if layout == Layout::Global {
            in_global_order(columns)
        } else {
            columns
        };
        Ok(split(columns, writes))
    };
    let run = |batches: Vec<Vec<Vec<u8>>>| {
        job.create(&schema)?;
        for (k, columns) in (1..).zip(batches) {
            let cells = Cells {
                region: None,
                layout,
                columns: data::named(&q.columns, columns),
            };
            block_on(job.open()?.write(cells, &written(k)?))?;
        }
        Ok(())
    };
    measure(
        job,
        &Metric::new("load", Unit::Seconds, 1, Value::Null),
        None,
        setup,
        run,
    )?;
    Ok(true)
}

fn in_global_order(columns: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let typed: Vec<Vec<i64>> = columns.iter().map(|c| bytemuck::pod_collect_to_vec(c)).collect();
    drop(columns);
    let mut order: Vec<usize> = (0..typed[0].len()).collect();
    order.sort_by_cached_key(|&i| schema::global_key(typed[0][i], typed[1][i]));
    let column = |c: &Vec<i64>| order.iter().flat_map(|&i| c[i].to_le_bytes()).collect();
    typed.iter().map(column).collect()
}

/// The cells in `n` batches of nearly equal size.
pub(super) fn split(columns: Vec<Vec<u8>>, n: usize) -> Vec<Vec<Vec<u8>>> {
    if n == 1 {
        return vec![columns];
    }
    let cells = columns[0].len() / 8;
    let cut = |k: usize| 8 * (k * (cells / n) + k.min(cells % n));
    let batch = |k: usize| columns.iter().map(|c| c[cut(k)..cut(k + 1)].to_vec()).collect();
    (0..n).map(batch).collect()
}

/// Reads boxes of an array with one fragment.
pub(super) fn subarray(job: &Job) -> Result<bool> {
    let [_, set, what] = job.parts()[..] else {
        return Ok(false);
    };
    let q = SparseQueries::load(&job.data)?;
    let Some(one) = q.subarray.get(set) else {
        return Ok(false);
    };
    let (boxes, names, want) = match what {
        "xy" => (&one.boxes[..], &q.columns[..2], &one.expect),
        "all" => (&one.boxes[..q.first], &q.columns[..], &one.expect_first),
        _ => return Ok(false),
    };
    read(job, "read", &queries(boxes, names), want)?;
    Ok(true)
}

/// Reads boxes after later fragments, and measures the write of one fragment.
pub(super) fn fragments(job: &Job) -> Result<bool> {
    let q = SparseQueries::load(&job.data)?;
    match job.parts()[..] {
        [codec, f, set] => {
            let (boxes, want) = expected(&q, codec, f, set)?;
            read(job, "read", &queries(boxes, &q.columns[..3]), want)?;
            if job.limit && f != "0" {
                limit::files::fragments(job, codec, boxes)?;
            }
        }
        [_, "write"] => {
            let fresh = data::columns(&job.data, "sparse-new", &q.columns)?;
            let run = |()| {
                for k in 0..WRITES {
                    let columns = part(&fresh, k);
                    let cells = Cells {
                        region: None,
                        layout: Layout::Unordered,
                        columns: data::named(&q.columns, columns),
                    };
                    block_on(job.open()?.write(cells, &written(u32::try_from(k + 1)?)?))?;
                }
                Ok(())
            };
            measure(
                job,
                &Metric::new("write", Unit::Milliseconds, WRITES, Value::Null),
                None,
                || Ok(()),
                run,
            )?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The cells of later fragment number `k`.
pub(super) fn part(fresh: &[Vec<u8>], k: usize) -> Vec<Vec<u8>> {
    let part = 8 * k * FRAGMENT_CELLS..8 * (k + 1) * FRAGMENT_CELLS;
    fresh.iter().map(|c| c[part.clone()].to_vec()).collect()
}

/// Merges all fragments into one, then reads boxes.
pub(super) fn consolidated(job: &Job) -> Result<bool> {
    let [codec, f] = job.parts()[..] else { return Ok(false) };
    let q = SparseQueries::load(&job.data)?;
    let set = q.after.keys().find_map(|k| k.split('/').nth(1)).context("no sums")?;
    let (boxes, want) = expected(&q, codec, f, set)?;
    super::dense::merge(job)?;
    read(job, "read_after", &queries(boxes, &q.columns[..3]), want)?;
    Ok(true)
}

fn expected<'a>(q: &'a SparseQueries, codec: &str, f: &str, set: &str) -> Result<(&'a [Box4], &'a Sums)> {
    let kept = if codec.ends_with("-dups") { "dups" } else { "last" };
    let key = format!("{f}/{set}/{kept}");
    let want = q.after.get(&key).with_context(|| format!("no sums for {key}"))?;
    let one = q.subarray.get(set).with_context(|| format!("no set {set}"))?;
    Ok((&one.boxes[..q.first], want))
}

/// The queries of boxes.
pub(super) fn queries(boxes: &[Box4], names: &[String]) -> Vec<Query> {
    boxes.iter().map(|b| query(b, names)).collect()
}

/// The query of a box, in unordered layout.
pub(super) fn query(b: &Box4, names: &[String]) -> Query {
    Query {
        fields: Some(names.to_vec()),
        region: Region::from_box(vec![ScalarRange::new(b[0], b[1]), ScalarRange::new(b[2], b[3])]),
        order: Layout::Unordered,
        ..Query::default()
    }
}
