//! Counts and aggregates cells. Statistics answer for tiles that are entirely inside the region and whose cells all
//! count; other tiles are read. The cells outside of all fragments are not visited, because they are all the same.

use super::{PART_BYTES, State};
use crate::array::{Array, Fragment};
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::format::schema::Layout;
use crate::query::aggregate::{Accumulator, Aggregate, Summary};
use crate::query::condition::field_name;
use crate::query::dense::DenseQuery;
use crate::query::dense::written::Written;
use crate::query::merge::whole::WholeTiles;
use crate::query::summary::{StatisticsQuery, is_count};
use crate::query::tally::{Needs, tally};
use crate::query::{Batch, Condition, Query};
use crate::scalar::Scalar;

impl Array {
    /// Counts the cells that the query selects.
    ///
    /// # Errors
    /// Those of [`Array::read`].
    pub async fn count(&self, query: &Query) -> Result<u64> {
        let bytes_max = self.part_bytes().min(query.batch_bytes);
        let query = Query {
            fields: Some(Vec::new()),
            order: self.counting_order(query),
            ..query.clone()
        };
        if self.schema().is_dense() && query.condition.is_some() {
            return self.count_matching(&query).await;
        }
        match self.start(&query).await? {
            State::Dense(query, boxes) => self.count_dense(&query, boxes).await,
            State::Sparse(query, mut merge_stream) => {
                let (whole, mut known) = (WholeTiles::new(&query), 0);
                merge_stream.leave_out(|candidate, cells| {
                    let is_whole = whole.contains(candidate);
                    known += if is_whole { cells } else { 0 };
                    is_whole
                });
                Ok(known + self.count_sparse(&query, merge_stream, bytes_max).await?)
            }
            State::New | State::Done => Err(Error::Cancelled),
        }
    }

    /// Counts the cells of a dense array that satisfy the query's condition.
    async fn count_matching(&self, query: &Query) -> Result<u64> {
        let written = self.written(query)?;
        let mut count = match written.unwritten {
            0 => 0,
            cells => match self.unwritten_cell(query).await?.1.as_deref() {
                Some([1]) => cells,
                _ => 0,
            },
        };
        for region in written.regions {
            let query = Query {
                region,
                ..query.clone()
            };
            if let State::Dense(resolved, boxes) = self.start(&query).await? {
                count += self.count_dense(&resolved, boxes).await?;
            }
        }
        Ok(count)
    }

    /// Aggregates the cells that the query selects, each aggregate over one field. The query's own list of fields is
    /// ignored. An aggregate is `None` if there is no value. Tiles are not read if their statistics suffice.
    ///
    /// The aggregates cover the same cells that a read returns. In dense arrays, a cell that was never written counts
    /// with its fill value, or as null. Libtiledb counts such cells too, but leaves them out of sums, extremes and null
    /// counts. It also leaves them out of the sum of a mean, though not always out of its count. Once consolidation has
    /// written their fill values, libtiledb includes them. Consolidation therefore changes its results, but not these.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
    /// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 1, 2, 3, 4, 5, 6, 7]) };
    /// # array.write(cells, &at(10)).await?;
    /// let array = array.at(Window::ALL).await?;
    /// let found = array.aggregate(&Query::default(), &[(Aggregate::Max, "a"), (Aggregate::Mean, "a")]).await?;
    /// assert_eq!(found, [Some(Scalar::I32(7)), Some(Scalar::F64(3.5))]);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Array::read`], and [`Error::InvalidArgument`] for an aggregate that is not defined for a field's
    /// type.
    pub async fn aggregate(&self, query: &Query, wanted: &[(Aggregate, &str)]) -> Result<Vec<Option<Scalar>>> {
        let named = |&(aggregate, name): &(Aggregate, &str)| Ok((aggregate, Field::named(self.schema(), name)?));
        let wanted: Vec<(Aggregate, Field)> = wanted.iter().map(named).collect::<Result<_>>()?;
        let accumulator = |(aggregate, field): &(Aggregate, Field)| Accumulator::new(*aggregate, field);
        let mut all: Vec<Accumulator> = wanted.iter().map(accumulator).collect::<Result<_>>()?;
        if wanted.iter().all(|(aggregate, field)| is_count(*aggregate, field)) {
            let count = Summary::of_cells(self.count(query).await?);
            all.iter_mut().for_each(|a| a.add_summary(&count));
        } else if self.schema().is_dense() {
            let written = self.written(query)?;
            for region in written.regions {
                let query = Query {
                    region,
                    ..query.clone()
                };
                self.accumulate(&query, &wanted, &mut all).await?;
            }
            if written.unwritten > 0 {
                self.add_unwritten(query, written.unwritten, &wanted, &mut all).await?;
            }
        } else {
            self.accumulate(query, &wanted, &mut all).await?;
        }
        Ok(all.into_iter().map(Accumulator::finish).collect())
    }

    /// The written regions of a query of a dense array.
    fn written(&self, query: &Query) -> Result<Written> {
        let fields = query.condition.iter().flat_map(Condition::fields);
        let mut names = fields.map(|name| field_name(self.schema(), name));
        let tests_dimensions = names.any(|name| self.schema().attribute(name).is_none());
        Written::of(self, &query.region, tests_dimensions)
    }

