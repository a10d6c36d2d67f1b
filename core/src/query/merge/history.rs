//! The query of a consolidation: every version of every cell, with its write time and the delete that removed it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::gather::{FinalCells, cells};
use super::layer::SparseLayer;
use super::order::ResultOrder;
use super::{BoundDelete, Segment, SparseQuery, is_sorted};
use crate::array::{Array, Fragment, Window};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::format::fragment::slots::FieldId;
use crate::format::name;
use crate::format::schema::Layout;
use crate::query::Region;
use crate::query::region::Ranges;

/// The delete time of cells that were not deleted, and the index of their delete.
pub(crate) const NONE: u64 = u64::MAX;

/// The deletes that a consolidated fragment lists as processed: those that apply to its cells, and those that its
/// sources list.
#[derive(Debug, Default)]
pub(crate) struct ProcessedDeletes {
    /// The paths of the deletes, oldest first.
    pub(crate) names: Vec<String>,
    /// The index in `names` of each delete of the query.
    of_query: Vec<u64>,
    /// The index in `names` of each delete that a layer lists.
    of_layers: Vec<Vec<u64>>,
}

impl ProcessedDeletes {
    /// Requires that the index of the layers is loaded.
    fn new(array: &Array, layers: &[SparseLayer]) -> Self {
        let first_ms = layers.iter().map(|l| l.fragment.start_ms).min().unwrap_or(0);
        let deletes = array.deletes();
        let applied = deletes.iter().filter(|d| d.time_ms >= first_ms).map(|d| &d.path);
        let listed = layers.iter().flat_map(|l| l.fragment.index.conditions());
        let mut names: Vec<String> = applied.chain(listed).cloned().collect();
        names.sort_by(|a, b| (name::times(a), a).cmp(&(name::times(b), b)));
        names.dedup();
        let places: HashMap<&str, u64> = names.iter().map(String::as_str).zip(0..).collect();
        let place = |name: &String| places.get(name.as_str()).copied().unwrap_or(NONE);
        let of_layer = |l: &SparseLayer| l.fragment.index.conditions().iter().map(place).collect();
        Self {
            of_query: deletes.iter().map(|d| place(&d.path)).collect(),
            of_layers: layers.iter().map(of_layer).collect(),
            names,
        }
    }
}

impl SparseQuery {
    /// Resolves the cells that a consolidation of `run`, oldest first, keeps: all versions, newest first and with their
    /// write times, or only the newest one of the cells with the same coordinates. The fields are in the order of the
    /// slots of a fragment.
    ///
    /// # Errors
    /// The schema has too many dimensions for the Hilbert curve.
    pub(crate) fn history(array: &Array, run: &[Arc<Fragment>], newest_only: bool) -> Result<Self> {
        let schema = array.schema();
        let dimensions = schema
            .dimensions
            .iter()
            .enumerate()
            .map(|(i, d)| Field::dimension(d, i));
        let mut attributes: Vec<Field> = (schema.attributes.iter().enumerate())
            .map(|(i, a)| Field::attribute(a, i))
            .collect();
        let mut fields: Vec<Field> = attributes.iter().cloned().chain(dimensions).collect();
        if !newest_only {
            fields.push(Field::special(FieldId::Timestamps));
        }
        attributes.extend([FieldId::DeleteTimestamps, FieldId::DeleteConditions].map(Field::special));

        let order = ResultOrder::new(schema, Layout::Global)?;
        // Without bounds of tiles, fragments are taken to be in order. The consolidation checks the result.
        let trusted = !order.corners || !schema.rounds_coordinates() && run.iter().all(|f| is_sorted(f));
        let order = order.trusting_files(trusted);
        let layer = |f| SparseLayer::new(f, &attributes, Window::ALL, array.deletes(), true);
        let (order, layers) = if newest_only {
            (order, run.iter().map(layer).collect())
        } else {
            // If two versions have the same time, the one in the later fragment comes first.
            (order.newest_first(), run.iter().rev().map(layer).collect())
        };
        Ok(Self {
            ranges: Ranges::new(&Region::all(), schema)?,
            schema: Arc::clone(schema),
            window: Window::ALL,
            order: Some(Arc::new(order)),
            dedup: newest_only,
            eager: true,
            fields,
            attributes,
            condition: None,
            deletes: BoundDelete::all(array),
            processed: ProcessedDeletes::default(),
            layers,
            row_bytes: OnceLock::new(),
        })
    }

