//! Plans splits: loads the parts of indexes that the cuts depend on.

use crate::array::Array;
use crate::array::sections::load_index;
use crate::error::{Error, Result};
use crate::query::Query;
use crate::query::dense::DenseQuery;
use crate::query::merge::SparseQuery;
use crate::query::splits::{Split, cut_dense, cut_sparse};

impl Array {
    /// Divides a query into disjoint splits of about `target_bytes` bytes each, for threads or processes. Together they
    /// have the cells of the query, in no particular order of splits; each split has its cells in the query's order. Cells
    /// that the query's ranges select twice may be in two splits. See [`Array::part`].
    ///
    /// Splits are boxes of coordinates whose edges follow tiles. A split is larger than the target if it is a single
    /// tile, or if its tiles overlap so much that a cut would not reduce them. Tiles outside the region are left out,
    /// and so are tiles whose statistics exclude the condition. Dense splits with a condition thus lack some
    /// cells that do not meet it; [`Array::read`] returns fill values for them. A query without tiles has no splits.
    ///
    /// Planning reads R-trees and, with a condition, statistics, as far as they are not in memory.
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
    /// # let columns = vec![("a".to_owned(), Column::from_values(Datatype::Int32, &[0, 1, 2, 3, 4, 5, 6, 7]))];
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns };
    /// # array.write(cells, &WriteOptions { timestamp_ms: 10, seed: [2; 32], sync: false }).await?;
    /// # let array = array.at(Window::ALL).await?;
    /// let splits = array.plan_splits(&Query::default(), 16).await?;
    /// assert_eq!(splits[0].query().region, Region::from_box(vec![ScalarRange::new(0, 3)]));
    /// assert_eq!((splits.len(), splits[1].bytes()), (2, 16));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the query does not fit the schema or `target_bytes` is 0.
    /// [`Error::LimitExceeded`] for more than a million splits, eight million ranges in all splits, or four million tiles of
    /// a sparse array. [`Error::Corrupt`] and [`Error::Io`] name the file.
    pub async fn plan_splits(&self, query: &Query, target_bytes: u64) -> Result<Vec<Split>> {
        if target_bytes == 0 {
            return Err(Error::invalid("the size of a split is 0 bytes; give at least 1"));
        }
        let condition = self.bind_query(query).await?;
        let pieces = if self.schema().is_dense() {
            let resolved = DenseQuery::new(self, query, condition)?;
            load_index(self, &resolved.tests()).await?;
            let cut = move || cut_dense(&resolved, target_bytes);
            self.context().cpu.run(cut).await?
        } else {
            let resolved = SparseQuery::new(self, query, condition, self.fragments())?;
            load_index(self, &resolved.bounds()).await?;
            let (array, query) = (self.clone(), query.clone());
            let cut = move || cut_sparse(&array, &query, &resolved, target_bytes);
            self.context().cpu.run(cut).await?
        };
        Ok(pieces.into_iter().map(|piece| Split::new(self, query, piece)).collect())
    }
}
