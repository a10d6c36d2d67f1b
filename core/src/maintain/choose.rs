//! Which fragments a consolidation merges: runs of neighbours in time, as libtiledb chooses them.

use super::consolidate::Steps;
use crate::geometry::{Grid, Span, region};

/// A fragment, as far as the choice depends on it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Bytes of its data.
    pub(super) bytes: u64,
    /// Its box; `None` in sparse arrays, whose fragments merge in any run.
    pub(super) spans: Option<Vec<Span>>,
}

/// What limits the choice in dense arrays.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) steps: &'a Steps,
    /// Most fragments that the memory suffices for.
    pub(super) fragments_max: usize,
    pub(super) grid: Option<&'a Grid>,
    /// Boxes of older fragments that are not among the candidates.
    pub(super) anterior: &'a [Vec<Span>],
}

/// The run to merge next: the longest, and of those the smallest, where a later one must be a fifth
/// smaller to win. `None` if there is nothing to merge.
pub(super) fn choose(all: &[Candidate], rules: &Rules<'_>) -> Option<std::ops::Range<usize>> {
    let longest_allowed = rules.steps.fragments_max.min(rules.fragments_max).min(all.len());
    let shortest_allowed = rules.steps.fragments_min.min(longest_allowed).max(2);
    let longest: Vec<usize> = (0..all.len())
        .map(|start| {
            if start + shortest_allowed > all.len() {
                1
            } else {
                run_length(all, start, longest_allowed, rules)
            }
        })
        .collect();
    for length in (shortest_allowed..=longest_allowed).rev() {
        let mut best: Option<(u64, usize)> = None;
        for start in (0..all.len()).filter(|&s| longest[s] >= length) {
            let bytes = all[start..start + length]
                .iter()
                .map(|c| c.bytes)
                .fold(0, u64::saturating_add);
            // 1.25 times smaller: 4/5 of the size.
            if best.is_none_or(|(least, _)| u128::from(bytes) * 5 < u128::from(least) * 4) {
                best = Some((bytes, start));
            }
        }
        if let Some((_, start)) = best {
            return Some(start..start + length);
        }
    }
    None
}

/// How many fragments from `start` on may be merged, at most `most`.
fn run_length(all: &[Candidate], start: usize, most: usize, rules: &Rules<'_>) -> usize {
    let mut union = all[start].spans.clone();
    let mut length = 1;
    while length < most && start + length < all.len() {
        let (before, next) = (&all[start + length - 1], &all[start + length]);
        if ratio(before.bytes, next.bytes) < rules.steps.size_ratio {
            break;
        }
        if let (Some(union), Some(spans), Some(grid)) = (&mut union, &next.spans, rules.grid) {
            *union = region::union(union, spans);
            if !mergeable(all, start..start + length + 1, union, grid, rules) {
                break;
            }
        }
        length += 1;
    }
    length
}

fn ratio(a: u64, b: u64) -> f32 {
    if a.max(b) == 0 {
        1.0
    } else {
        (a.min(b) as f64 / a.max(b) as f64) as f32
    }
}

/// Whether what is written into the box of a run leaves alone what older fragments hold there, and is
/// not too much larger than the tiles of the run's own boxes.
fn mergeable(all: &[Candidate], run: std::ops::Range<usize>, union: &[Span], grid: &Grid, rules: &Rules<'_>) -> bool {
    let earlier = all[..run.start]
        .iter()
        .filter_map(|c| c.spans.as_ref())
        .chain(rules.anterior);
    if earlier
        .into_iter()
        .any(|spans| region::intersect(spans, union).is_some())
    {
        return false;
    }
    let cells = |spans: &[Span]| spans.iter().map(|s| s.len() as f64).product::<f64>();
    let rounded = |spans: &Vec<Span>| cells(&grid.rounded_out(spans));
    let own: f64 = all[run].iter().filter_map(|c| c.spans.as_ref()).map(rounded).sum();
    cells(union) / own <= f64::from(rules.steps.amplification)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Schema};

    fn sparse(sizes: &[u64]) -> Vec<Candidate> {
        sizes.iter().map(|&bytes| Candidate { bytes, spans: None }).collect()
    }

    fn run(all: &[Candidate], steps: &Steps) -> Option<std::ops::Range<usize>> {
        let grid = Grid::new(&Schema::new(
            ArrayType::Dense,
            vec![Dimension::new("x", Datatype::Int32, 0, 999, 10)],
            vec![],
        ))
        .unwrap();
        choose(
            all,
            &Rules {
                steps,
                fragments_max: usize::MAX,
                grid: Some(&grid),
                anterior: &[],
            },
        )
    }

    fn dense(boxes: &[(u64, u64)]) -> Vec<Candidate> {
        boxes
            .iter()
            .map(|&(first, last)| Candidate {
                bytes: 1,
                spans: Some(vec![Span { first, last }]),
            })
            .collect()
    }

    #[test]
    fn everything_by_default_and_never_a_single_one() {
        assert_eq!(run(&sparse(&[5, 1, 9]), &Steps::default()), Some(0..3));
        assert_eq!(run(&sparse(&[5]), &Steps::default()), None);
        assert_eq!(run(&[], &Steps::default()), None);
    }

    #[test]
    fn small_neighbours_first_and_sizes_alike() {
        let steps = Steps {
            fragments_min: 2,
            fragments_max: 2,
            ..Steps::default()
        };
        assert_eq!(run(&sparse(&[10, 10, 1, 1, 9]), &steps), Some(2..4));
        // Not a fifth smaller: the earlier one.
        assert_eq!(run(&sparse(&[10, 10, 9, 9]), &steps), Some(0..2));
        let steps = Steps {
            size_ratio: 0.5,
            fragments_min: 2,
            ..Steps::default()
        };
        assert_eq!(run(&sparse(&[100, 10, 8, 1]), &steps), Some(1..3));
    }

    #[test]
    fn dense_runs_must_not_cover_older_cells_nor_grow_too_much() {
        // The box of the last two reaches over the first.
        let steps = Steps {
            fragments_min: 2,
            fragments_max: 2,
            amplification: 100.0,
            ..Steps::default()
        };
        assert_eq!(run(&dense(&[(100, 109), (0, 9), (200, 209)]), &steps), Some(0..2));
        let only_last = Steps {
            fragments_min: 2,
            fragments_max: 2,
            amplification: 1.0,
            ..Steps::default()
        };
        assert_eq!(run(&dense(&[(500, 509), (0, 9), (10, 19)]), &only_last), Some(1..3));
        assert_eq!(run(&dense(&[(0, 9), (200, 209)]), &only_last), None);
        // The box itself counts, beside the whole tiles of those it is made from.
        assert_eq!(run(&dense(&[(9, 9), (20, 20)]), &only_last), Some(0..2));
    }
}
