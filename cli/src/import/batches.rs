//! Imports text tables and numpy arrays in batches that fit the memory budget. Each batch becomes a fragment, and at
//! the end all fragments are merged into one.

use anyhow::{Context as _, Result, ensure};
use hyperslab::maintain::{ConsolidateOptions, Mode};
use hyperslab::schema::Dimension;
use hyperslab::{Array, Cpu, Query, Region, Scalar, Window, WriteOptions, maintain};

use crate::args::Import;
use crate::input::{Grid, Table, Text, Values};
use crate::sizes::{ALL_CORES_BYTES, PROGRAM_BYTES, show};
use crate::store::{Env, Place, seed};
use crate::write::{Target, write_table};

/// The least memory for an import, whatever the budget.
const BYTES_MIN: u64 = 40 << 20;
/// A batch of text may take a sixth of the budget, because its values, their sorted copy and the compressed tiles are
/// in memory too.
const BATCH_SHARE: u64 = 6;
/// Bytes that a value takes in addition to its text.
const VALUE_BYTES: u64 = 9;

/// The most text in a batch, in bytes.
pub(super) fn batch_bytes(args: &Import) -> u64 {
    memory(args) / BATCH_SHARE
}

/// Bytes of the rows of a scanned table, as text.
pub(super) fn text_bytes(table: &Table) -> u64 {
    let bytes = table.columns.iter().map(|c| match &c.values {
        Values::Seen(guess) => guess.bytes() + VALUE_BYTES * guess.rows(),
        _ => 0,
    });
    bytes.sum()
}

/// The most rows in a batch, of a table of this many bytes and rows.
pub(super) fn rows(args: &Import, bytes: u64, rows: u64) -> u64 {
    let row_bytes = bytes.checked_div(rows).unwrap_or(0);
    let most = batch_bytes(args).checked_div(row_bytes);
    most.unwrap_or(u64::MAX).max(1)
}

fn memory(args: &Import) -> u64 {
    args.memory.saturating_sub(PROGRAM_BYTES).max(BYTES_MIN)
}

/// Writes those columns of `text` that are in `table` into the new array at `place`.
pub(super) async fn write(
    env: &Env,
    args: &Import,
    place: &Place,
    text: &Text,
    table: &Table,
    timestamp_ms: u64,
) -> Result<()> {
    let place = within(args, place);
    let array = env.open_at(&place, Window::ALL).await?;
    let rows = array.schema().is_dense() && table.shape.is_some();
    if array.schema().is_dense() && !rows {
        check_grid(args, text_bytes(table))?;
    }
    // The merge copies a tile unchanged if one batch has all of its rows.
    let extent = array
        .schema()
        .dimensions
        .first()
        .and_then(|d| d.extent.as_ref()?.as_i128());
    let (bytes, step) = match (array.schema().is_dense(), rows) {
        (false, _) => (batch_bytes(args), 1),
        (true, true) => (
            batch_bytes(args),
            extent.and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        ),
        (true, false) => (u64::MAX, 1),
    };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut sheet = text.sheet()?;
    let wanted = |name: &str| table.columns.iter().any(|c| c.name == name);
    let (mut fragments, mut row) = (0, 0);
    while let Some(batch) = sheet.table(wanted, bytes, step)? {
        let end = row + batch.rows();
        let region = format!("{row}:{end}");
        let target = if rows { Target::Box(&region) } else { Target::Table };
        write_table(&array, batch, target, timestamp_ms).await?;
        (fragments, row) = (fragments + 1, end);
    }
    if fragments > 1 {
        merge(env, args, &place, timestamp_ms, row as u64).await?;
    }
    Ok(())
}

/// Writes the cells of `grid` that belong to the columns of `table`, into the new array at `place`.
pub(super) async fn write_grid(
    env: &Env,
    args: &Import,
    place: &Place,
    grid: &Grid,
    table: &Table,
    timestamp_ms: u64,
) -> Result<()> {
    let place = within(args, place);
    let array = env.open_at(&place, Window::ALL).await?;
    let extent = |d: &Dimension| d.extent.as_ref().and_then(Scalar::as_i128);
    let extents = array.schema().dimensions.iter().map(|d| {
        let extent = extent(d).and_then(|n| u64::try_from(n).ok());
        extent.unwrap_or(1)
    });
    let extents: Vec<u64> = extents.collect();
    let wanted = |name: &str| name.is_empty() || table.columns.iter().any(|c| c.name == name);
    let (mut fragments, mut cells) = (0, 0);
    let put = async |mut block: Table, ranges: &[(u64, u64)]| {
        block.columns.retain(|c| wanted(&c.name));
        cells += ranges.iter().map(|(a, b)| b - a).product::<u64>();
        let ranges: Vec<String> = ranges.iter().map(|(a, b)| format!("{a}:{b}")).collect();
        write_table(&array, block, Target::Box(&ranges.join(",")), timestamp_ms).await?;
        fragments += 1;
        Ok(())
    };
    grid.blocks(batch_bytes(args), &extents, put).await?;
    if fragments > 1 {
        merge(env, args, &place, timestamp_ms, cells).await?;
    }
    Ok(())
}

/// The same place, worked on with what the budget allows.
pub(super) fn within(args: &Import, place: &Place) -> Place {
    let mut place = place.clone();
    if args.memory < ALL_CORES_BYTES {
        place.context = place.context.with_cpu(Cpu::Inline);
    }
    place
}

/// Returns an error if a grid does not fit in memory. Its cells may come in any order, so all are held at once.
pub(super) fn check_grid(args: &Import, bytes: u64) -> Result<()> {
    let needed = bytes.saturating_mul(BATCH_SHARE) / 2 + PROGRAM_BYTES;
    ensure!(
        needed <= args.memory.max(BYTES_MIN + PROGRAM_BYTES),
        "a dense array with --dims needs all cells of the table in memory: {}, about {} in total, but --memory allows \
         {}; raise --memory, or make the array sparse with --sparse",
        show(bytes),
        show(needed),
        show(args.memory)
    );
    Ok(())
}

/// Merges all fragments into one, and removes the originals.
pub(super) async fn merge(env: &Env, args: &Import, place: &Place, timestamp_ms: u64, rows: u64) -> Result<()> {
    let options = || -> Result<WriteOptions> {
        Ok(WriteOptions {
            timestamp_ms,
            seed: seed()?,
            sync: true,
        })
    };
    let array = env.open_at(place, Window::ALL).await?;
    if args.unique {
        check_unique(&array, rows).await?;
    }
    let mut what = ConsolidateOptions::new(Mode::Fragments);
    what.memory_bytes = memory(args);
    maintain::consolidate(&array, &what, &options()?)
        .await
        .context("cannot merge the imported batches; try a larger --memory")?;
    let array = env.open_at(place, Window::ALL).await?;
    maintain::vacuum(&array, Mode::Fragments, false, &options()?).await?;
    Ok(())
}

/// Checks that no coordinates repeat in different batches: a read returns only one of such cells. Within a batch, the
/// write checks that.
async fn check_unique(array: &Array, rows: u64) -> Result<()> {
    let cells = array
        .count(&Query {
            fields: None,
            region: Region::all(),
            ..Query::default()
        })
        .await?;
    ensure!(
        cells == rows,
        "{} of the {rows} rows have the same coordinates as another row; remove them, or omit --unique",
        rows.saturating_sub(cells)
    );
    Ok(())
}
