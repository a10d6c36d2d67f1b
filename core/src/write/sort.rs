//! Sorts sparse cells into global order.
//!
//! The leading terms of the order are packed into one `u64` key per cell, as many bits as fit. Cells with equal keys
//! are compared term by term. Cells are distributed into buckets by the leading bits of their keys, and each bucket is
//! sorted on its own, so the keys of all cells are never held twice. Keys are computed for a few thousand cells at a
//! time, which fit in the CPU cache.

use std::cmp::Ordering;
use std::ops::Range;

use crate::column::Column;
use crate::cpu::{Cpu, PART, parts};
use crate::error::{Error, Result};
use crate::format::schema::{Layout, Schema};
use crate::geometry::{CellOrder, KeyColumn, number};
use crate::scalar::Scalar;

/// The maximum number of buckets, as a power of two.
const BUCKETS_LOG2: u32 = 12;

/// The result of a sort.
#[derive(Debug)]
pub(crate) enum Sorted {
    /// The cells are in order already.
    AsGiven,
    /// The index of the first cell, of the second cell, …
    Permutation(Vec<u32>),
}

/// Sorts the cells with coordinates `dims` into global order. The sort is stable.
///
/// # Errors
/// [`Error::InvalidArgument`] for NaN, and for equal coordinates if the array allows no duplicates.
pub(crate) fn sort(schema: &Schema, dims: &[&Column], cpu: Cpu) -> Result<Sorted> {
    let order = CellOrder::new(schema, Layout::Global)?;
    let heads = PackedKeys::new(&order, dims, cpu)?;
    match heads.sort(schema.allows_duplicates, cpu)? {
        (_, Some(cell)) if !schema.allows_duplicates => Err(duplicate(schema, dims, cell as usize)),
        (sorted, _) => Ok(sorted),
    }
}

/// The error for a repeated cell.
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

/// Formats a coordinate for messages.
pub(crate) fn show(column: &Column, cell: usize) -> String {
    match Scalar::from_le_bytes(column.datatype.physical(), column.cell(cell)) {
        Some(value) if !column.cell.is_var() => value.shown(column.datatype),
        _ => Scalar::Bytes(column.cell(cell).to_vec()).to_string(),
    }
}

/// The packed keys of all cells, and the terms to compare if keys are equal.
struct PackedKeys<'a> {
    /// One key per cell.
    keys: Vec<u64>,
    /// The number of bits used in each key.
    bits: u32,
    /// The terms to compare if keys are equal. Empty if equal keys mean equal coordinates.
    open: Vec<KeyColumn<'a>>,
}

/// How a term is packed into a key: its distance from `low`, without the last `cut` bits.
struct Packed {
    term: usize,
    low: u64,
    cut: u32,
    used: u32,
}

/// The lowest and highest word of a term's keys. `exact` is set if a word holds the whole key.
#[derive(Clone, Copy)]
struct KeyBounds {
    low: u64,
    high: u64,
    exact: bool,
}

/// A share of the cells, grouped by bucket.
struct Partition {
    cells: Vec<u32>,
    /// The start of each bucket, and the end of the last.
    starts: Vec<usize>,
}

