//! Workloads on the dense matrix.

use anyhow::{Context, Result, ensure};
use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::Layout;
use hyperslab::{Array, Cells, Column, Datatype, Query, Region, ScalarRange};
use serde_json::{Value, json};

use super::Job;
use super::data::{self, Box4, DenseQueries, Sums};
use super::job::written;
use super::limit;
use super::measure::{Metric, Unit, measure};
use super::read::read;
use super::schema;

const READ: &str = "read";

/// Writes the whole matrix from memory to files.
pub(super) fn load(job: &Job) -> Result<bool> {
    let [codec, order] = job.parts()[..] else {
        return Ok(false);
    };
    let q = DenseQueries::load(&job.data)?;
    let schema = schema::dense(&q, codec)?;
    let layout = match order {
        "row" => Layout::RowMajor,
        "global" => Layout::Global,
        _ => return Ok(false),
    };
    let setup = || {
        job.remove()?;
        let matrix = data::matrix(&job.data)?;
        Ok(match layout {
            Layout::Global => data::tiled(&matrix, q.shape, q.tile),
            _ => matrix,
        })
    };
    let run = |matrix| {
        job.create(&schema)?;
        let array = job.open()?;
        let cells = Cells {
            region: None,
            layout,
            columns: vec![("v".into(), values(matrix))],
        };
        block_on(array.write(cells, &written(1)?))?;
        Ok(())
    };
    let bytes = 4 * q.shape[0] * q.shape[1];
    measure(
        job,
        &Metric::new("load", Unit::Seconds, 1, json!({"bytes": bytes})),
        None,
        setup,
        run,
    )?;
    if job.limit {
        limit::load(job, codec)?;
    }
    Ok(true)
}

pub(super) fn values(data: Vec<u8>) -> Column {
    Column {
        data,
        ..Column::from_values::<i32>(Datatype::Int32, &[])
    }
}

/// Random cells, written durably.
pub(super) fn update(job: &Job) -> Result<bool> {
    let [_, n] = job.parts()[..] else { return Ok(false) };
    let q = DenseQueries::load(&job.data)?;
    let Some(set) = q.random.get(n) else { return Ok(false) };
    let [rows, cols] = set.cells(&job.data)?;
    // A cell that is drawn twice is written once, since it gets the same value both times.
    let mut cells: Vec<(i64, i64)> = rows.into_iter().zip(cols).collect();
    let mut seen = std::collections::HashSet::new();
    cells.retain(|c| seen.insert(*c));
    let column =
        |f: &dyn Fn(&(i64, i64)) -> i64| Column::from_values(Datatype::Int64, &cells.iter().map(f).collect::<Vec<_>>());
    let new: Vec<i32> = cells.iter().map(|(r, c)| -(r * q.shape[1] + c) as i32).collect();
    let setup = || {
        Ok(vec![
            ("row".to_owned(), column(&|c| c.0)),
            ("col".to_owned(), column(&|c| c.1)),
            ("v".to_owned(), Column::from_values(Datatype::Int32, &new)),
        ])
    };
    let run = |columns| {
        block_on(job.open()?.write_points(columns, &written(1)?))?;
        Ok(())
    };
    let params = json!({"method": "sparse fragment"});
    measure(job, &Metric::new("update", Unit::Seconds, 1, params), None, setup, run)?;

    let array = job.open()?;
    let found = block_on(array.read_points(None, &[column(&|c| c.0), column(&|c| c.1)]))?;
    let v = &found.columns.iter().find(|c| c.0 == "v").context("no column v")?.1;
    ensure!(v.values::<i32>()? == new, "the cells that were written are not read");
    let full = q.subarray.get("full").context("no set full")?;
    let all = data::sums(&block_on(array.read(&query(&full.boxes[0])))?)?;
    // Each cell held the negated value before.
    let changed: i64 = new.iter().map(|v| 2 * i64::from(*v)).sum();
    ensure!(all["v"] == full.sum + changed, "other cells have changed");
    Ok(true)
}

/// Reads boxes of a newly loaded array.
pub(super) fn subarray(job: &Job) -> Result<bool> {
    let [codec, name] = job.parts()[..] else {
        return Ok(false);
    };
    let q = DenseQueries::load(&job.data)?;
    let Some(set) = q.subarray.get(name) else {
        return Ok(false);
    };
    boxes(job, READ, &set.boxes, set.sum)?;
    if job.limit {
        limit::read(job, codec, name, set)?;
    }
    Ok(true)
}

