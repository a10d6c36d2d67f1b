//! Writes Arrow files of fixed-size values sequentially.

use super::fixed::{BATCHES_MAX, FixedTable};
use crate::column::Column;
use crate::error::Result;
use crate::view::encode::{Encode, Runs, wrong_columns};

/// Target size of a batch in bytes. Batches are larger if a file would have too many of them.
const BATCH_BYTES: u64 = 1 << 20;

/// Splits cells into batches of equal size, except for the last one. The sizes of the inputs do not matter.
#[derive(Debug)]
pub(super) struct FixedStream {
    table: FixedTable,
    cells: u64,
    batch_cells: u64,
    /// Cells of the next batch, which is incomplete.
    waiting: Vec<Column>,
    /// The offset and the number of cells of each batch.
    batches: Vec<(u64, u64)>,
    at: u64,
}

impl FixedStream {
    /// A stream of `cells` cells in total.
    pub(super) fn new(table: FixedTable, cells: u64) -> Self {
        let few = (BATCH_BYTES / table.width().max(1)).max(1);
        Self {
            at: table.header().len() as u64,
            batch_cells: few.max(cells.div_ceil(BATCHES_MAX)),
            cells,
            table,
            waiting: Vec::new(),
            batches: Vec::new(),
        }
    }

    fn batch(&mut self, columns: &[Column], out: &mut Vec<u8>) -> Result<()> {
        let mut bytes = self.table.batch(columns)?;
        self.batches
            .push((self.at, columns.first().map_or(0, Column::len) as u64));
        self.at += bytes.len() as u64;
        out.append(&mut bytes);
        Ok(())
    }
}

impl Encode for FixedStream {
    fn size(&self) -> Option<u64> {
        let (whole, rest) = (self.cells / self.batch_cells, self.cells % self.batch_cells);
        let batches = self.table.batch_bytes(self.batch_cells).saturating_mul(whole);
        let trailer = self.table.trailer_bytes(whole + u64::from(rest > 0));
        let outside = self.table.header().len() as u64 + trailer + self.table.batch_bytes(rest);
        Some(batches.saturating_add(outside))
    }

    /// Adds cells and returns the completed batches.
    fn cells(&mut self, columns: Vec<Column>) -> Result<Vec<u8>> {
        if self.waiting.is_empty() {
            self.waiting = columns;
        } else {
            if self.waiting.len() != columns.len() {
                return Err(wrong_columns());
            }
            for (all, column) in self.waiting.iter_mut().zip(&columns) {
                all.append(column);
            }
        }
        let mut out = Vec::new();
        let full = usize::try_from(self.batch_cells).unwrap_or(usize::MAX);
        while self.waiting.first().is_some_and(|c| c.len() >= full) {
            let rest = self.waiting.iter_mut().map(|c| c.split_off(full)).collect();
            let batch = std::mem::replace(&mut self.waiting, rest);
            self.batch(&batch, &mut out)?;
        }
        Ok(out)
    }

    /// Returns the last batch and the end of the file.
    fn finish(&mut self) -> Result<Vec<u8>> {
        let (mut out, rest) = (Vec::new(), std::mem::take(&mut self.waiting));
        if rest.first().is_some_and(|c| !c.is_empty()) {
            self.batch(&rest, &mut out)?;
        }
        out.append(&mut self.table.trailer(self.batches.iter().copied()));
        Ok(out)
    }

    fn start(&mut self) -> Vec<u8> {
        self.table.header().to_vec()
    }

    fn runs(&self) -> Option<Runs<'_>> {
        Some(Runs {
            header: self.table.header(),
            width: self.table.width(),
            is_cells: false,
            runs_max: BATCHES_MAX,
        })
    }

    fn run_bytes(&self, cells: u64) -> u64 {
        self.table.batch_bytes(cells)
    }

    fn run(&mut self, parts: Vec<Vec<Column>>) -> Result<Vec<u8>> {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            all.iter_mut().zip(&part).for_each(|(all, more)| all.append(more));
        }
        self.table.batch(&all)
    }

    fn trailer_bytes(&self, runs: u64) -> u64 {
        self.table.trailer_bytes(runs)
    }

    fn trailer(&self, runs: &mut dyn Iterator<Item = (u64, u64)>) -> Vec<u8> {
        self.table.trailer(runs)
    }
}
