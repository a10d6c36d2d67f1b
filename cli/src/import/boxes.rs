//! Writes a box of a file into a dense array, while the next part of it is read.

use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use hyperslab::schema::{Layout, Schema};
use hyperslab::{Array, BoxWriter, Column, Scalar, ScalarRange, WriteOptions};
use hyperslab_formats::Source;

use super::parts::{Part, parts};
use crate::progress::Progress;

/// Named columns, as the engine takes them.
type Columns = Vec<(String, Column)>;

/// The error for a reader that panicked.
const STOPPED: &str = "the reader of the file failed; the file is damaged, or has something that is not supported";

/// An array of a file, and its place in a stored array.
pub(crate) struct FileBox<'a> {
    /// The number of the array in the file's plan.
    pub(crate) number: usize,
    /// The lengths of its axes, which are not zero.
    pub(crate) lengths: &'a [u64],
    /// How many cells of the first axis are before it.
    pub(crate) start: u64,
}

/// Writes all cells of the box, `most` at a time, as a fragment that is not committed yet. A thread reads the next part
/// while the last one is written.
pub(crate) async fn fill(
    array: &Array,
    source: &mut dyn Source,
    file_box: &FileBox<'_>,
    most: u64,
    options: &WriteOptions,
    progress: &Progress,
) -> Result<BoxWriter> {
    let schema = array.schema();
    let FileBox { number, lengths, start } = *file_box;
    let extents = extents(schema);
    // The parts are whole tiles of the array, so the first one may be shorter.
    let before = extents.first().map_or(0, |extent| start % extent.max(&1));
    let mut padded = lengths.to_vec();
    if let Some(first) = padded.first_mut() {
        *first += before;
    }
    let of_file = move |mut part: Part| {
        if let Some(first) = part.first_mut() {
            *first = first.start.saturating_sub(before)..first.end - before;
        }
        part
    };
    let list = parts(&padded, &extents, schema.tile_order == Layout::ColMajor, most).map(of_file);
    let whole: Part = lengths.iter().map(|n| 0..*n).collect();
    let mut writer = array.box_writer(region(schema, &whole, start)?, options).await?;
    let (send, receive) = mpsc::sync_channel::<Result<Columns>>(0);
    let written = thread::scope(|scope| {
        let to_read = list.clone();
        let reader = scope.spawn(move || {
            for part in to_read {
                // The receiver is gone if the write has failed.
                if send.send(source.read_box(number, &part)).is_err() {
                    return;
                }
            }
        });
        let written = pollster::block_on(async {
            for part in list {
                let columns = receive.recv().map_err(|_| anyhow!(STOPPED))??;
                progress.add(columns.iter().map(|(_, c)| c.data.len() as u64).sum());
                writer.push(&region(schema, &part, start)?, columns).await?;
            }
            anyhow::Ok(())
        });
        // The thread would wait for its next part to be taken, and this scope for the thread.
        drop(receive);
        // A panic of the reader would go on when the scope ends.
        reader.join().map_err(|_| anyhow!(STOPPED)).and(written)
    });
    match written {
        Ok(()) => Ok(writer),
        Err(error) => {
            writer.abandon().await;
            Err(error)
        }
    }
}

fn extents(schema: &Schema) -> Vec<u64> {
    let dimensions = schema.dimensions.iter();
    dimensions.map(|d| d.extent_cells().unwrap_or(1)).collect()
}

/// The coordinates of a part, which counts from the low end of each dimension, and from `start` along the first one.
fn region(schema: &Schema, part: &Part, start: u64) -> Result<Vec<ScalarRange>> {
    let axes = schema.dimensions.iter().zip(part);
    let ranges = axes.enumerate().map(|(axis, (dimension, range))| {
        let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
        let low = low.with_context(|| format!("the dimension '{}' has no integers", dimension.name))?;
        let low = low + if axis == 0 { i128::from(start) } else { 0 };
        let at = |n: u64| {
            Scalar::from_i128(dimension.datatype, low + i128::from(n))
                .with_context(|| format!("the dimension '{}' is too short for the cells", dimension.name))
        };
        Ok(ScalarRange {
            lo: at(range.start)?,
            hi: at(range.end.saturating_sub(1))?,
        })
    });
    ranges.collect()
}
