//! Measures how time grows with data, attributes and fragments: a load, a full read, small boxes, and opening.

use anyhow::{Context, Result};
use hyperslab::blocking::block_on;
use hyperslab::schema::{Layout, Schema};
use hyperslab::{Cells, Column, Datatype, Query};
use serde_json::Value;

use super::data::{self, Box4, DenseQueries, SparseQueries, Sums};
use super::job::written;
use super::measure::{Metric, Unit, measure};
use super::read::read;
use super::{Job, dense, open, schema, sparse};

/// How often the array is opened in one run.
const OPENED: usize = 10;

/// An array to write, and the expected answers.
struct Subject {
    schema: Schema,
    /// The columns of each fragment.
    fragments: Vec<Cells>,
    whole: (Vec<Query>, Sums),
    boxes: (Vec<Query>, Sums),
}

/// The variant is `KIND/AXIS/N`: an array with N times the data, N attributes, or N fragments. The array is created,
/// measured and removed.
pub(super) fn growth(job: &Job) -> Result<bool> {
    let [kind, axis, n] = job.parts()[..] else {
        return Ok(false);
    };
    let n: usize = n.parse()?;
    let (times, attributes, fragments) = match axis {
        "data" => (n, 1, 1),
        "attributes" => (1, n, 1),
        "fragments" => (1, 1, n),
        _ => return Ok(false),
    };
    let subject = match kind {
        "dense" => matrices(job, times, attributes, fragments)?,
        "sparse" => positions(job, times, attributes, fragments)?,
        _ => return Ok(false),
    };
    let setup = || {
        job.remove()?;
        Ok(subject.fragments.clone())
    };
    let load = |fragments| {
        job.create(&subject.schema)?;
        let array = job.open()?;
        for (k, cells) in (1..).zip(fragments) {
            block_on(array.write(cells, &written(k)?))?;
        }
        Ok(())
    };
    measure(
        job,
        &Metric::new("load", Unit::Seconds, 1, Value::Null),
        None,
        setup,
        load,
    )?;
    read(job, "whole", &subject.whole.0, &subject.whole.1)?;
    read(job, "boxes", &subject.boxes.0, &subject.boxes.1)?;
    let only = |()| (0..OPENED).try_for_each(|_| job.open().map(drop));
    let metric = Metric::new("open", Unit::Milliseconds, OPENED, Value::Null);
    measure(job, &metric, None, || Ok(()), only)?;
    job.remove()?;
    Ok(true)
}

/// Matrices whose cells hold their index in the matrix plus the attribute's number.
fn matrices(job: &Job, times: usize, attributes: usize, fragments: usize) -> Result<Subject> {
    let columns = DenseQueries::load(&job.data)?.shape[1] / 40;
    let rows = open::ROWS * i64::try_from(times)?;
    let names: Vec<String> = (0..attributes).map(|k| format!("a{k}")).collect();
    let each = rows / i64::try_from(fragments)?;
    let part = |first: i64| {
        let column = |k: i64| {
            let values = (first * columns..(first + each) * columns).map(|v| (v + k) as i32);
            Column::from_values(Datatype::Int32, &values.collect::<Vec<_>>())
        };
        Cells {
            region: Some(dense::ranges(&[first, first + each - 1, 0, columns - 1])),
            layout: Layout::RowMajor,
            columns: names.iter().cloned().zip((0..).map(column)).collect(),
        }
    };
    let sums = |b: &Box4| {
        let row = |r: i64| (b[2]..=b[3]).map(|c| r * columns + c).sum::<i64>();
        let (sum, cells) = (
            (b[0]..=b[1]).map(row).sum::<i64>(),
            (b[1] - b[0] + 1) * (b[3] - b[2] + 1),
        );
        let mut sums = Sums::from([("cells".to_owned(), cells)]);
        sums.extend((0..).zip(&names).map(|(k, name)| (name.clone(), sum + k * cells)));
        sums
    };
    let reads = |boxes: &[Box4]| {
        let mut want = Sums::new();
        boxes.iter().for_each(|b| data::add(&mut want, sums(b)));
        (boxes.iter().map(dense::query).collect(), want)
    };
    let boxes: Vec<Box4> = (0..10)
        .map(|k| [k * 7_919, k * 7_919 + 999, columns / 4, columns / 2])
        .collect();
    Ok(Subject {
        schema: schema::many_tiles(rows, columns, &names)?,
        fragments: (0..rows).step_by(usize::try_from(each)?).map(part).collect(),
        whole: reads(&[[0, rows - 1, 0, columns - 1]]),
        boxes: reads(&boxes),
    })
}

/// The given number of quarters of the positions. If more attributes are requested than there are columns, columns are
/// repeated under another name.
fn positions(job: &Job, times: usize, attributes: usize, fragments: usize) -> Result<Subject> {
    let mut q = SparseQueries::load(&job.data)?;
    let (dimensions, others) = q.columns.split_at(2);
    let sources = [
        dimensions.to_vec(),
        others.iter().cycle().take(attributes).cloned().collect(),
    ]
    .concat();
    let mut columns = data::columns(&job.data, "sparse", &sources)?;
    let kept = columns[0].len() / 8 / 4 * times * 8;
    columns.iter_mut().for_each(|c| c.truncate(kept));
    q.columns.truncate(2);
    q.columns.extend((0..attributes).map(|k| format!("a{k}")));
    let boxes = &q.subarray.get("dq-10k").context("no set dq-10k")?.boxes[..q.first];
    let typed: Vec<&[i64]> = columns
        .iter()
        .map(|c| bytemuck::try_cast_slice(c))
        .collect::<Result<_, _>>()
        .map_err(|e| anyhow::anyhow!("{e}"))?;
    let reads = |boxes: &[Box4]| {
        let mut want = Sums::new();
        for b in boxes {
            let inside = |i: &usize| (b[0]..=b[1]).contains(&typed[0][*i]) && (b[2]..=b[3]).contains(&typed[1][*i]);
            let found: Vec<usize> = (0..typed[0].len()).filter(inside).collect();
            let mut sums = Sums::from([("cells".to_owned(), found.len() as i64)]);
            sums.extend(
                q.columns
                    .iter()
                    .zip(&typed)
                    .map(|(name, c)| (name.clone(), found.iter().map(|i| c[*i]).sum())),
            );
            data::add(&mut want, sums);
        }
        (sparse::queries(boxes, &q.columns), want)
    };
    let (whole, boxes) = (reads(&[q.domain]), reads(boxes));
    let cells = |columns| Cells {
        region: None,
        layout: Layout::Unordered,
        columns: data::named(&q.columns, columns),
    };
    Ok(Subject {
        schema: schema::sparse(&q, "zstd3", false)?,
        whole,
        boxes,
        fragments: sparse::split(columns, fragments).into_iter().map(cells).collect(),
    })
}