    /// Skips the deletes that the fragments list as processed, and keeps them in the list. The index must be loaded.
    ///
    /// # Errors
    /// Those of [`SparseQuery::skip_processed`].
    pub(crate) fn take_over_processed(&mut self, array: &Array) -> Result<()> {
        self.processed = ProcessedDeletes::new(array, &self.layers);
        self.skip_processed(array)
    }
}

impl FinalCells {
    /// The columns of a history. If there are deletes, the time at which each cell was deleted and the index of the
    /// delete follow.
    ///
    /// # Errors
    /// Never fails: its jobs return no errors.
    pub(crate) fn versions(&self, query: &SparseQuery, cpu: Cpu) -> Result<Vec<Column>> {
        let column = |field: &Field| Ok::<_, Error>(self.column(query, &self.segments, field));
        let mut columns = cpu.try_map(&query.fields, column)?;
        if !query.processed.names.is_empty() {
            let removed = self.in_parts(cpu, |part| self.removed(query, part))?;
            let (times, deletes): (Vec<Vec<u64>>, Vec<Vec<u64>>) = removed.into_iter().unzip();
            columns.extend([times, deletes].map(|v| Column::from_values(Datatype::Uint64, &v.concat())));
        }
        Ok(columns)
    }

    /// When each of these cells was deleted, and the index of the delete: the earliest one at or after its write.
    fn removed(&self, query: &SparseQuery, segments: &[Segment]) -> (Vec<u64>, Vec<u64>) {
        let count = cells(segments);
        let stored = |id| self.column(query, segments, &Field::special(id));
        let numbers = |id| {
            stored(id)
                .values::<u64>()
                .map_or_else(|_| vec![NONE; count], |v| v.into_owned())
        };
        let mut times = numbers(FieldId::DeleteTimestamps);
        let mut by = numbers(FieldId::DeleteConditions);
        let mut rest = by.as_mut_slice();
        for s in segments {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(s.len as usize);
            rest = after;
            let layer = self
                .runs
                .get(s.run as usize)
                .and_then(|r| query.processed.of_layers.get(r.layer));
            let of = |own: u64| layer.zip(usize::try_from(own).ok()).and_then(|(l, own)| l.get(own));
            part.iter_mut().for_each(|own| *own = of(*own).copied().unwrap_or(NONE));
        }
        let columns = self.columns(query, segments, &query.tested());
        let place = |k: usize| query.processed.of_query.get(k).copied().unwrap_or(NONE);
        let mut deletes: Vec<_> = query.deletes.iter().map(|d| d.time_ms).enumerate().collect();
        deletes.sort_by_key(|&(k, time)| (time, place(k)));
        for (k, time) in deletes {
            let keep = self.kept_by(query, segments, &columns, k).unwrap_or_default();
            for ((keep, removed), by) in keep.into_iter().zip(&mut times).zip(&mut by) {
                if keep == 0 && time < *removed {
                    (*removed, *by) = (time, place(k));
                }
            }
        }
        (times, by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::block_on;
    use crate::datatype::CellCount;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Attribute, Schema};
    use crate::maintain::{ConsolidateOptions, Mode, consolidate, delete};
    use crate::write::{Cells, WriteOptions};
    use crate::{Context, CreateOptions, OpenOptions};

    fn at(timestamp_ms: u64) -> WriteOptions {
        WriteOptions {
            timestamp_ms,
            seed: [timestamp_ms as u8; 32],
            sync: false,
        }
    }

    fn open(context: &Context) -> Array {
        block_on(Array::open(context, "a", &OpenOptions::default())).unwrap()
    }

    /// Writes cells whose value is their place.
    fn write(context: &Context, time: u64, places: &[i32]) {
        let column = |name: &str| (name.to_owned(), Column::from_values(Datatype::Int32, places));
        let cells = Cells {
            region: None,
            layout: Layout::Unordered,
            columns: vec![column("x"), column("v")],
        };
        block_on(open(context).write(cells, &at(time))).unwrap();
    }

    fn delete_where(context: &Context, time: u64, condition: &str) {
        let condition = condition.parse().unwrap();
        block_on(delete(&open(context), &condition, &at(time))).unwrap();
    }

    fn consolidate_all(context: &Context) {
        let options = ConsolidateOptions::new(Mode::Fragments);
        assert_eq!(
            block_on(consolidate(&open(context), &options, &at(99)))
                .unwrap()
                .written
                .len(),
            1
        );
    }

    /// The place, the write time, the time of the delete and the timestamp in the name of the delete, by version.
    fn history(context: &Context) -> Vec<(i32, u64, u64, Option<u64>)> {
        let array = open(context);
        let mut query = SparseQuery::history(&array, array.fragments(), false).unwrap();
        block_on(crate::array::sections::load_index(&array, &query.index())).unwrap();
        query.take_over_processed(&array).unwrap();
        let (mut stream, query) = (query.merge_stream().unwrap(), Arc::new(query));
        block_on(array.load(&query, &mut stream, u64::MAX)).unwrap();
        let segments = stream.take(u64::MAX, 1);
        let columns = FinalCells::new(stream.runs.clone(), segments)
            .versions(&query, Cpu::Inline)
            .unwrap();
        let [_, x, times, deleted, by] = &columns[..] else {
            panic!("{} columns", columns.len())
        };
        let numbers = |c: &Column| c.values::<u64>().unwrap().into_owned();
        let delete = |by: u64| Some(name::times(query.processed.names.get(by as usize)?)?.0);
        let versions = x.values::<i32>().unwrap().into_owned().into_iter().zip(numbers(times));
        let deletes = numbers(deleted).into_iter().zip(numbers(by));
        versions
            .zip(deletes)
            .map(|((x, t), (d, by))| (x, t, d, delete(by)))
            .collect()
    }

    #[test]
    fn the_earliest_delete_at_or_after_a_write_counts_and_keeps_its_name() {
        let context = Context::memory();
        let dimension = Dimension::new("x", Datatype::Int32, 0, 99, 50);
        let attribute = Attribute::new("v", Datatype::Int32, CellCount::ONE);
        let schema = Schema::new(ArrayType::Sparse, vec![dimension], vec![attribute]);
        let options = CreateOptions {
            timestamp_ms: 1,
            seed: [1; 32],
            key: None,
        };
        block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
        delete_where(&context, 2, "v < 50");
        write(&context, 3, &[1, 7, 20]);
        delete_where(&context, 4, "v < 5");
        write(&context, 5, &[1, 7, 30]);
        let expected = [
            (1, 5, NONE, None),
            (1, 3, 4, Some(4)),
            (7, 5, NONE, None),
            (7, 3, NONE, None),
            (20, 3, NONE, None),
            (30, 5, NONE, None),
        ];
        assert_eq!(history(&context), expected);
        consolidate_all(&context);
        // An older fragment, before which the deletes get other indices, and a delete between the merged writes.
        write(&context, 2, &[60]);
        delete_where(&context, 3, "v > 5 and v < 8");
        delete_where(&context, 7, "v < 10");
        delete_where(&context, 8, "v < 25");
        let expected = [
            (1, 5, 7, Some(7)),
            (1, 3, 4, Some(4)),
            (7, 5, 7, Some(7)),
            (7, 3, 3, Some(3)),
            (20, 3, 8, Some(8)),
            (30, 5, NONE, None),
            (60, 2, NONE, None),
        ];
        assert_eq!(history(&context), expected);
        consolidate_all(&context);
        assert_eq!(history(&context), expected);
    }
}
