//! Removes cells that a condition or a delete excludes.

use std::collections::HashMap;

use super::gather::{FinalCells, cells};
use super::layer::DeleteMode;
use super::{Segment, SparseQuery};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::Result;
use crate::format::field::Field;
use crate::query::condition::{Bound, TestColumn, evaluate};

/// Columns by field name. The second value is a mask with 0 for cells whose fragment lacks the field.
pub(super) type Columns<'a> = HashMap<&'a str, (Column, Option<Vec<u8>>)>;

fn found<'a>(columns: &'a Columns<'_>, name: &str) -> Option<TestColumn<'a>> {
    columns.get(name).map(|(column, present)| TestColumn {
        column,
        present: present.as_deref(),
    })
}

/// The values that a read returns, with fill values for cells whose fragment lacks the field.
fn as_shown(column: TestColumn<'_>) -> Option<TestColumn<'_>> {
    Some(TestColumn {
        present: None,
        ..column
    })
}

/// The cells that a delete affects.
#[derive(Debug)]
pub(crate) struct WeighedDelete {
    /// Cells that meet the delete's condition.
    pub(crate) met: Vec<Segment>,
    /// Cells that do not meet the condition but that the stored delete would remove.
    pub(crate) others: Vec<Segment>,
    /// The number of cells that meet the condition but that the stored delete would keep.
    pub(crate) missed: u64,
}

impl FinalCells {
    /// Removes the cells that the condition or a delete excludes. The tiles of the attributes that these test must be
    /// decoded.
    ///
    /// # Errors
    /// Never fails: its jobs return no errors.
    pub(crate) fn filter(&mut self, query: &SparseQuery, cpu: Cpu) -> Result<()> {
        self.segments = self.in_parts(cpu, |part| self.filtered(query, part))?.concat();
        Ok(())
    }

    /// Applies `f` to groups of these cells in parallel.
    ///
    /// # Errors
    /// Never fails: its jobs return no errors.
    pub(super) fn in_parts<R: Send>(&self, cpu: Cpu, f: impl Fn(&[Segment]) -> R + Sync + Send) -> Result<Vec<R>> {
        cpu.try_map(&parts(&self.segments), |part| Ok(f(part)))
    }

    /// The cells of `segments` that neither the condition nor a delete excludes.
    fn filtered(&self, query: &SparseQuery, segments: &[Segment]) -> Vec<Segment> {
        let cells = cells(segments);
        let columns = self.columns(query, segments, &query.tested());
        let find = |name: &str| found(&columns, name);
        let mut mask = match &query.condition {
            // The condition tests the values that a read returns, with fill values for cells whose fragment lacks the
            // field.
            Some(condition) => {
                let shown = |name: &str| as_shown(find(name)?);
                evaluate(condition, cells, &shown)
            }
            None => vec![1; cells],
        };
        for k in 0..query.deletes.len() {
            if let Some(keep) = self.kept_by(query, segments, &columns, k) {
                mask.iter_mut().zip(keep).for_each(|(m, k)| *m &= k);
            }
        }
        retain(segments, &mask)
    }

    /// Columns of these fields, each with a mask of the cells that have the field.
    pub(super) fn columns<'a>(&self, query: &SparseQuery, segments: &[Segment], names: &[&'a str]) -> Columns<'a> {
        let mut columns = HashMap::new();
        for &name in names {
            let attribute = query.attributes.iter().position(|f| f.name == name);
            let tested = match attribute.and_then(|i| query.attributes.get(i)) {
                Some(field) => (
                    self.column(query, segments, field),
                    self.present(query, segments, attribute.unwrap_or(0)),
                ),
                None => match Field::named(&query.schema, name) {
                    Ok(field) => (self.column(query, segments, &field), None),
                    Err(_) => continue,
                },
            };
            columns.insert(name, tested);
        }
        columns
    }

    /// Compares the cells that meet `condition` with those that a delete stored as `keep` would remove. The fields of
    /// both conditions must be decoded.
    pub(crate) fn weigh(&self, query: &SparseQuery, condition: &Bound, keep: &Bound) -> WeighedDelete {
        let (segments, count) = (self.segments.as_slice(), cells(&self.segments));
        let mut names = condition.fields();
        names.extend(keep.fields());
        let columns = self.columns(query, segments, &names);
        let find = |name: &str| found(&columns, name);
        let met = evaluate(condition, count, &|name| as_shown(find(name)?));
        let kept = evaluate(keep, count, &find);
        let others: Vec<u8> = met.iter().zip(&kept).map(|(m, k)| (1 - m) & (1 - k)).collect();
        WeighedDelete {
            missed: met.iter().zip(&kept).filter(|(m, k)| **m & **k == 1).count() as u64,
            met: retain(segments, &met),
            others: retain(segments, &others),
        }
    }

    /// A mask with 0 for the cells that delete `k` removes; `None` if it removes nothing. `columns` are the fields
    /// that it tests.
    pub(super) fn kept_by(
        &self,
        query: &SparseQuery,
        segments: &[Segment],
        columns: &Columns<'_>,
        k: usize,
    ) -> Option<Vec<u8>> {
        let delete = query.deletes.get(k).filter(|_| query.is_left(k))?;
        let mut keep = evaluate(&delete.keep, cells(segments), &|name| found(columns, name));
        let mut rest = keep.as_mut_slice();
        for s in segments {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(s.len as usize);
            rest = after;
            let Some((run, layer)) = self.layer(query, s.run) else {
                continue;
            };
            match layer.deletes.get(k) {
                None | Some(DeleteMode::None) => part.fill(1),
                Some(DeleteMode::All) => {}
                Some(DeleteMode::Older) => {
                    for (i, keep) in part.iter_mut().enumerate() {
                        *keep |= u8::from(run.time(s.start as usize + i) > delete.time_ms);
                    }
                }
            }
        }
        Some(keep)
    }

    /// A mask with 0 for cells whose fragment lacks the attribute; `None` if no fragment lacks it.
    fn present(&self, query: &SparseQuery, segments: &[Segment], attribute: usize) -> Option<Vec<u8>> {
        let has = |s: &Segment| {
            self.layer(query, s.run)
                .is_some_and(|(_, l)| l.attributes.get(attribute).is_some_and(Option::is_some))
        };
        if segments.iter().all(has) {
            return None;
        }
        Some(
            segments
                .iter()
                .flat_map(|s| std::iter::repeat_n(u8::from(has(s)), s.len as usize))
                .collect(),
        )
    }
}

