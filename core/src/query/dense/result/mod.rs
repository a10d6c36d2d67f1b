//! Turns the assembled attributes of a box into the columns of the result: adds coordinates and applies the condition.

mod apply_mask;
pub(crate) mod buffers;
mod var_cells;

use self::apply_mask::apply_mask;
use super::DenseQuery;
use super::boxes::DenseBox;
use super::boxes::DenseOrder;
use super::pieces::length;
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::CellCount;
use crate::format::field::Field;
use crate::geometry::{Order, Span, region};
use crate::query::Batch;
use crate::query::condition::{TestColumn, evaluate};
use crate::query::fill::fill;

impl DenseQuery {
    /// Appends the coordinates along dimension `d` of a box's cells to `out`.
    pub(crate) fn coordinates(&self, d: usize, dense: &DenseBox, out: &mut Vec<u8>) {
        match self.order {
            DenseOrder::Major(order) => self.spread(d, &dense.spans, order, out),
            DenseOrder::Global => {
                for t in &dense.plan.tiles {
                    let region: Vec<Span> = dense.spans.iter().filter_map(|s| s.first().copied()).collect();
                    let Some(part) = region::intersect(&self.grid.tile_spans(&t.tile), &region) else {
                        continue;
                    };
                    let spans: Vec<Vec<Span>> = part.into_iter().map(|s| vec![s]).collect();
                    self.spread(d, &spans, self.grid.cell_order, out);
                }
            }
        }
    }

    fn spread(&self, d: usize, spans: &[Vec<Span>], order: Order, out: &mut Vec<u8>) {
        let lengths: Vec<u64> = spans.iter().map(|s| length(s)).collect();
        let inner: u64 = order
            .fast_to_slow(spans.len())
            .take_while(|&e| e != d)
            .map(|e| lengths[e])
            .product();
        let outer: u64 = order
            .slow_to_fast(spans.len())
            .take_while(|&e| e != d)
            .map(|e| lengths[e])
            .product();
        let axis = &self.grid.axes[d];
        let mut once = Vec::new();
        for span in &spans[d] {
            for offset in span.first..=span.last {
                let value = axis.coordinate(offset).to_le_bytes();
                let start = once.len();
                once.resize(start + value.len() * inner as usize, 0);
                fill(&mut once[start..], &value);
            }
        }
        out.reserve(once.len() * outer as usize);
        for _ in 0..outer {
            out.extend_from_slice(&once);
        }
    }

    /// Builds the result of these cells, and a mask with 1 for each cell that satisfies the condition. `coordinates`
    /// returns the column of a dimension. `attributes` come from the result.
    pub(crate) fn finish(
        &self,
        cells: usize,
        attributes: Vec<Column>,
        coordinates: &dyn Fn(usize) -> Vec<u8>,
        shape: Option<Vec<u64>>,
        spans: &[Vec<Span>],
        cpu: Cpu,
    ) -> (Batch, Option<Vec<u8>>) {
        let mut columns: Vec<Option<Column>> = attributes.into_iter().map(Some).collect();
        let mask = self.mask(cells, &columns, coordinates);
        if let Some(mask) = &mask {
            for (field, column) in self.attributes.iter().zip(&mut columns) {
                if let Some(column) = column {
                    apply_mask(column, field, mask, cpu);
                }
            }
        }
        let take = |f: &Field| {
            let column = match f.dimension_index() {
                Some(d) => dimension_column(f, coordinates(d)),
                None => self
                    .attribute_place(f)
                    .and_then(|place| columns.get_mut(place)?.take())
                    .unwrap_or_else(|| f.empty_column()),
            };
            (f.name.clone(), column)
        };
        let columns = self.fields.iter().map(take).collect();
        (
            Batch {
                columns,
                cells: cells as u64,
                shape,
                region: Some(self.region(spans)),
            },
            mask,
        )
    }

    /// A cell that nobody wrote, and its mask as of [`DenseQuery::finish`]. The condition must not test dimensions.
    pub(crate) fn unwritten_cell(&self) -> (Batch, Option<Vec<u8>>) {
        let columns = self.attributes.iter().map(Field::fill_column).collect();
        self.finish(1, columns, &|_| Vec::new(), None, &self.spans, Cpu::Inline)
    }

    /// A mask with 1 for each cell that satisfies the condition; `None` without a condition.
    fn mask(
        &self,
        cells: usize,
        attributes: &[Option<Column>],
        coordinates: &dyn Fn(usize) -> Vec<u8>,
    ) -> Option<Vec<u8>> {
        let condition = self.condition.as_ref()?;
        let dims: Vec<(usize, Column)> = condition
            .fields()
            .into_iter()
            .filter_map(|name| {
                let d = self.dimension_named(name)?;
                Some((d.0, dimension_column(&d.1, coordinates(d.0))))
            })
            .collect();
        let find = |name: &str| {
            let attribute = self
                .attributes
                .iter()
                .position(|a| a.name == name)
                .and_then(|i| attributes.get(i)?.as_ref());
            let column = attribute.or_else(|| {
                let d = self.dimension_named(name)?.0;
                dims.iter().find(|(i, _)| *i == d).map(|(_, c)| c)
            })?;
            Some(TestColumn { column, present: None })
        };
        Some(evaluate(condition, cells, &find))
    }

    fn dimension_named(&self, name: &str) -> Option<(usize, Field)> {
        let (d, dim) = self.dimensions.iter().enumerate().find(|(_, d)| d.name == name)?;
        if self.attributes.iter().any(|a| a.name == name) {
            return None;
        }
        Some((d, dim.clone()))
    }
}

fn dimension_column(field: &Field, data: Vec<u8>) -> Column {
    Column {
        datatype: field.datatype,
        cell: CellCount::ONE,
        data,
        offsets: None,
        validity: None,
    }
}
