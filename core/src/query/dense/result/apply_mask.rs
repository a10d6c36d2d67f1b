//! Replaces cells that fail a condition with fill values.

use std::convert::Infallible;

use crate::column::Column;
use crate::cpu::Cpu;
use crate::format::field::Field;

/// Cells per job.
const PART: usize = 1 << 16;

/// Replaces the cells whose mask is 0 with fill values.
pub(super) fn apply_mask(column: &mut Column, field: &Field, mask: &[u8], cpu: Cpu) {
    if column.offsets.is_none() {
        put(&mut column.data, &field.fill, mask, cpu);
    } else {
        let (mut data, mut offsets) = (Vec::new(), vec![0]);
        for (i, &m) in mask.iter().enumerate() {
            data.extend_from_slice(if m == 0 { &field.fill } else { column.cell(i) });
            offsets.push(data.len() as u64);
        }
        (column.data, column.offsets) = (data, Some(offsets));
    }
    if let Some(validity) = &mut column.validity {
        put(validity, &[u8::from(field.fill_valid)], mask, cpu);
    }
}

/// Overwrites the cells whose mask is 0 with `fill`, which must have the size of a cell.
fn put(cells: &mut [u8], fill: &[u8], mask: &[u8], cpu: Cpu) {
    let width = fill.len().max(1);
    let parts = cells.chunks_mut(PART.saturating_mul(width)).zip(mask.chunks(PART));
    let Ok(_) = cpu.try_map_owned(parts.collect(), |(cells, mask)| {
        match width {
            1 => choose::<1>(cells, fill, mask),
            2 => choose::<2>(cells, fill, mask),
            4 => choose::<4>(cells, fill, mask),
            8 => choose::<8>(cells, fill, mask),
            _ => {
                let blanks = cells.chunks_exact_mut(width).zip(mask).filter(|(_, m)| **m == 0);
                blanks.for_each(|(cell, _)| cell.copy_from_slice(fill));
            }
        }
        Ok::<_, Infallible>(())
    });
}

// Every cell is written, which avoids a branch that the processor could not predict.
fn choose<const N: usize>(cells: &mut [u8], fill: &[u8], mask: &[u8]) {
    let Ok(fill) = <[u8; N]>::try_from(fill) else { return };
    for (cell, &m) in cells.as_chunks_mut::<N>().0.iter_mut().zip(mask) {
        *cell = if m == 0 { fill } else { *cell };
    }
}
