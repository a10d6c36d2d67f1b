//! Export in the formats that the FUSE mount also offers.

use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use hyperslab::internals::view::encode::{Format, Frame};
use hyperslab::schema::Layout;

use super::job::{Job, parts};
use crate::args::Export;
use crate::output_file::{Out, failed};

/// Streams the job through an encoder.
pub(super) async fn export(job: &Job, format: Format, args: &Export) -> Result<()> {
    let fixed = !format.lists_coordinates();
    let shape = match &job.shape {
        Some(shape) => shape.clone(),
        // The header of an .npy says how many cells follow.
        None if fixed => vec![
            job.array
                .count(&job.query)
                .await
                .with_context(|| format!("cannot read {}", job.url))?,
        ],
        None => vec![0],
    };
    let frame = Frame {
        fields: job.fields.clone(),
        shape,
        dense: job.array.schema().is_dense(),
        column_major: job.shape.is_some() && job.query.order == Layout::ColMajor,
    };
    let mut encoder = format.encoder(&frame)?;
    let mut file = Out::create(&args.out, args.force)?;
    file.make_room(encoder.size().unwrap_or(0))?;
    let mut written = write(&mut file, &encoder.start())?;
    let progress = job.progress("exporting");
    let mut batches = job.array.batches(job.query.clone());
    while !job.is_empty()
        && let Some(batch) = batches
            .next()
            .await
            .with_context(|| format!("cannot read {}", job.url))?
    {
        progress.add(batch.cells);
        if let [_] = batch.columns.as_slice()
            && fixed
        {
            // The output is the bytes of the cells.
            let column = batch.columns.into_iter().map(|(_, c)| c).collect();
            written += write(&mut file, &encoder.cells(column)?)?;
            continue;
        }
        for part in parts(&batch) {
            let columns = batch.columns.iter().map(|(_, c)| c.slice(part.clone())).collect();
            written += write(&mut file, &encoder.cells(columns)?)?;
        }
    }
    written += write(&mut file, &encoder.finish()?)?;
    let expected = encoder.size().unwrap_or(written);
    ensure!(
        written == expected,
        "cannot write {}: wrote {written} bytes instead of {expected}, because the array changed during the export; run it again",
        job.url
    );
    file.finish()
}

fn write(file: &mut Out, bytes: &[u8]) -> Result<u64> {
    file.write_all(bytes).map_err(|e| failed(file.name(), e))?;
    Ok(bytes.len() as u64)
}
