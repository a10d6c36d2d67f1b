//! Writes an array to read: the whole input followed by a number of small later fragments, or an array of many
//! fragments to open.

use anyhow::Result;
use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
use hyperslab::schema::Layout;
use hyperslab::{Array, Cells, Column, Datatype, ScalarRange, WriteOptions};

use super::Job;
use super::data::{self, DenseQueries, SparseQueries};
use super::job::written;
use super::{dense, open, schema, sparse};

/// The variant is `dense/CODEC/FRAGMENTS` or `sparse/CODEC/FRAGMENTS`, or `open/KIND/FRAGMENTS` with `+meta` and
/// `+commits` to consolidate those.
pub(super) fn make(job: &Job) -> Result<bool> {
    if let ["open", kind, how] = job.parts()[..] {
        return many(job, kind, how);
    }
    let [kind, codec, fragments] = job.parts()[..] else {
        return Ok(false);
    };
    let later: usize = fragments.parse()?;
    match kind {
        "dense" => {
            let q = DenseQueries::load(&job.data)?;
            job.create(&schema::dense(&q, codec)?)?;
            let array = job.open()?;
            write(
                &array,
                0,
                None,
                vec![("v".into(), dense::values(data::matrix(&job.data)?))],
            )?;
            for (k, b) in (1_i32..).zip(q.updates.iter().take(later)) {
                let cells = usize::try_from((b[1] - b[0] + 1) * (b[3] - b[2] + 1))?;
                let v = Column::from_values(Datatype::Int32, &vec![-k; cells]);
                write(&array, k.unsigned_abs(), Some(dense::ranges(b)), vec![("v".into(), v)])?;
            }
        }
        "sparse" => {
            let q = SparseQueries::load(&job.data)?;
            job.create(&schema::sparse(&q, codec, false)?)?;
            let array = job.open()?;
            let all = data::columns(&job.data, "sparse", &q.columns)?;
            write(&array, 0, None, data::named(&q.columns, all))?;
            let fresh = data::columns(&job.data, "sparse-new", &q.columns)?;
            for k in 0..later {
                let cells = sparse::part(&fresh, k);
                write(&array, u32::try_from(k + 1)?, None, data::named(&q.columns, cells))?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes a million cells in this many fragments.
fn many(job: &Job, kind: &str, how: &str) -> Result<bool> {
    let (count, consolidated) = how.split_once('+').unwrap_or((how, ""));
    let count: usize = count.parse()?;
    let rows = usize::try_from(open::ROWS)? / count;
    let values: Vec<i32> = (0..rows * usize::try_from(open::COLUMNS)?)
        .map(i32::try_from)
        .collect::<Result<_, _>>()?;
    let q = SparseQueries::load(&job.data)?;
    let fresh = data::columns(&job.data, "sparse-new", &q.columns)?;
    let cells = fresh[0].len() / 8 / count;
    match kind {
        "dense" => job.create(&schema::many_tiles(open::ROWS, open::COLUMNS, &["v".to_owned()])?)?,
        "sparse" => job.create(&schema::sparse(&q, "zstd3", false)?)?,
        _ => return Ok(false),
    }
    let array = job.open()?;
    for k in 0..count {
        let n = u32::try_from(k)?;
        if kind == "dense" {
            let first = k * values.len();
            let mine: Vec<i32> = values.iter().map(|v| v + first as i32).collect();
            let rows = ScalarRange::new((k * rows) as i64, ((k + 1) * rows - 1) as i64);
            let region = vec![rows, ScalarRange::new(0, open::COLUMNS - 1)];
            let v = Column::from_values(Datatype::Int32, &mine);
            write(&array, n, Some(region), vec![("v".into(), v)])?;
        } else {
            let bytes = 8 * k * cells..8 * (k + 1) * cells;
            let part = fresh.iter().map(|c| c[bytes.clone()].to_vec()).collect();
            write(&array, n, None, data::named(&q.columns, part))?;
        }
    }
    for mode in consolidated.split('+') {
        let mode = match mode {
            "meta" => Mode::FragmentMetadata,
            "commits" => Mode::Commits,
            _ => continue,
        };
        block_on(consolidate(&job.open()?, &ConsolidateOptions::new(mode), &written(0)?))?;
        block_on(vacuum(&job.open()?, mode, false, &written(1)?))?;
    }
    Ok(true)
}

/// Writes cells with their own timestamp.
fn write(array: &Array, n: u32, region: Option<Vec<ScalarRange>>, columns: Vec<(String, Column)>) -> Result<()> {
    let options = WriteOptions {
        timestamp_ms: 1_000_000 + u64::from(n),
        ..written(n)?
    };
    let layout = if array.schema().is_dense() {
        Layout::RowMajor
    } else {
        Layout::Unordered
    };
    let cells = Cells {
        region,
        layout,
        columns,
    };
    block_on(array.write(cells, &options))?;
    Ok(())
}
