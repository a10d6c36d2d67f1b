//! Sorting sparse cells into the order they are stored in.
//!
//! The terms of the order are packed, most important first, into one `u64` a cell as far as they fit;
//! what that leaves equal is compared term by term. Cells are dealt into buckets by the leading bits
//! and each bucket is sorted apart, so the keys of all cells are never held twice.

use std::cmp::Ordering;

use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::format::schema::{Layout, Schema};
use crate::geometry::{CellOrder, KeyColumn};
use crate::scalar::Scalar;

/// Buckets that cells are dealt into, at most.
const BUCKETS_LOG2: u32 = 12;

/// The order in which sparse cells are stored.
#[derive(Debug)]
pub(crate) enum Sorted {
    /// They are in order already.
    AsGiven,
    /// The cell that comes first, the cell that comes next, …
    Permutation(Vec<u32>),
}

/// Sorts the cells whose coordinates are `dims` into global order; of equal cells the first stays first.
///
/// # Errors
/// [`Error::InvalidArgument`] for NaN, and for cells with equal coordinates unless the array allows them.
pub(crate) fn sort(schema: &Schema, dims: &[&Column], cpu: Cpu) -> Result<Sorted> {
    let order = CellOrder::new(schema, Layout::Global)?;
    let heads = Heads::new(&order, dims, Vec::new())?;
    match heads.sort(schema.allows_duplicates, cpu)? {
        (_, Some(cell)) if !schema.allows_duplicates => Err(duplicate(schema, dims, cell as usize)),
        (sorted, _) => Ok(sorted),
    }
}

/// Sorts the cells whose coordinates are `dims` into global order; those of one place newest first by
/// `times`, and of equal times as they are.
///
/// # Errors
/// [`Error::InvalidArgument`] for NaN.
pub(crate) fn sort_merged(schema: &Schema, dims: &[&Column], times: &[u64], cpu: Cpu) -> Result<Sorted> {
    let order = CellOrder::new(schema, Layout::Global)?;
    let newest_first = times.iter().map(|t| u64::MAX - t).collect();
    let heads = Heads::new(&order, dims, vec![KeyColumn::Numbers(newest_first)])?;
    Ok(heads.sort(true, cpu)?.0)
}

/// The complaint about a cell that is there twice.
pub(crate) fn duplicate(schema: &Schema, dims: &[&Column], cell: usize) -> Error {
    let place: Vec<String> = schema
        .dimensions
        .iter()
        .zip(dims)
        .map(|(d, c)| format!("{} = {}", d.name, show(c, cell)))
        .collect();
    Error::invalid(format!(
        "two cells have the same coordinates ({}), which this array does not allow; remove one, or create the array with duplicates allowed",
        place.join(", ")
    ))
}

/// A coordinate for people.
pub(crate) fn show(column: &Column, cell: usize) -> String {
    match Scalar::from_le_bytes(column.datatype.physical(), column.cell(cell)) {
        Some(value) if !column.cell.is_var() => value.shown(column.datatype),
        _ => Scalar::Bytes(column.cell(cell).to_vec()).to_string(),
    }
}

/// The packed leading terms of every cell, and what they leave open.
struct Heads<'a> {
    /// One a cell.
    keys: Vec<u64>,
    /// Bits used of each key.
    bits: u32,
    /// The terms to compare where heads are equal; none if equal heads mean equal coordinates.
    open: Vec<KeyColumn<'a>>,
}

