//! Chooses the fragments to merge: runs of neighbours in time, as in libtiledb.

use std::ops::RangeInclusive;

use super::options::Steps;
use crate::geometry::{Span, region};

/// The properties of a fragment that the choice depends on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Whether it may be merged. Other fragments limit how far a merge may reach.
    pub(super) free: bool,
    /// The timestamp of its first write. Its cells hide those of older fragments.
    pub(super) start_ms: u64,
    /// Bytes of its data.
    pub(super) bytes: u64,
    /// Bytes of its largest tile in memory. Only for merges that hold a tile of each fragment.
    pub(super) held: u64,
    /// Whether it holds single cells of a dense array. They hide cells of all boxes, later ones too.
    pub(super) points: bool,
    /// Its box. `None` in sparse arrays and if it has no cells.
    pub(super) spans: Option<Vec<Span>>,
    /// Cells of the tiles that its box meets. If it holds single cells in a large box: one tile per cell.
    pub(super) tiled: f64,
}

/// The limits of the choice.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) steps: &'a Steps,
    /// The most bytes that a merge may hold.
    pub(super) held_max: u64,
    pub(super) order: ReadOrderEffect,
}

/// The effect of the order of fragments. A merged fragment takes the place of the oldest one it replaces.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadOrderEffect {
    /// Nothing: cells have their own timestamps, or all duplicates are read.
    Nothing,
    /// Which of several cells with equal coordinates is read, in sparse arrays.
    Places,
    /// Which of several boxes is read. A merged fragment fills the bounding box of those it replaces, including the
    /// gaps.
    Boxes,
}

/// Returns the run to merge next as indices into `all`, which is in read order, or `None` if there is nothing to merge.
///
/// It is the longest run of free neighbours. Among runs of the same length it is the smallest; a later run must be a
/// fifth smaller to win.
pub(super) fn choose(all: &[Candidate], rules: &Rules<'_>) -> Option<Vec<usize>> {
    let (free, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&i| all[i].free);
    if free.iter().any(|&i| all[i].points) {
        // They hide cells of all boxes only if everything is merged.
        let around = union(all, &free);
        let tiled = free.iter().map(|&i| all[i].tiled).sum();
        let mergeable = is_compact(around.as_deref(), tiled, rules)
            && !is_hindered(all, &others, (&free, around.as_deref()), rules.order);
        return (free.len() > 1 && mergeable).then_some(free);
    }
    let longest = rules.steps.fragments_max.min(free.len());
    let held = free.iter().map(|&i| all[i].held).fold(0, u64::saturating_add);
    // If the memory does not suffice for all fragments, it may not suffice for the required minimum either.
    let shortest = if held > rules.held_max {
        2
    } else {
        rules.steps.fragments_min
    };
    let lengths = shortest.min(longest).max(2)..=longest;
    let mut best: Option<Neighbours> = None;
    for start in 0..free.len() {
        // Runs from here on are shorter.
        if best.is_some_and(|best| best.length > free.len() - start) {
            break;
        }
        let Some(run) = longest_from(all, &free, start, &lengths, rules) else {
            continue;
        };
        // libtiledb's factor of 1.25: at most 4/5 of the size.
        let is_smaller = |than: u64| u128::from(run.bytes) * 5 < u128::from(than) * 4;
        if best.is_none_or(|b| run.length > b.length || (run.length == b.length && is_smaller(b.bytes))) {
            best = Some(run);
        }
    }
    best.map(|run| free[run.start..run.start + run.length].to_vec())
}

/// A run of neighbours among the free fragments.
#[derive(Debug, Clone, Copy)]
struct Neighbours {
    start: usize,
    length: usize,
    bytes: u64,
}

/// Whether merging `run` would change which cells of one of the `others` are read. `run` holds ascending indices into
/// `all` and the bounding box.
fn is_hindered(all: &[Candidate], others: &[usize], run: (&[usize], Option<&[Span]>), order: ReadOrderEffect) -> bool {
    others.iter().any(|&other| hinders(all, other, run, order))
}

