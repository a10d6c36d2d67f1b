//! `export`: cells to a file, batch by batch.

mod arrow;
mod encoded;
#[cfg(feature = "formats")]
mod georeference;
mod job;
mod members;
#[cfg(feature = "formats")]
mod netcdf;
mod parquet;
#[cfg(feature = "formats")]
mod points;
#[cfg(feature = "formats")]
mod raster;
mod rows;
mod summary;
#[cfg(feature = "formats")]
mod volume;
mod zarr;

use std::io::{self, IsTerminal as _};
use std::path::Path;

#[cfg(feature = "formats")]
use anyhow::Context as _;
use anyhow::{Result, ensure};
use hyperslab::internals::view::encode::Format;

use crate::args::Export;
use crate::build::refuse_inside_array;
use crate::errors::usage;
use crate::formats::{self, Output};
use crate::store::{Env, Place};
#[cfg(feature = "formats")]
use crate::{output_file::Out, show};
use job::Job;
pub(crate) use job::repeated;

/// Runs the command.
pub(crate) async fn export(env: &Env, args: &Export) -> Result<()> {
    let env = &env.with_snapshot(args.snapshot.as_deref())?;
    if args.is_summary() {
        let job = Job::new(env, args, Output::Slice(Format::Csv)).await?;
        return summary::print(&job, args).await;
    }
    let format = format(args)?;
    let colors = [(args.cmap.is_some(), "--cmap"), (args.range.is_some(), "--range")];
    if let Some((_, option)) = colors
        .iter()
        .find(|(given, _)| *given && format != Output::Slice(Format::Png))
    {
        return Err(usage(option, "only a .png has colors; leave the option out"));
    }
    if args.out == "-" {
        check_terminal(format, io::stdout().is_terminal())?;
    } else if !args.out.contains("://") {
        let path = Path::new(&args.out);
        let path = path.canonicalize().or_else(|_| std::path::absolute(path))?;
        refuse_inside_array(&Place::new(&path.to_string_lossy())?).await?;
    }
    let job = async || Job::new(env, args, format).await;
    match format {
        #[cfg(feature = "formats")]
        Output::Tiff => raster::export(env, args).await,
        #[cfg(feature = "formats")]
        Output::Las | Output::Laz => points::export(&job().await?, args, format == Output::Laz).await,
        #[cfg(feature = "formats")]
        Output::NetCdf => netcdf::export(env, args).await,
        #[cfg(feature = "formats")]
        Output::Nifti => volume::export(env, args).await,
        Output::Zarr => zarr::export(env, args).await,
        Output::Parquet | Output::Slice(Format::Arrow) => arrow::export(&job().await?, args, format).await,
        Output::Slice(format) => encoded::export(&job().await?, format, args).await,
    }
}

/// Ends a file whose writer returned `notes`, and prints them.
#[cfg(feature = "formats")]
fn finish(file: Out, notes: Result<Vec<String>>, args: &Export) -> Result<()> {
    let notes = notes.with_context(|| format!("cannot write {}", args.out))?;
    for note in notes {
        show::note(format_args!("{note}"));
    }
    file.finish()
}

/// Returns an error for a binary format on a terminal.
fn check_terminal(format: Output, is_terminal: bool) -> Result<()> {
    let name = format.extension();
    ensure!(
        format.like().is_text() || !is_terminal,
        usage(
            "OUT",
            format!(
                "a terminal cannot show {name}; redirect the output, as in > out.{name}, or give a file instead of -"
            )
        )
    );
    Ok(())
}

fn format(args: &Export) -> Result<Output> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    if args.out == "-" {
        return Err(usage(
            "OUT",
            "standard output has no file extension; give --format, as in --format csv",
        ));
    }
    formats::of_name(&args.out).map_err(|why| usage("OUT", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_text_formats_only() {
        let slices = [Format::Arrow, Format::Npy, Format::Bin, Format::Png].map(Output::Slice);
        for format in slices.into_iter().chain([Output::Parquet]) {
            let error = check_terminal(format, true).unwrap_err().to_string();
            assert!(error.contains("redirect the output, as in > out."), "{error}");
            check_terminal(format, false).unwrap();
        }
        check_terminal(Output::Slice(Format::Csv), true).unwrap();
        check_terminal(Output::Slice(Format::Jsonl), true).unwrap();
    }
}