    /// The query's fields in a cell that nobody wrote, and a mask with 1 if it satisfies the condition.
    async fn unwritten_cell(&self, query: &Query) -> Result<(Batch, Option<Vec<u8>>)> {
        let condition = self.bind_query(query).await?;
        // Queries in global order do not accept several ranges of a dimension.
        let query = Query {
            order: Layout::Unordered,
            ..query.clone()
        };
        Ok(DenseQuery::new(self, &query, condition)?.unwritten_cell())
    }

    /// Adds cells that nobody wrote.
    async fn add_unwritten(
        &self,
        query: &Query,
        cells: u64,
        wanted: &[(Aggregate, Field)],
        all: &mut [Accumulator],
    ) -> Result<()> {
        let query = Query {
            fields: Some(names(wanted)),
            ..query.clone()
        };
        let (batch, mask) = self.unwritten_cell(&query).await?;
        add(&batch, mask.as_deref(), cells, wanted, all, Cpu::Inline);
        Ok(())
    }

    /// Global order if possible, so that tiles can be skipped. It requires at most one range per dimension.
    fn counting_order(&self, query: &Query) -> Layout {
        let by_tile = self.schema().is_dense() && query.region.0.iter().all(|ranges| ranges.len() < 2);
        if by_tile { Layout::Global } else { Layout::Unordered }
    }

    async fn accumulate(&self, query: &Query, wanted: &[(Aggregate, Field)], all: &mut [Accumulator]) -> Result<()> {
        let query = Query {
            fields: Some(names(wanted)),
            order: self.counting_order(query),
            batch_bytes: PART_BYTES,
            ..query.clone()
        };
        let sections = |fragment: &Fragment| {
            let questions = wanted.iter().filter_map(|(a, f)| StatisticsQuery::new(*a, f, fragment));
            questions.flat_map(|q| q.sections()).collect()
        };
        match self.start_with(&query, &sections).await? {
            State::Dense(resolved, mut boxes) => {
                let asked: Vec<_> = resolved.layers.iter().map(|l| questions(wanted, &l.fragment)).collect();
                let cells = resolved.grid.tile_cells();
                loop {
                    let is_known = |tile: &[u64]| {
                        if resolved.excludes(tile) {
                            return true;
                        }
                        let (Some((layer, number)), Some(cells)) = (resolved.only_source(tile), cells) else {
                            return false;
                        };
                        answer(asked.get(layer), number, cells, all)
                    };
                    let Some(dense) = boxes.next_but(&resolved, is_known)? else {
                        return Ok(());
                    };
                    let (batch, mask) = self.read_box(&resolved, dense).await?;
                    add(&batch, mask.as_deref(), 1, wanted, all, self.context().cpu);
                }
            }
            State::Sparse(resolved, mut merge_stream) => {
                let asked: Vec<_> = resolved.layers.iter().map(|l| questions(wanted, &l.fragment)).collect();
                let whole = WholeTiles::new(&resolved);
                merge_stream.leave_out(|candidate, cells| {
                    whole.contains(candidate) && answer(asked.get(candidate.layer), candidate.tile, cells, all)
                });
                while let Some(batch) = self
                    .next_sparse(&resolved, &mut merge_stream, self.part_bytes())
                    .await?
                {
                    add(&batch, None, 1, wanted, all, self.context().cpu);
                }
                Ok(())
            }
            State::New | State::Done => Err(Error::Cancelled),
        }
    }
}

/// The names of the aggregated fields, without duplicates.
fn names(wanted: &[(Aggregate, Field)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, field) in wanted {
        if !names.contains(&field.name) {
            names.push(field.name.clone());
        }
    }
    names
}

/// The questions for a fragment's statistics; `None` if they cannot answer all of them.
fn questions<'a>(wanted: &'a [(Aggregate, Field)], fragment: &'a Fragment) -> Option<Vec<StatisticsQuery<'a>>> {
    wanted
        .iter()
        .map(|(a, f)| StatisticsQuery::new(*a, f, fragment))
        .collect()
}

/// Adds a tile by its statistics, if they answer every question.
fn answer(asked: Option<&Option<Vec<StatisticsQuery<'_>>>>, tile: u64, cells: u64, all: &mut [Accumulator]) -> bool {
    let Some(Some(questions)) = asked else { return false };
    let summaries: Option<Vec<Summary>> = questions.iter().map(|q| q.answer(tile, cells)).collect();
    let Some(summaries) = summaries else { return false };
    for (accumulator, summary) in all.iter_mut().zip(&summaries) {
        accumulator.add_summary(summary);
    }
    true
}

/// Adds cells that were read, each this many times. Each field is summarized once, for all of its aggregates.
fn add(
    batch: &Batch,
    mask: Option<&[u8]>,
    times: u64,
    wanted: &[(Aggregate, Field)],
    all: &mut [Accumulator],
    cpu: Cpu,
) {
    for (name, column) in &batch.columns {
        let is_own = |(_, field): &&(Aggregate, Field)| field.name == *name;
        let needs = Needs::of(wanted.iter().filter(is_own).map(|(aggregate, _)| *aggregate));
        for summary in tally(column, mask, needs, cpu) {
            let summary = summary.times(times);
            let own = all.iter_mut().zip(wanted).filter(|(_, wanted)| is_own(wanted));
            own.for_each(|(accumulator, _)| accumulator.add_summary(&summary));
        }
    }
}
