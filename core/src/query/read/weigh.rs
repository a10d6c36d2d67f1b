//! Computes the effect of a delete on existing cells before it is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::array::Array;
use crate::error::{AtPath, Result};
use crate::format::condition::StoredCondition;
use crate::format::field::Field;
use crate::format::schema::Layout;
use crate::query::Query;
use crate::query::condition::{Bound, bind_stored};
use crate::query::merge::gather::FinalCells;
use crate::query::merge::{Segment, SparseQuery};
use crate::scalar::{Scalar, ScalarRange};

/// The most cells whose coordinates are kept.
const REMEMBERED_MAX: usize = 1 << 18;

/// The coordinates of cells.
#[derive(Debug, Default)]
pub(crate) struct Coordinates {
    /// Number of cells.
    pub(crate) count: u64,
    /// Their coordinates, one value per dimension. Incomplete if there are more cells than are kept.
    pub(crate) cells: Vec<Vec<Scalar>>,
    /// The box around all cells.
    pub(crate) bounds: Option<Vec<ScalarRange>>,
}

impl Coordinates {
    /// Whether the coordinates of every cell are kept.
    pub(crate) fn is_complete(&self) -> bool {
        self.cells.len() as u64 == self.count
    }

    fn add(&mut self, cell: Vec<Scalar>) {
        self.count += 1;
        let point = cell.iter().map(|v| ScalarRange::new(v.clone(), v.clone()));
        self.bounds = Some(match self.bounds.take() {
            Some(bounds) => bounds.iter().zip(point).map(|(a, b)| a.union(&b)).collect(),
            None => point.collect(),
        });
        if self.cells.len() < REMEMBERED_MAX {
            self.cells.push(cell);
        }
    }
}

/// The effect of a delete on existing cells.
#[derive(Debug, Default)]
pub(crate) struct DeleteEffect {
    /// The number of cells that meet its condition, by fragment name.
    pub(crate) fragments: BTreeMap<String, u64>,
    /// The cells that meet its condition.
    pub(crate) met: Coordinates,
    /// Cells that do not meet it but that the stored condition would also remove.
    pub(crate) others: Coordinates,
    /// The number of cells that meet it but that the stored condition would keep.
    pub(crate) missed: u64,
}

impl Array {
    /// Computes the effect on a sparse array of deleting the cells that meet `condition`, if the delete is stored as
    /// `keep`.
    ///
    /// # Errors
    /// Those of [`Array::read`].
    pub(crate) async fn delete_effect(&self, condition: &Bound, keep: &StoredCondition) -> Result<DeleteEffect> {
        let schema = self.schema();
        let keep = bind_stored(keep, schema).at(self.path())?;
        let dimensions = schema.dimensions.iter().map(|d| d.name.as_str());
        let mut names: Vec<String> = Vec::new();
        for name in dimensions.chain(condition.fields()).chain(keep.fields()) {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        }
        let query = Query {
            fields: Some(names),
            order: Layout::Unordered,
            ..Query::default()
        };
        let none = |_: &_| Vec::new();
        let (query, mut merge_stream) = self.start_sparse(&query, None, self.fragments(), &[], &none).await?;
        let (attributes, bytes) = (Vec::from_iter(0..query.attributes.len()), self.part_bytes());
        let (condition, keep) = (Arc::new(condition.clone()), Arc::new(keep));
        let mut effect = DeleteEffect::default();
        while let Some(chunk) = self.next_chunk(&query, &mut merge_stream, bytes).await? {
            let (chunk, decoding) = self.decode_chunk(&query, chunk, &attributes).await?;
            let (query, condition, keep) = (Arc::clone(&query), Arc::clone(&condition), Arc::clone(&keep));
            let weigh = move || {
                effect.take(&chunk, &query, &condition, &keep)?;
                Ok(effect)
            };
            effect = decoding.cpu.run(weigh).await?;
        }
        Ok(effect)
    }
}

impl DeleteEffect {
    fn take(&mut self, chunk: &FinalCells, query: &SparseQuery, condition: &Bound, keep: &Bound) -> Result<()> {
        let weighed = chunk.weigh(query, condition, keep);
        self.missed += weighed.missed;
        for segment in &weighed.met {
            if let Some((_, layer)) = chunk.layer(query, segment.run) {
                *self.fragments.entry(layer.fragment.name.clone()).or_default() += u64::from(segment.len);
            }
        }
        for (segments, coordinates) in [(&weighed.met, &mut self.met), (&weighed.others, &mut self.others)] {
            each_cell(chunk, query, segments, |cell| coordinates.add(cell))?;
        }
        Ok(())
    }
}

/// Calls `take` with the coordinates of each of these cells.
fn each_cell(
    chunk: &FinalCells,
    query: &SparseQuery,
    segments: &[Segment],
    mut take: impl FnMut(Vec<Scalar>),
) -> Result<()> {
    let fields = query
        .schema
        .dimensions
        .iter()
        .map(|d| Field::named(&query.schema, &d.name));
    let columns = fields.map(|field| Ok(chunk.column(query, segments, &field?)));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    for i in 0..columns.first().map_or(0, |c| c.len()) {
        let value = |column: &crate::Column| {
            let cell = column.cell(i);
            let number = Scalar::from_le_bytes(column.datatype.physical(), cell).filter(|_| !column.cell.is_var());
            number.unwrap_or_else(|| Scalar::Bytes(cell.to_vec()))
        };
        take(columns.iter().map(value).collect());
    }
    Ok(())
}