/// Reads random cells in one request.
pub(super) fn random(job: &Job) -> Result<bool> {
    let [_, n] = job.parts()[..] else { return Ok(false) };
    let q = DenseQueries::load(&job.data)?;
    let Some(set) = q.random.get(n) else { return Ok(false) };
    let at = set.cells(&job.data)?.map(|c| Column::from_values(Datatype::Int64, &c));
    let read = |array: &Array| block_on(array.read_points(None, &at));
    let sum = data::sums(&read(&job.open()?)?)?.get("v").copied();
    let run = |array| Ok(read(&array).map(drop)?);
    let metric = Metric::new(READ, Unit::Milliseconds, 1, json!({"method": "points"}));
    measure(job, &metric, Some(sum == Some(set.sum)), || job.open(), run)?;
    Ok(true)
}

/// Reads boxes after later fragments, and measures the write of one fragment.
pub(super) fn fragments(job: &Job) -> Result<bool> {
    let [codec, f] = job.parts()[..] else { return Ok(false) };
    let q = DenseQueries::load(&job.data)?;
    if f != "write" {
        let sq1k = q.subarray.get("sq1k").context("no set sq1k")?;
        let f = if codec == "append" { "0" } else { f };
        let Some(sum) = q.sq1k_sum_after.get(f) else {
            return Ok(false);
        };
        boxes(job, READ, &sq1k.boxes, *sum)?;
        return Ok(true);
    }
    let boxes: Vec<Box4> = q.updates.iter().take(10).copied().collect();
    let run = |()| {
        for (k, b) in (1_i32..).zip(&boxes) {
            let cells = usize::try_from((b[1] - b[0] + 1) * (b[3] - b[2] + 1))?;
            let cells = Cells {
                region: Some(ranges(b)),
                layout: Layout::RowMajor,
                columns: vec![("v".into(), Column::from_values(Datatype::Int32, &vec![-k; cells]))],
            };
            block_on(job.open()?.write(cells, &written(k.unsigned_abs())?))?;
        }
        Ok(())
    };
    measure(
        job,
        &Metric::new("write", Unit::Milliseconds, boxes.len(), Value::Null),
        None,
        || Ok(()),
        run,
    )?;
    Ok(true)
}

/// Merges all fragments into one, then reads boxes.
pub(super) fn consolidated(job: &Job) -> Result<bool> {
    let [codec, f] = job.parts()[..] else { return Ok(false) };
    let q = DenseQueries::load(&job.data)?;
    let sq1k = q.subarray.get("sq1k").context("no set sq1k")?;
    let f = if codec == "append" { "0" } else { f };
    let Some(sum) = q.sq1k_sum_after.get(f) else {
        return Ok(false);
    };
    merge(job)?;
    boxes(job, "read_after", &sq1k.boxes, *sum)?;
    Ok(true)
}

/// Merges the fragments of the array and removes the old ones.
pub(super) fn merge(job: &Job) -> Result<()> {
    let run = |()| {
        let array = job.open()?;
        block_on(consolidate(
            &array,
            &ConsolidateOptions::new(Mode::Fragments),
            &written(1)?,
        ))?;
        block_on(vacuum(&job.open()?, Mode::Fragments, false, &written(2)?))?;
        Ok(())
    };
    // This changes the array, so it can be done only once.
    let once = Job {
        runs: 1,
        warmup: 0,
        ..job.clone()
    };
    measure(
        &once,
        &Metric::new("consolidate", Unit::Seconds, 1, Value::Null),
        None,
        || Ok(()),
        run,
    )
}

fn boxes(job: &Job, name: &'static str, boxes: &[Box4], sum: i64) -> Result<()> {
    let cells = boxes.iter().map(|b| (b[1] - b[0] + 1) * (b[3] - b[2] + 1)).sum();
    let want = Sums::from([("cells".to_owned(), cells), ("v".to_owned(), sum)]);
    read(job, name, &boxes.iter().map(query).collect::<Vec<_>>(), &want)
}

pub(super) fn query(b: &Box4) -> Query {
    Query {
        region: Region::from_box(ranges(b)),
        ..Query::default()
    }
}

pub(super) fn ranges(b: &Box4) -> Vec<ScalarRange> {
    vec![ScalarRange::new(b[0], b[1]), ScalarRange::new(b[2], b[3])]
}
