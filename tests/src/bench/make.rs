//! Makes an array to be read: the whole input, and then a number of small later fragments.

use anyhow::Result;
use hyperslab::WriteOptions;
use hyperslab::blocking::block_on;
use hyperslab::format::schema::Layout;
use hyperslab::{Array, Cells, Column, Datatype};

use super::Job;
use super::data::{self, DenseQueries, SparseQueries};
use super::job::written;
use super::{dense, schema, sparse};

/// The variant is `dense/CODEC/FRAGMENTS` or `sparse/CODEC/FRAGMENTS`.
pub(super) fn make(job: &Job) -> Result<bool> {
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

/// Writes cells at a time of their own.
fn write(
    array: &Array,
    n: u32,
    region: Option<Vec<hyperslab::ScalarRange>>,
    columns: Vec<(String, Column)>,
) -> Result<()> {
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