impl<'a> PackedKeys<'a> {
    /// Packs the terms of `order`.
    fn new(order: &CellOrder, dims: &[&'a Column], cpu: Cpu) -> Result<Self> {
        let cells = dims.first().map_or(0, |c| c.len());
        if u32::try_from(cells).is_err() {
            return Err(Error::LimitExceeded {
                what: "cells to sort in one write (write them in several, or in global order)".into(),
                found: cells as u64,
                limit: u64::from(u32::MAX),
            });
        }
        let (mut bits, mut packed, mut open) = (0, Vec::new(), Vec::new());
        for (term, ends) in all_ends(order, dims, cells, cpu)?.into_iter().enumerate() {
            // Once a term is cut off, the terms after it cannot be packed.
            if open.is_empty() {
                let width = 64 - (ends.high - ends.low).leading_zeros();
                let used = width.min(64 - bits);
                let cut = width - used;
                if used > 0 {
                    let low = ends.low;
                    packed.push(Packed { term, low, cut, used });
                    bits += used;
                }
                if cut == 0 && ends.exact {
                    continue;
                }
            }
            open.push(whole(order, term, dims, ends, cells, cpu)?);
        }
        let mut keys = vec![0; cells];
        in_parts(&mut keys, cpu, |part, heads| {
            packed.iter().try_for_each(|p| {
                let keys = order.narrow_keys(p.term, dims, part.clone())?;
                let add = |head: &mut u64, key: u64| {
                    let key = (key - p.low) >> p.cut;
                    *head = if p.used == 64 { key } else { (*head << p.used) | key };
                };
                match keys {
                    KeyColumn::Numbers(keys) if keys.len() == heads.len() => {
                        heads.iter_mut().zip(keys).for_each(|(head, key)| add(head, key));
                    }
                    keys => (0..)
                        .zip(heads.iter_mut())
                        .for_each(|(i, head)| add(head, word(&keys, i))),
                }
                Ok(())
            })
        })?;
        Ok(Self { keys, bits, open })
    }

    /// Returns the order, and a cell that equals another in all terms if there is one.
    fn sort(&self, equal_is_fine: bool, cpu: Cpu) -> Result<(Sorted, Option<u32>)> {
        if self.is_sorted(equal_is_fine, cpu) {
            return Ok((Sorted::AsGiven, None));
        }
        let partitions = self.partition(cpu)?;
        let mut order = vec![0; self.keys.len()];
        let mut buckets = Vec::new();
        let mut rest = order.as_mut_slice();
        for bucket in 0..partitions.first().map_or(0, |d| d.starts.len() - 1) {
            let cells = partitions.iter().map(|d| d.bucket(bucket).len()).sum();
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(cells);
            rest = tail;
            if cells > 0 {
                buckets.push((bucket, part));
            }
        }
        let repeated = cpu.try_map_owned(buckets, |(bucket, part)| {
            let cells = partitions.iter().flat_map(|d| d.bucket(bucket));
            Ok::<_, Error>(self.sort_bucket(cells, part))
        })?;
        Ok((Sorted::Permutation(order), repeated.into_iter().flatten().next()))
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        self.keys[a]
            .cmp(&self.keys[b])
            .then_with(|| CellOrder::compare(&self.open, a, &self.open, b))
    }

    fn is_sorted(&self, equal_is_fine: bool, cpu: Cpu) -> bool {
        let follows = |i: usize| match self.compare(i - 1, i) {
            Ordering::Less => true,
            Ordering::Equal => equal_is_fine,
            Ordering::Greater => false,
        };
        let check = |part: &Range<usize>| match part.clone().skip(usize::from(part.start == 0)).all(follows) {
            true => Ok(()),
            false => Err(()),
        };
        cpu.try_map(&parts(self.keys.len(), PART), check).is_ok()
    }

    /// Distributes cells into buckets by their leading bits. Each thread takes a share of the cells. Cells keep their
    /// order within a bucket.
    fn partition(&self, cpu: Cpu) -> Result<Vec<Partition>> {
        let wanted = (self.keys.len() as u64).div_ceil(64).max(1).ilog2().min(BUCKETS_LOG2);
        let shift = self.bits.saturating_sub(wanted);
        let bucket = |key: u64| key.checked_shr(shift).unwrap_or(0) as usize;
        let buckets = 1_usize << (self.bits - shift);
        let share = self.keys.len().div_ceil(cpu.threads()).max(1);
        cpu.try_map(&parts(self.keys.len(), share), |cells| {
            let keys = &self.keys[cells.clone()];
            let mut starts = vec![0_usize; buckets + 1];
            keys.iter().for_each(|&key| starts[bucket(key) + 1] += 1);
            for i in 0..buckets {
                starts[i + 1] += starts[i];
            }
            let mut next = starts.clone();
            let mut at = vec![0_u32; keys.len()];
            for (cell, &key) in (cells.start as u32..).zip(keys) {
                let slot = &mut next[bucket(key)];
                at[*slot] = cell;
                *slot += 1;
            }
            Ok(Partition { cells: at, starts })
        })
    }

    /// Sorts a bucket's cells into `sorted`. Returns a cell with the same coordinates as another if there is one.
    fn sort_bucket<'b>(&self, cells: impl Iterator<Item = &'b u32>, sorted: &mut [u32]) -> Option<u32> {
        let mut pairs = Vec::with_capacity(sorted.len());
        pairs.extend(cells.map(|&i| (self.keys[i as usize], i)));
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
        sorted.iter_mut().zip(pairs).for_each(|(slot, (_, i))| *slot = i);
        repeated
    }
}

impl Partition {
    fn bucket(&self, bucket: usize) -> &[u32] {
        &self.cells[self.starts[bucket]..self.starts[bucket + 1]]
    }
}

/// The lowest and highest word of each term over all cells.
fn all_ends(order: &CellOrder, dims: &[&Column], cells: usize, cpu: Cpu) -> Result<Vec<KeyBounds>> {
    let of_part = |part: &Range<usize>| -> Result<Vec<KeyBounds>> {
        let of_term = |term| Ok(ends(&order.narrow_keys(term, dims, part.clone())?, part.len()));
        (0..order.terms()).map(of_term).collect()
    };
    let both = |a: KeyBounds, b: KeyBounds| KeyBounds {
        low: a.low.min(b.low),
        high: a.high.max(b.high),
        exact: a.exact,
    };
    let all = cpu.try_map(&parts(cells, PART), of_part)?.into_iter();
    let all = all.reduce(|all, part| all.into_iter().zip(part).map(|(a, b)| both(a, b)).collect());
    Ok(all.unwrap_or_default())
}