/// Cells per job: enough to repay the preparation of a condition with a long list.
const TESTED_TOGETHER: u32 = 1 << 16;

/// Cuts segments into groups of [`TESTED_TOGETHER`] cells.
fn parts(segments: &[Segment]) -> Vec<Vec<Segment>> {
    let (mut out, mut room) = (Vec::new(), 0);
    for s in segments {
        let mut rest = *s;
        while rest.len > 0 {
            if room == 0 {
                out.push(Vec::new());
                room = TESTED_TOGETHER;
            }
            let len = rest.len.min(room);
            if let Some(part) = out.last_mut() {
                part.push(Segment { len, ..rest });
            }
            room -= len;
            rest.start += len;
            rest.len -= len;
        }
    }
    out
}

/// The cells whose mask is 1.
fn retain(segments: &[Segment], mask: &[u8]) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    let mut mask = mask.iter();
    for s in segments {
        for cell in s.start..s.start + s.len {
            if mask.next() != Some(&1) {
                continue;
            }
            match out.last_mut() {
                Some(last) if last.run == s.run && last.start + last.len == cell => last.len += 1,
                _ => out.push(Segment {
                    run: s.run,
                    start: cell,
                    len: 1,
                }),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_cut_into_groups_of_cells() {
        let segment = |run, start, len| Segment { run, start, len };
        let half = TESTED_TOGETHER / 2;
        let segments = [
            segment(0, 5, half),
            segment(1, 0, 2 * TESTED_TOGETHER),
            segment(2, 7, 0),
            segment(3, 1, 1),
        ];
        let stream_tile = parts(&segments);
        assert_eq!(
            stream_tile,
            [
                vec![segment(0, 5, half), segment(1, 0, half)],
                vec![segment(1, half, TESTED_TOGETHER)],
                vec![segment(1, half + TESTED_TOGETHER, half), segment(3, 1, 1)],
            ]
        );
        assert_eq!(parts(&[]), Vec::<Vec<Segment>>::new());
    }
}