/// Whether merging the run would change which cells of fragment `other` are read.
pub(super) fn hinders(
    all: &[Candidate],
    other: usize,
    (run, union): (&[usize], Option<&[Span]>),
    order: ReadOrderEffect,
) -> bool {
    let (Some(&first), Some(&last)) = (run.first(), run.last()) else {
        return false;
    };
    // Fragments with equal timestamps are ordered by name, and the name of the merged fragment is not known yet.
    let tied = all[other].start_ms == all[first].start_ms;
    match order {
        ReadOrderEffect::Nothing => false,
        ReadOrderEffect::Places => tied || (first < other && other < last),
        ReadOrderEffect::Boxes => {
            let Some(own) = &all[other].spans else { return false };
            let meets = |spans: &[Span]| region::intersect(own, spans).is_some();
            let points = || all[other].points || run.iter().any(|&i| all[i].points);
            if tied || other < first || (other < last && points()) {
                union.is_some_and(meets)
            } else {
                let above = run.iter().filter(|&&i| i > other);
                above.filter_map(|&i| all[i].spans.as_ref()).any(|s| meets(s))
            }
        }
    }
}

/// The bounding box of a run.
pub(super) fn union(all: &[Candidate], run: &[usize]) -> Option<Vec<Span>> {
    let boxes = run.iter().filter_map(|&i| all[i].spans.clone());
    boxes.reduce(|union, spans| region::union(&union, &spans))
}

/// The longest run of free fragments from `start` on that may be merged.
fn longest_from(
    all: &[Candidate],
    free: &[usize],
    start: usize,
    lengths: &RangeInclusive<usize>,
    rules: &Rules<'_>,
) -> Option<Neighbours> {
    let others: Vec<usize> = (0..all.len())
        .filter(|&i| !all[i].free)
        .chain(free[..start].iter().copied())
        .collect();
    let tiled_to_come: f64 = free[start..].iter().map(|&i| all[i].tiled).sum();
    let (mut around, mut tiled, mut bytes, mut held) = (None::<Vec<Span>>, 0.0, 0_u64, 0_u64);
    let mut longest = None;
    for length in 1..=(*lengths.end()).min(free.len() - start) {
        let (run, later) = free[start..].split_at(length);
        let last = &all[run[length - 1]];
        if length > 1 && ratio(all[run[length - 2]].bytes, last.bytes) < rules.steps.size_ratio {
            break;
        }
        held = held.saturating_add(last.held);
        if held > rules.held_max {
            break;
        }
        around = match (around, &last.spans) {
            (Some(union), Some(spans)) => Some(region::union(&union, spans)),
            (union, spans) => union.or_else(|| spans.clone()),
        };
        tiled += last.tiled;
        bytes = bytes.saturating_add(last.bytes);
        let around = around.as_deref();
        // If the box is too large even for all remaining fragments, give up. If only for these, longer runs may fill
        // it.
        if !is_compact(around, tiled_to_come, rules) {
            break;
        }
        if !lengths.contains(&length) || !is_compact(around, tiled, rules) {
            continue;
        }
        if is_hindered(all, &others, (run, around), rules.order) {
            break;
        }
        // Fragments with the same timestamp as the first may join the run as it grows.
        let tied = later.iter().take_while(|&&i| all[i].start_ms == all[run[0]].start_ms);
        let tied: Vec<usize> = tied.copied().collect();
        if !is_hindered(all, &tied, (run, around), rules.order) {
            longest = Some(Neighbours { start, length, bytes });
        }
    }
    longest
}

fn ratio(a: u64, b: u64) -> f32 {
    if a.max(b) == 0 {
        1.0
    } else {
        (a.min(b) as f64 / a.max(b) as f64) as f32
    }
}