fn ends(keys: &KeyColumn<'_>, cells: usize) -> KeyBounds {
    let fold = |(low, high): (u64, u64), key: u64| (low.min(key), high.max(key));
    let (low, high) = match keys {
        KeyColumn::Numbers(keys) => keys.iter().copied().fold((u64::MAX, 0), fold),
        KeyColumn::Strings(..) => (0..cells).map(|i| word(keys, i)).fold((u64::MAX, 0), fold),
    };
    let exact = matches!(keys, KeyColumn::Numbers(_));
    match low <= high {
        true => KeyBounds { low, high, exact },
        false => KeyBounds { low: 0, high: 0, exact },
    }
}

/// The keys of a term for all cells.
fn whole<'a>(
    order: &CellOrder,
    term: usize,
    dims: &[&'a Column],
    ends: KeyBounds,
    cells: usize,
    cpu: Cpu,
) -> Result<KeyColumn<'a>> {
    if !ends.exact {
        return order.narrow_keys(term, dims, 0..cells);
    }
    if ends.high == 0 {
        return Ok(KeyColumn::Numbers(Vec::new()));
    }
    let mut all = vec![0; cells];
    in_parts(&mut all, cpu, |part, all| {
        match order.narrow_keys(term, dims, part)? {
            KeyColumn::Numbers(keys) if keys.len() == all.len() => all.copy_from_slice(&keys),
            _ => {}
        }
        Ok(())
    })?;
    Ok(KeyColumn::Numbers(all))
}

/// Key `i` if keys are numbers, otherwise the first eight bytes of the string.
fn word(keys: &KeyColumn<'_>, i: usize) -> u64 {
    match keys {
        KeyColumn::Numbers(keys) => number(keys, i),
        KeyColumn::Strings(..) => {
            let bytes = keys.string(i);
            let mut word = [0; 8];
            let n = bytes.len().min(8);
            word[..n].copy_from_slice(&bytes[..n]);
            u64::from_be_bytes(word)
        }
    }
}

/// Calls `f` with each part of the cells and the matching slice of `of_cells`, in parallel.
fn in_parts(
    of_cells: &mut [u64],
    cpu: Cpu,
    f: impl Fn(Range<usize>, &mut [u64]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let parts = parts(of_cells.len(), PART);
    let jobs = parts.into_iter().zip(of_cells.chunks_mut(PART)).collect();
    cpu.try_map_owned(jobs, |(part, of_cells)| f(part, of_cells))?;
    Ok(())
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
    fn cells_in_order_are_not_permuted() {
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

    /// More cells than one part holds: wide integers that do not fit in a key, floats with both zeros among the last
    /// cells only, and strings.
    fn many() -> (Schema, Vec<Column>) {
        let n = 2 * PART as i64 + 100;
        let mixed = |i: i64| i.wrapping_mul(7_919) % 1_000;
        let schema = schema(
            vec![
                Dimension::new("w", Datatype::Int64, i64::MIN, i64::MAX - 1_000_000, 1_000_000_i64),
                Dimension::new("f", Datatype::Float64, -1.0, 1.0, 0.5),
                Dimension::string("s"),
                Dimension::new("i", Datatype::Int64, 0_i64, n, 100_i64),
            ],
            false,
        );
        let w = (0..n).map(|i| (mixed(i) % 3 - 1) * (1 << 62)).collect::<Vec<_>>();
        let zero = |i: i64| if i % 2 == 0 { 0.0 } else { -0.0 };
        let f = (0..n)
            .map(|i| if i < 2 * PART as i64 { 0.5 } else { zero(i) })
            .collect::<Vec<_>>();
        let dims = vec![
            Column::from_values(Datatype::Int64, &w),
            Column::from_values(Datatype::Float64, &f),
            Column::from_cells(Datatype::StringAscii, (0..n).map(|i| format!("cell {}", mixed(i) % 7))),
            Column::from_values(Datatype::Int64, &(0..n).map(|i| n - i).collect::<Vec<_>>()),
        ];
        (schema, dims)
    }

    #[test]
    fn many_cells_sort_as_term_by_term() {
        let (schema, dims) = many();
        let dims: Vec<&Column> = dims.iter().collect();
        for n in 1..=4 {
            let schema = Schema {
                dimensions: schema.dimensions[4 - n..].to_vec(),
                allows_duplicates: true,
                ..schema.clone()
            };
            assert_eq!(
                sorted(&schema, &dims[4 - n..]),
                naive(&schema, &dims[4 - n..]),
                "the last {n}"
            );
        }
    }

    #[test]
    fn many_ordered_cells_are_not_permuted_and_distant_duplicates_are_found() {
        let schema = schema(vec![Dimension::new("x", Datatype::Int32, 0, 99_999, 10)], false);
        let mut x: Vec<i32> = (0..20_000).collect();
        let sort = |x: &[i32]| sort(&schema, &[&Column::from_values(Datatype::Int32, x)], Cpu::default());
        assert!(matches!(sort(&x), Ok(Sorted::AsGiven)));
        x.swap(PART - 1, PART);
        assert!(matches!(sort(&x), Ok(Sorted::Permutation(_))));
        x[15_000] = 3;
        assert!(sort(&x).unwrap_err().to_string().contains("(x = 3)"));
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
