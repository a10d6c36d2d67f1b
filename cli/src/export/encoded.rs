//! Export in the formats that the FUSE mount also offers.

use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use hyperslab::Batch;
use hyperslab::internals::view::encode::{Colors, Format, Frame};
use hyperslab::internals::view::selection::display_name;
use hyperslab::schema::Layout;

use super::job::{Job, parts};
use crate::args::Export;
use crate::errors::usage;
use crate::output_file::{Out, failed};
use crate::show;

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
                .with_context(|| format!("cannot read {}", job.url))?
                .min(job.limit),
        ],
        None => vec![0],
    };
    let frame = Frame {
        fields: job.fields.clone(),
        shape,
        dense: job.is_dense(),
        column_major: job.shape.is_some() && job.query.order == Layout::ColMajor,
        colors: colors(args)?,
    };
    let mut encoder = format.encoder(&frame)?;
    let mut file = Out::create(&args.out, args.force)?;
    file.make_room(encoder.size().unwrap_or(0))?;
    let mut written = write(&mut file, &encoder.start())?;
    let progress = job.progress("exporting");
    let mut batches = job.batches();
    let mut unreadable = Vec::new();
    while let Some(batch) = batches.next().await? {
        progress.add(batch.cells);
        if matches!(format, Format::Csv | Format::Tsv) {
            warn_of_bytes(&batch, &mut unreadable);
        }
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

/// The colors of an image.
fn colors(args: &Export) -> Result<Colors> {
    let mut colors = Colors::default();
    if let Some(name) = &args.cmap {
        colors.set_map(name).map_err(|e| usage("--cmap", e))?;
    }
    if let Some(range) = &args.range {
        colors.set_range(range).map_err(|e| usage("--range", e))?;
    }
    Ok(colors)
}

/// Warns once about each field whose text is not valid. `known` has the fields with a warning.
fn warn_of_bytes(batch: &Batch, known: &mut Vec<String>) {
    for (name, column) in &batch.columns {
        if !column.datatype.is_string() || column.data.is_ascii() || known.contains(name) {
            continue;
        }
        let is_text = |i: usize| column.is_null(i) || is_text(column.cell(i), column.datatype.size());
        if (0..column.len()).all(is_text) {
            continue;
        }
        known.push(name.clone());
        let shown = display_name(name);
        show::warning(format_args!(
            "'{shown}' has cells that are not valid text, which an import of this file does not \
             restore; export to .arrow instead, which keeps all bytes"
        ));
    }
}

/// Whether the units of this many bytes are valid UTF-8, UTF-16 or UTF-32.
fn is_text(bytes: &[u8], unit: usize) -> bool {
    match unit {
        2 => {
            let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
            char::decode_utf16(units).all(|c| c.is_ok())
        }
        4 => {
            let mut units = bytes.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit));
            units.all(|unit| char::from_u32(unit).is_some())
        }
        _ => std::str::from_utf8(bytes).is_ok(),
    }
}

fn write(file: &mut Out, bytes: &[u8]) -> Result<u64> {
    file.write_all(bytes).map_err(|e| failed(file.name(), e))?;
    Ok(bytes.len() as u64)
}
