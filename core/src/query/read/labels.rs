//! Dimension labels: finds the coordinates whose labels are in a range.

use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::dimension_label::DimensionLabel;
use crate::query::{Query, Region};
use crate::scalar::{Scalar, ScalarRange};
use crate::suggest;
use crate::vfs::join;

impl Array {
    /// The coordinates of the labelled dimension whose labels are in `range`, as ascending closed ranges. Ordered
    /// labels give at most one range. Only labels written in the array's time window count.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such label. [`Error::Unsupported`] if the label is stored in a separate
    /// array. Also errors from reading.
    pub async fn labelled(&self, label: &str, range: &ScalarRange) -> Result<Vec<ScalarRange>> {
        let label = find(self, label)?;
        if label.external || !label.relative {
            return Err(Error::Unsupported(format!(
                "the label '{}' is stored in a separate array, {}; open it and select by coordinates",
                label.name, label.uri
            )));
        }
        let labels = self.open_label(label).await?;
        let Some(written) = labels.non_empty_domain() else {
            return Ok(Vec::new());
        };
        let first = written.first().and_then(|r| r.lo.as_i128()).unwrap_or(0);
        let query = Query {
            region: Region::from_box(written),
            fields: Some(vec![label.attribute.clone()]),
            ..Query::default()
        };
        let batch = labels.read(&query).await?;
        let Some((_, column)) = batch.columns.first() else {
            return Ok(Vec::new());
        };
        let inside = |i: usize| {
            let bytes = column.cell(i);
            let value = match column.cell.is_var() {
                true => Some(Scalar::Bytes(bytes.to_vec())),
                false => Scalar::from_le_bytes(column.datatype.physical(), bytes),
            };
            value.is_some_and(|v| range.contains(&v))
        };
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for i in (0..column.len()).filter(|&i| inside(i)) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == i => *last = i,
                _ => runs.push((i, i)),
            }
        }
        let dimension = usize::try_from(label.dimension).ok();
        let dimension = dimension.and_then(|d| self.schema().dimensions.get(d));
        let at = |i: usize| Scalar::from_i128(dimension?.datatype, first + i as i128);
        let range = |(lo, hi): (usize, usize)| {
            Some(ScalarRange {
                lo: at(lo)?,
                hi: at(hi)?,
            })
        };
        Ok(runs.into_iter().filter_map(range).collect())
    }

    /// Opens the array of a label, which must be part of this array.
    pub(super) async fn open_label(&self, label: &DimensionLabel) -> Result<Self> {
        Self::open(self.context(), &join(self.path(), &label.uri), &self.0.options).await
    }
}

fn find<'a>(array: &'a Array, name: &str) -> Result<&'a DimensionLabel> {
    let labels = &array.schema().labels;
    labels.iter().find(|l| l.name == name).ok_or_else(|| {
        let known: Vec<&str> = labels.iter().map(|l| l.name.as_str()).collect();
        Error::not_found(array.path(), suggest::unknown("dimension label", name, &known))
    })
}
