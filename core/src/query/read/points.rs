//! Reads single cells of dense arrays.

use std::sync::Arc;

use crate::array::Array;
use crate::array::sections::load_index;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::query::dense::DenseQuery;
use crate::query::dense::points::Points;
use crate::query::dense::result::buffers::{RecycledColumns, ResultBuffers};
use crate::query::{Batch, Query, Region};

impl Array {
    /// Reads single cells of a dense array, in the given order. `coordinates` has one column per dimension. `fields`
    /// names attributes with fixed-size cells; `None` reads all attributes.
    ///
    /// This is far cheaper than one read per cell, because cells of the same tile are fetched and decoded together.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the array is sparse, if the coordinates do not fit the schema or are outside the
    /// domain, or if an attribute has variable-length cells. Also those of [`Array::read`].
    pub async fn read_points(&self, fields: Option<Vec<String>>, coordinates: &[Column]) -> Result<Batch> {
        let schema = self.schema();
        if !schema.is_dense() {
            return Err(Error::invalid("the array is sparse; read a region instead of points"));
        }
        let everywhere = Query {
            fields,
            ..Query::default()
        };
        let whole = DenseQuery::new(self, &everywhere, None)?;
        let offsets = whole.offsets(coordinates)?;
        if let Some(f) = whole.fields.iter().find(|f| f.cell.is_var() || f.is_dimension()) {
            let why = "points can only be read from attributes with fixed-size cells; read a region instead";
            return Err(Error::invalid(format!("field '{}': {why}", f.name)));
        }
        let cells = offsets.first().map_or(0, Vec::len);
        let mut result_buffers = ResultBuffers::new(&whole.attributes, cells, &mut RecycledColumns::default())?;
        if let Some(bounds) = Points::bounds(&offsets) {
            let region = Region::from_box(whole.grid.ranges(&bounds));
            let query = Arc::new(DenseQuery::new(self, &Query { region, ..everywhere }, None)?);
            load_index(self, &query.index()).await?;
            let cpu = self.context().cpu;
            let (grid, layers) = (query.grid.clone(), query.layers.clone());
            let (points, plan, runs) = cpu
                .run(move || {
                    let points = Points::new(&grid, &offsets);
                    let (plan, runs) = points.plan(&grid, &layers)?;
                    Ok((points, plan, runs))
                })
                .await?;
            result_buffers = self
                .assemble_plan(&query, result_buffers, 0, &Arc::new(plan), Some(Arc::new(runs)))
                .await?;
            if !query.overlays.is_empty() {
                let spans: Vec<_> = bounds.iter().map(|s| vec![*s]).collect();
                let over = self.overlay_cells(&query, &spans).await?;
                query.overlay(&mut result_buffers, 0, &over, &|cell, out| {
                    points.places(cell, |to| out.push(to))
                });
            }
        }
        let columns = whole
            .fields
            .iter()
            .map(|f| f.name.clone())
            .zip(result_buffers.into_columns());
        Ok(Batch {
            columns: columns.collect(),
            cells: cells as u64,
            shape: None,
            region: None,
        })
    }
}
