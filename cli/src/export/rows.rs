//! The cells of an export, batch by batch: with the values along the axes as coordinates, and no more than asked for.

use anyhow::{Context as _, Result};
use hyperslab::internals::view::encode::Format;
use hyperslab::internals::view::selection::{Selection, TableAxes};
use hyperslab::{Array, Batch, Batches};

use crate::args::{Coordinates, Export};
use crate::errors::usage;
use crate::formats::Output;
use crate::show;

/// Checks that a file of this format has rows, if an option is about rows.
pub(super) fn check(args: &Export, output: Output, dense: bool) -> Result<()> {
    let is_stream = matches!(output, Output::Slice(Format::Npy | Format::Bin));
    let has_rows = output.is_table() || is_stream && (!dense || args.rows);
    let option = match (args.rows, args.limit) {
        (true, _) if !output.is_table() && !is_stream => "--rows",
        (_, Some(_)) if !has_rows => "--limit",
        _ => return Ok(()),
    };
    let ending = output.extension();
    let instead = if args.rows { "" } else { ", or use --select" };
    let why = format!("a .{ending} file has no rows; export to .csv, .jsonl, .arrow or .parquet{instead}");
    Err(usage(option, why))
}

/// The values that the coordinates of a dense array are replaced by.
pub(super) async fn axes(args: &Export, output: Output, array: &Array, selected: Option<&Selection>) -> TableAxes {
    let default = match output {
        Output::Slice(Format::Csv | Format::Tsv | Format::Json | Format::Jsonl) | Output::Parquet => {
            Coordinates::Values
        }
        _ => Coordinates::Index,
    };
    let wanted = args.coordinates.unwrap_or(default) == Coordinates::Values && !args.is_summary();
    let Some(selected) = selected.filter(|_| wanted && array.schema().is_dense()) else {
        return TableAxes::default();
    };
    let axes = TableAxes::of(array, selected).await;
    for (name, why) in &axes.unused {
        show::note(format_args!(
            "the coordinates along '{name}' are indices, because its values cannot be used: {why}"
        ));
    }
    axes
}

/// The batches of an export.
pub(crate) struct CellBatches<'a> {
    pub(super) batches: Batches,
    pub(super) axes: &'a TableAxes,
    /// Leave out cells that fail the condition.
    pub(super) matching: bool,
    /// The most cells still to come.
    pub(super) left: u64,
    /// The array, for messages.
    pub(super) url: &'a str,
}

impl CellBatches<'_> {
    /// The next batch; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>> {
        if self.left == 0 {
            return Ok(None);
        }
        let next = match self.matching {
            true => self.batches.next_matching().await,
            false => self.batches.next().await,
        };
        let Some(mut batch) = next.with_context(|| format!("cannot read {}", self.url))? else {
            return Ok(None);
        };
        if batch.cells > self.left {
            let kept = 0..usize::try_from(self.left)?;
            batch.columns.iter_mut().for_each(|(_, c)| *c = c.slice(kept.clone()));
            batch.cells = self.left;
        }
        self.left -= batch.cells;
        self.axes.replace(&mut batch.columns)?;
        Ok(Some(batch))
    }
}
