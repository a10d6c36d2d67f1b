//! `export`: cells to a file, batch by batch.

mod arrow;
mod encoded;
mod job;

use anyhow::Result;
use hyperslab::view::encode::Format as Encoding;

use crate::args::{Export, Format};
use crate::failure::usage;
use crate::store::Env;
use job::Job;
pub(crate) use job::fields;

/// Runs the command.
pub(crate) async fn export(env: &Env, args: &Export) -> Result<()> {
    let format = format(args)?;
    let job = Job::new(env, args, format).await?;
    let encoding = match format {
        Format::Arrow => return arrow::export(&job, &args.out).await,
        Format::Npy => Encoding::Npy,
        Format::Csv => Encoding::Csv,
        Format::Tsv => Encoding::Tsv,
        Format::Json => Encoding::Json,
        Format::Jsonl => Encoding::Jsonl,
        Format::Bin => Encoding::Bin,
        Format::Png => Encoding::Png,
        Format::Npz => {
            return Err(usage(
                "--format",
                ".npz is for import only; export each attribute as .npy",
            ));
        }
    };
    encoded::export(&job, encoding, &args.out).await
}

fn format(args: &Export) -> Result<Format> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    if args.out == "-" {
        return Err(usage(
            "OUT",
            "standard output has no ending; give --format, as in --format csv",
        ));
    }
    Format::of_name(&args.out).map_err(|why| usage("OUT", why))
}
