//! Export as a NetCDF file with the CF conventions: an array with its coordinates, or the arrays of a group.
//!
//! - `sources`: which arrays are exported, and the selected cells of each.
//! - `variables`: the variables of the file, their attributes, and the source of their values.
//! - `missing`: the value that replaces nulls.
//! - This file writes a header, then the values of one variable after the other.

mod missing;
mod sources;
mod variables;

use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use hyperslab::schema::Layout;
use hyperslab::{Column, Query};
use hyperslab_formats::{NetcdfFile, NetcdfVariable};

pub(super) use self::variables::text;
use self::variables::{Cells, Values, Variable};
use crate::args::Export;
use crate::errors::usage;
use crate::output_file::{Out, failed};
use crate::progress::Progress;
use crate::show;
use crate::store::Env;

/// Writes the array or group.
pub(super) async fn export(env: &Env, args: &Export) -> Result<()> {
    let found = sources::find(env, args).await?;
    let row_major = |source: &sources::Source| source.job.query.order == Layout::RowMajor;
    ensure!(
        found.sources.iter().all(row_major),
        usage(
            "--order",
            "a NetCDF file has its cells in row order; leave the option out"
        )
    );
    let variables = variables::of(&found).await?;
    let file = layout(found.attributes.clone(), &variables);
    let header = file.header().with_context(|| format!("cannot write {}", args.out))?;
    let mut out = Out::create(&args.out, args.force)?;
    let bytes = file.variables.iter().map(|v| file.bytes(v));
    let bytes = bytes.fold(header.len() as u64, u64::saturating_add);
    out.make_room(bytes)?;
    let progress = Progress::new("exporting", Some(bytes), "bytes");
    write(&mut out, &header)?;
    for (variable, stored) in variables.iter().zip(&file.variables) {
        let written = match &variable.values {
            Values::Known(values) => write(&mut out, &NetcdfFile::values(variable.datatype, values.clone()))?,
            Values::Cells(cells) => copy(&found, cells, &mut out, &progress).await?,
        };
        let expected = file.bytes(stored);
        ensure!(
            written == expected,
            "cannot write {}: '{}' has {written} bytes instead of {expected}, because the array changed during the \
             export; run it again",
            args.out,
            variable.name
        );
        write(&mut out, &NetcdfFile::padding(written))?;
    }
    for note in &found.notes {
        show::note(note);
    }
    out.finish()
}

/// The file of these variables. Dimensions of one name and different lengths get numbers.
fn layout(attributes: Vec<(String, hyperslab::metadata::MetaValue)>, variables: &[Variable]) -> NetcdfFile {
    let mut file = NetcdfFile {
        attributes,
        ..NetcdfFile::default()
    };
    // The names before numbers were added.
    let mut asked: Vec<(String, u64)> = Vec::new();
    for variable in variables {
        let mut dimensions = Vec::new();
        for axis in &variable.axes {
            let known = asked.iter().position(|a| a == axis);
            dimensions.push(known.unwrap_or_else(|| {
                let (name, length) = axis;
                let numbered = (1_u64..).map(|n| format!("{name}_{n}"));
                let is_free = |name: &String| file.dimensions.iter().all(|(other, _)| other != name);
                let name = std::iter::once(name.clone()).chain(numbered).find(is_free);
                file.dimensions.push((name.unwrap_or_default(), *length));
                asked.push(axis.clone());
                file.dimensions.len() - 1
            }));
        }
        file.variables.push(NetcdfVariable {
            name: variable.name.clone(),
            dimensions,
            datatype: variable.datatype,
            attributes: variable.attributes.clone(),
        });
    }
    file
}

/// Streams the cells of an attribute into the file. Returns the number of bytes.
async fn copy(found: &sources::Found, cells: &Cells, out: &mut Out, progress: &Progress) -> Result<u64> {
    let source = found.sources.get(cells.source).context("an array is missing")?;
    let mut written = 0;
    if source.job.is_empty() {
        return Ok(written);
    }
    let mut batches = source.job.array.batches(Query {
        fields: Some(vec![cells.attribute.clone()]),
        ..source.job.query.clone()
    });
    while let Some(batch) = batches.next().await.with_context(|| source.cannot_read())? {
        for (_, column) in batch.columns {
            let datatype = column.datatype;
            let bytes = write(out, &NetcdfFile::values(datatype, stored(column, cells)))?;
            progress.add(bytes);
            written += bytes;
        }
    }
    Ok(written)
}

/// The values of a column: nulls are fill values, and text has the same length in each cell.
fn stored(column: Column, cells: &Cells) -> Vec<u8> {
    if let Some(width) = cells.text_width {
        let mut out = Vec::with_capacity(column.len() * width);
        for i in 0..column.len() {
            let text = if column.is_null(i) { &[] } else { column.cell(i) };
            let end = out.len() + width;
            out.extend_from_slice(text.get(..width.min(text.len())).unwrap_or(text));
            out.resize(end, 0);
        }
        return out;
    }
    let nulls: Vec<usize> = (0..column.len()).filter(|i| column.is_null(*i)).collect();
    let mut out = column.data;
    let width = cells.fill.len();
    for i in nulls {
        if let Some(cell) = out.get_mut(i * width..(i + 1) * width) {
            cell.copy_from_slice(&cells.fill);
        }
    }
    out
}

fn write(out: &mut Out, bytes: &[u8]) -> Result<u64> {
    out.write_all(bytes).map_err(|e| failed(out.name(), e))?;
    Ok(bytes.len() as u64)
}