/// Whether the bounding box of a run is not much larger than the tiles of its fragments' boxes.
fn is_compact(around: Option<&[Span]>, tiled: f64, rules: &Rules<'_>) -> bool {
    let (ReadOrderEffect::Boxes, Some(around)) = (rules.order, around) else {
        return true;
    };
    let cells = around.iter().map(|s| s.len() as f64).product::<f64>();
    cells / tiled <= f64::from(rules.steps.amplification)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(sizes: &[u64]) -> Vec<Candidate> {
        let candidate = |(i, &bytes)| Candidate {
            free: true,
            start_ms: i as u64,
            bytes,
            held: 1,
            points: false,
            spans: None,
            tiled: 0.0,
        };
        sizes.iter().enumerate().map(candidate).collect()
    }

    fn dense(boxes: &[(u64, u64)]) -> Vec<Candidate> {
        let mut all = sparse(&vec![1; boxes.len()]);
        for (candidate, &(first, last)) in all.iter_mut().zip(boxes) {
            candidate.spans = Some(vec![Span { first, last }]);
            // Tiles have ten cells.
            candidate.tiled = ((last / 10 + 1) * 10 - first / 10 * 10) as f64;
        }
        all
    }

    fn run_in(order: ReadOrderEffect, all: &[Candidate], steps: &Steps) -> Option<Vec<usize>> {
        let rules = Rules {
            steps,
            held_max: 9,
            order,
        };
        choose(all, &rules)
    }

    fn run(all: &[Candidate], steps: &Steps) -> Option<Vec<usize>> {
        run_in(ReadOrderEffect::Boxes, all, steps)
    }

    #[test]
    fn all_are_merged_by_default_but_never_a_single_one() {
        assert_eq!(run(&sparse(&[5, 1, 9]), &Steps::default()), Some(vec![0, 1, 2]));
        assert_eq!(run(&sparse(&[5]), &Steps::default()), None);
        assert_eq!(run(&[], &Steps::default()), None);
    }

    #[test]
    fn small_neighbours_of_similar_size_come_first() {
        let steps = Steps {
            fragments_min: 2,
            fragments_max: 2,
            ..Steps::default()
        };
        assert_eq!(run(&sparse(&[10, 10, 1, 1, 9]), &steps), Some(vec![2, 3]));
        // Not a fifth smaller, so the earlier run wins.
        assert_eq!(run(&sparse(&[10, 10, 9, 9]), &steps), Some(vec![0, 1]));
        let steps = Steps {
            size_ratio: 0.5,
            fragments_min: 2,
            ..Steps::default()
        };
        assert_eq!(run(&sparse(&[100, 10, 8, 1]), &steps), Some(vec![1, 2]));
    }

    #[test]
    fn dense_runs_do_not_cover_older_cells_or_grow_too_much() {
        // The bounding box of the last two covers the first.
        let steps = Steps {
            fragments_min: 2,
            fragments_max: 2,
            amplification: 100.0,
            ..Steps::default()
        };
        assert_eq!(run(&dense(&[(100, 109), (0, 9), (200, 209)]), &steps), Some(vec![0, 1]));
        let only_last = Steps {
            fragments_min: 2,
            fragments_max: 2,
            amplification: 1.0,
            ..Steps::default()
        };
        assert_eq!(
            run(&dense(&[(500, 509), (0, 9), (10, 19)]), &only_last),
            Some(vec![1, 2])
        );
        assert_eq!(run(&dense(&[(0, 9), (200, 209)]), &only_last), None);
        // The box itself is compared with the whole tiles of its fragments.
        assert_eq!(run(&dense(&[(9, 9), (20, 20)]), &only_last), Some(vec![0, 1]));
    }

    #[test]
    fn tiles_that_fill_the_box_only_as_a_whole_are_merged() {
        // Two rows of two tiles and one tile of the next row. The bounding boxes of the first three and of all five are
        // less full.
        let tile = |y: u64, x: u64| {
            let span = |i: u64| Span {
                first: i * 10,
                last: i * 10 + 9,
            };
            vec![span(y), span(x)]
        };
        let mut all = sparse(&[1; 5]);
        for (candidate, (y, x)) in all.iter_mut().zip([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]) {
            candidate.spans = Some(tile(y, x));
            candidate.tiled = 100.0;
        }
        let some = Steps {
            fragments_min: 2,
            ..Steps::default()
        };
        assert_eq!(run(&all, &some), Some(vec![0, 1, 2, 3]));
        assert_eq!(run(&all[..3], &some), Some(vec![0, 1]));
        // All or nothing.
        assert_eq!(run(&all[..4], &Steps::default()), Some(vec![0, 1, 2, 3]));
        assert_eq!(run(&all, &Steps::default()), None);
        // Too far apart to merge.
        all[1].spans = Some(tile(9, 9));
        assert_eq!(run(&all[..2], &some), None);
    }

    #[test]
    fn a_merge_holds_no_more_than_the_memory_allows() {
        let mut all = sparse(&[1; 4]);
        all[1].held = 9;
        assert_eq!(run(&all, &Steps::default()), Some(vec![2, 3]));
        all[3].held = 9;
        assert_eq!(run(&all, &Steps::default()), None);
    }

    /// Runs of at least two fragments, whatever their box.
    const PAIRS: Steps = Steps {
        count: 1,
        fragments_min: 2,
        fragments_max: usize::MAX,
        size_ratio: 0.0,
        amplification: 1e9,
    };

    #[test]
    fn a_merge_must_not_cover_older_boxes_or_move_below_others() {
        // One of three boxes, ordered by time, is not free.
        let chosen = |boxes: [(u64, u64); 3], fixed: usize| {
            let mut all = dense(&boxes);
            all[fixed].free = false;
            run(&all, &PAIRS)
        };
        let (left, middle, right) = ((0, 9), (10, 19), (20, 29));
        // An older box: the bounding box of the others must not meet it, even if none of them does.
        assert_eq!(chosen([middle, left, right], 0), None);
        assert_eq!(chosen([left, middle, right], 0), Some(vec![1, 2]));
        // A box in between: the cells of the last one would move below it.
        assert_eq!(chosen([left, right, right], 1), None);
        assert_eq!(chosen([left, left, right], 1), Some(vec![0, 2]));
        assert_eq!(chosen([left, middle, right], 1), Some(vec![0, 2]));
        // A newer box: it hides cells of the others before and after the merge.
        assert_eq!(chosen([left, right, middle], 2), Some(vec![0, 1]));
    }

    #[test]
    fn fragments_of_equal_time_that_overlap_are_merged_together_or_not_at_all() {
        let mut all = dense(&[(0, 9), (20, 29), (10, 19)]);
        all.iter_mut().for_each(|c| c.start_ms = 5);
        assert_eq!(run(&all, &PAIRS), Some(vec![0, 1, 2]));
        let two = Steps {
            fragments_max: 2,
            ..PAIRS
        };
        assert_eq!(run(&all, &two), Some(vec![1, 2]));
        all[0].free = false;
        assert_eq!(run(&all, &two), Some(vec![1, 2]));
        all[1].spans = None;
        all[2].spans = Some(vec![Span { first: 9, last: 19 }]);
        assert_eq!(run(&all, &two), None);
    }

    #[test]
    fn sparse_fragments_without_cell_timestamps_are_merged_in_order_of_time() {
        let mut all = sparse(&[1, 1, 1, 1]);
        all[1].free = false;
        assert_eq!(run_in(ReadOrderEffect::Places, &all, &PAIRS), Some(vec![2, 3]));
        assert_eq!(run_in(ReadOrderEffect::Nothing, &all, &PAIRS), Some(vec![0, 2, 3]));
        all[1].start_ms = 2;
        assert_eq!(run_in(ReadOrderEffect::Places, &all, &PAIRS), None);
    }

    #[test]
    fn single_cells_are_merged_with_everything_or_not_at_all() {
        let mut all = dense(&[(0, 9), (500, 509), (3, 3)]);
        all[2].points = true;
        // However few cells there are, the merge writes their whole box.
        assert_eq!(run(&all, &Steps::default()), None);
        assert_eq!(run(&all, &PAIRS), Some(vec![0, 1, 2]));
        all[1].spans = Some(vec![Span { first: 0, last: 3 }]);
        assert_eq!(run(&all, &Steps::default()), Some(vec![0, 1, 2]));
        all[1].free = false;
        assert_eq!(run(&all, &Steps::default()), None);
    }
}
