//! Splits a run of cells in row-major order into boxes.

use std::ops::Range;

/// Splits the cells with the numbers `cells` of an array of this shape into boxes of half-open index ranges. The cells
/// of the boxes, each in row-major order, are exactly that run.
///
/// There are at most two boxes per axis: a head, whole rows in the middle, a tail.
pub(super) fn boxes(shape: &[u64], cells: Range<u64>) -> Vec<Vec<Range<u64>>> {
    let mut found = Vec::new();
    if !cells.is_empty() {
        split(shape, cells, &mut Vec::new(), &mut found);
    }
    found
}

fn split(shape: &[u64], cells: Range<u64>, before: &mut Vec<Range<u64>>, found: &mut Vec<Vec<Range<u64>>>) {
    let Some((_, inner)) = shape.split_first() else {
        return found.push(before.clone());
    };
    // Cells under one index of the first axis. The product fits, because the number of cells does.
    let row = inner.iter().product::<u64>().max(1);
    let (mut start, end) = (cells.start, cells.end);
    while start < end {
        let index = start / row;
        let whole = if start % row == 0 { (end - start) / row } else { 0 };
        if whole > 0 {
            let mut one = before.clone();
            one.push(index..index + whole);
            one.extend(inner.iter().map(|&n| 0..n));
            found.push(one);
            start += whole * row;
        } else {
            let stop = end.min((index + 1) * row);
            before.push(index..index + 1);
            split(inner, start - index * row..stop - index * row, before, found);
            before.pop();
            start = stop;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the cells in the boxes, in order.
    fn numbers(shape: &[u64], boxes: &[Vec<Range<u64>>]) -> Vec<u64> {
        let of = |b: &Vec<Range<u64>>| {
            let add = |cells: Vec<u64>, (axis, n): (&Range<u64>, &u64)| -> Vec<u64> {
                cells
                    .iter()
                    .flat_map(|c| axis.clone().map(move |i| c * n + i))
                    .collect()
            };
            b.iter().zip(shape).fold(vec![0], add)
        };
        boxes.iter().flat_map(of).collect()
    }

    #[test]
    fn boxes_contain_exactly_the_run() {
        for shape in [&[7][..], &[3, 4], &[2, 3, 4], &[1, 5, 1], &[]] {
            let total: u64 = shape.iter().product();
            for start in 0..=total {
                for end in start..=total {
                    let found = boxes(shape, start..end);
                    assert_eq!(
                        numbers(shape, &found),
                        (start..end).collect::<Vec<_>>(),
                        "{shape:?} {start}..{end}"
                    );
                    assert!(
                        found.len() <= 2 * shape.len().max(1),
                        "{shape:?} {start}..{end}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn whole_rows_are_one_box() {
        assert_eq!(boxes(&[10, 4], 4..20), vec![vec![1..5, 0..4]]);
        assert_eq!(
            boxes(&[10, 4], 3..21),
            vec![vec![0..1, 3..4], vec![1..5, 0..4], vec![5..6, 0..1]]
        );
    }
}
