//! Export as LAS or LAZ.

use anyhow::{Context as _, Result, ensure};
use hyperslab_formats::{CloudInfo, PointWriter};

use super::finish;
use super::job::Job;
use crate::args::Export;
use crate::output_file::Out;

/// Writes the points of a sparse array.
pub(super) async fn export(job: &Job, args: &Export, compressed: bool) -> Result<()> {
    let schema = job.array.schema();
    ensure!(
        !schema.is_dense(),
        "a LAS file has the points of a sparse array; export a dense one to .tif or .npy"
    );
    let metadata = job.array.metadata().await?;
    let pdal = metadata.get("_pdal").map(|v| String::from_utf8_lossy(&v.data));
    let selected = job.fields.iter().filter(|f| schema.attribute(&f.name).is_some());
    let info = CloudInfo {
        schema,
        pdal: pdal.as_deref().unwrap_or("").trim_end_matches('\0'),
        attributes: selected.map(|f| f.name.clone()).collect(),
        compressed,
    };
    let mut writer = PointWriter::new(&info)?;
    let mut file = Out::create(&args.out, args.force)?;
    let progress = job.progress("exporting");
    let mut batches = job.array.batches(job.query.clone());
    while let Some(batch) = batches
        .next()
        .await
        .with_context(|| format!("cannot read {}", job.url))?
    {
        progress.add(batch.cells);
        writer.push(&batch.columns)?;
    }
    let notes = writer.finish(&mut file);
    finish(file, notes, args)
}