impl<'a> Heads<'a> {
    /// Of the terms of `order`, and behind them of `more`.
    fn new(order: &CellOrder, dims: &[&'a Column], more: Vec<KeyColumn<'a>>) -> Result<Self> {
        let cells = dims.first().map_or(0, |c| c.len());
        if u32::try_from(cells).is_err() {
            return Err(Error::LimitExceeded {
                what: "cells to sort in one write (write them in several, or in global order)".into(),
                found: cells as u64,
                limit: u64::from(u32::MAX),
            });
        }
        let mut heads = Self {
            keys: vec![0; cells],
            bits: 0,
            open: Vec::new(),
        };
        for term in 0..order.terms() {
            let column = order.narrow_keys(term, dims)?;
            // Terms behind one that is cut off cannot be packed any more.
            if heads.open.is_empty() && heads.push(&column) {
                continue;
            }
            heads.open.push(column);
        }
        heads.open.extend(more);
        Ok(heads)
    }

    /// The order, and a cell whose terms are all equal to those of another if there is one.
    fn sort(&self, equal_is_fine: bool, cpu: Cpu) -> Result<(Sorted, Option<u32>)> {
        if self.is_sorted(equal_is_fine) {
            return Ok((Sorted::AsGiven, None));
        }
        let (mut at, buckets) = self.deal();
        let mut parts = Vec::with_capacity(buckets.len());
        let mut rest = at.as_mut_slice();
        for n in buckets {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(n);
            rest = tail;
            if part.len() > 1 {
                parts.push(part);
            }
        }
        let repeated = cpu.try_map_owned(parts, |part| Ok::<_, Error>(self.sort_bucket(part)))?;
        Ok((Sorted::Permutation(at), repeated.into_iter().flatten().next()))
    }

    /// Packs a term behind the others; `false` if it was cut off.
    fn push(&mut self, column: &KeyColumn<'_>) -> bool {
        let room = 64 - self.bits;
        let prefix = |i: usize| {
            let bytes = column.string(i);
            let mut word = [0; 8];
            let n = bytes.len().min(8);
            word[..n].copy_from_slice(&bytes[..n]);
            u64::from_be_bytes(word)
        };
        let cells = self.keys.len();
        let (low, high) = match column {
            KeyColumn::Numbers(keys) => keys.iter().fold((u64::MAX, 0), |(lo, hi), &k| (lo.min(k), hi.max(k))),
            KeyColumn::Strings(..) => (0..cells)
                .map(prefix)
                .fold((u64::MAX, 0), |(lo, hi), k| (lo.min(k), hi.max(k))),
        };
        let width = 64 - high.saturating_sub(low).leading_zeros();
        let (used, cut) = (width.min(room), width.saturating_sub(room));
        if used > 0 {
            let add = |head: &mut u64, key: u64| {
                let part = (key - low) >> cut;
                *head = if used == 64 { part } else { (*head << used) | part };
            };
            match column {
                KeyColumn::Numbers(keys) => self.keys.iter_mut().zip(keys).for_each(|(h, &k)| add(h, k)),
                KeyColumn::Strings(..) => self.keys.iter_mut().enumerate().for_each(|(i, h)| add(h, prefix(i))),
            }
            self.bits += used;
        }
        cut == 0 && matches!(column, KeyColumn::Numbers(_))
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        self.keys[a]
            .cmp(&self.keys[b])
            .then_with(|| CellOrder::compare(&self.open, a, &self.open, b))
    }

    fn is_sorted(&self, equal_is_fine: bool) -> bool {
        (1..self.keys.len()).all(|i| match self.compare(i - 1, i) {
            Ordering::Less => true,
            Ordering::Equal => equal_is_fine,
            Ordering::Greater => false,
        })
    }

    /// Deals cells into buckets by their leading bits; inside a bucket they stay in their order.
    fn deal(&self) -> (Vec<u32>, Vec<usize>) {
        let wanted = (self.keys.len() as u64).div_ceil(64).max(1).ilog2().min(BUCKETS_LOG2);
        let shift = self.bits.saturating_sub(wanted);
        let bucket = |key: u64| key.checked_shr(shift).unwrap_or(0) as usize;
        let buckets = 1_usize << (self.bits - shift);
        let mut counts = vec![0_usize; buckets];
        for &key in &self.keys {
            counts[bucket(key)] += 1;
        }
        let mut next = Vec::with_capacity(buckets);
        let mut start = 0;
        for &n in &counts {
            next.push(start);
            start += n;
        }
        let mut at = vec![0_u32; self.keys.len()];
        for (i, &key) in (0_u32..).zip(&self.keys) {
            let slot = &mut next[bucket(key)];
            at[*slot] = i;
            *slot += 1;
        }
        (at, counts)
    }

    /// Sorts a bucket. Returns a cell whose coordinates are those of another, if there is one.
    fn sort_bucket(&self, part: &mut [u32]) -> Option<u32> {
        let mut pairs: Vec<(u64, u32)> = part.iter().map(|&i| (self.keys[i as usize], i)).collect();
        pairs.sort_unstable();
        let mut repeated = None;
        for run in pairs.chunk_by_mut(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            let compare =
                |a: &(u64, u32), b: &(u64, u32)| CellOrder::compare(&self.open, a.1 as usize, &self.open, b.1 as usize);
            if !self.open.is_empty() {
                run.sort_by(compare);
            }
            repeated = repeated.or_else(|| run.windows(2).find(|w| compare(&w[0], &w[1]).is_eq()).map(|w| w[1].1));
        }
        part.iter_mut().zip(pairs).for_each(|(slot, (_, i))| *slot = i);
        repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::ArrayType;
    use proptest::prelude::*;

    fn schema(dims: Vec<Dimension>, duplicates: bool) -> Schema {
        let mut schema = Schema::new(ArrayType::Sparse, dims, vec![]);
        schema.allows_duplicates = duplicates;
        schema
    }

    fn naive(schema: &Schema, dims: &[&Column]) -> Vec<u32> {
        let keys = CellOrder::new(schema, Layout::Global).unwrap().keys(dims).unwrap();
        let mut at: Vec<u32> = (0..dims[0].len() as u32).collect();
        at.sort_by(|&a, &b| CellOrder::compare(&keys, a as usize, &keys, b as usize));
        at
    }

    fn sorted(schema: &Schema, dims: &[&Column]) -> Vec<u32> {
        match sort(schema, dims, Cpu::default()).unwrap() {
            Sorted::AsGiven => (0..dims[0].len() as u32).collect(),
            Sorted::Permutation(at) => at,
        }
    }

    #[test]
    fn equal_coordinates_are_named() {
        let schema = schema(
            vec![Dimension::new("x", Datatype::Int32, 0, 9, 4), Dimension::string("k")],
            false,
        );
        let x = Column::from_values(Datatype::Int32, &[1, 5, 1]);
        let k = Column::from_cells(Datatype::StringAscii, ["a", "b", "a"]);
        let e = sort(&schema, &[&x, &k], Cpu::Inline).unwrap_err();
        assert!(e.to_string().contains("(x = 1, k = 'a')"), "{e}");
    }

    #[test]
    fn cells_in_order_are_left_alone() {
        let schema = schema(vec![Dimension::new("x", Datatype::Int32, 0, 9, 4)], false);
        let x = Column::from_values(Datatype::Int32, &[1, 5, 7]);
        assert!(matches!(sort(&schema, &[&x], Cpu::Inline), Ok(Sorted::AsGiven)));
        let x = Column::from_values(Datatype::Int32, &[1, 5, 5]);
        assert!(sort(&schema, &[&x], Cpu::Inline).is_err());
        assert!(matches!(
            sort(
                &schema,
                &[&Column::from_values::<i32>(Datatype::Int32, &[])],
                Cpu::Inline
            ),
            Ok(Sorted::AsGiven)
        ));
    }

    proptest! {
        #[test]
        fn any_mix_of_dimensions_sorts_as_term_by_term(
            cells in prop::collection::vec((-20_i64..20, -3.0_f64..3.0, "[a-c]{0,10}", any::<i64>()), 0..300),
            order in 0..5_usize,
        ) {
            let wide = i64::MAX - 100;
            let mut schema = schema(vec![
                Dimension::new("i", Datatype::Int64, -20_i64, 20_i64, 7_i64),
                Dimension::new("f", Datatype::Float64, -3.0, 3.0, 0.7),
                Dimension::string("s"),
                Dimension::new("w", Datatype::Int64, i64::MIN, wide, 1_000_000_i64),
            ], true);
            use Layout::{ColMajor, Hilbert, RowMajor};
            (schema.tile_order, schema.cell_order) =
                [(RowMajor, RowMajor), (RowMajor, ColMajor), (ColMajor, RowMajor), (ColMajor, ColMajor), (RowMajor, Hilbert)][order];
            let i = Column::from_values(Datatype::Int64, &cells.iter().map(|c| c.0).collect::<Vec<_>>());
            let f = Column::from_values(Datatype::Float64, &cells.iter().map(|c| c.1).collect::<Vec<_>>());
            let s = Column::from_cells(Datatype::StringAscii, cells.iter().map(|c| &c.2));
            let w = Column::from_values(Datatype::Int64, &cells.iter().map(|c| c.3.min(wide)).collect::<Vec<_>>());
            let dims = [&i, &f, &s, &w];
            prop_assert_eq!(sorted(&schema, &dims), naive(&schema, &dims));
        }

        #[test]
        fn packed_coordinates_sort_as_term_by_term(cells in prop::collection::vec((0_u16..500, 0_u16..500), 0..2000)) {
            let dim = |n| Dimension::new(n, Datatype::Uint16, 0_u16, 499_u16, 60_u16);
            let schema = schema(vec![dim("y"), dim("x")], true);
            let y = Column::from_values(Datatype::Uint16, &cells.iter().map(|c| c.0).collect::<Vec<_>>());
            let x = Column::from_values(Datatype::Uint16, &cells.iter().map(|c| c.1).collect::<Vec<_>>());
            prop_assert_eq!(sorted(&schema, &[&y, &x]), naive(&schema, &[&y, &x]));
        }
    }
}
