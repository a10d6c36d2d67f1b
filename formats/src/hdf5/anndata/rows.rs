//! A table of SOMA: its array, and its columns some rows at a time.

use std::ops::Range;

use anyhow::{Context as _, Result};
use hyperslab::schema::{Attribute, Enumeration};
use hyperslab::{Column, Datatype};
use serde_json::Value;

use super::soma;
use crate::{Length, NewArray};

/// The rows of a table, and how many of them were read.
pub(super) struct Rows {
    count: u64,
    next: u64,
}

impl Rows {
    /// The rows of a table of which nothing was read.
    pub(super) fn new(count: u64) -> Self {
        Self { count, next: 0 }
    }

    /// The array to make, with the name of the index that the table had.
    pub(super) fn array(
        &self,
        path: &str,
        attributes: Vec<Attribute>,
        enumerations: Vec<Enumeration>,
        index_name: Option<&str>,
    ) -> NewArray {
        let mut schema = soma::schema(&[(soma::JOINID, self.count, self.count)], attributes);
        schema.enumerations = enumerations.iter().map(Into::into).collect();
        let mut metadata = soma::metadata("SOMADataFrame");
        let index_name = Value::from(index_name).to_string();
        metadata.push(soma::text("soma_dataframe_original_index_name", &index_name));
        NewArray {
            path: path.to_owned(),
            schema,
            enumerations,
            metadata,
            length: Length::Rows(Some(self.count)),
        }
    }

    /// The next `rows` rows at most, with their numbers. Each column has its name, and what reads a range of its rows.
    ///
    /// # Errors
    /// A column cannot be read.
    pub(super) fn read<R: FnOnce(Range<u64>) -> Result<Column>>(
        &mut self,
        rows: u64,
        columns: impl IntoIterator<Item = (String, R)>,
    ) -> Result<Option<Vec<(String, Column)>>> {
        let range = self.next..self.count.min(self.next.saturating_add(rows));
        if range.is_empty() {
            return Ok(None);
        }
        let ids: Vec<i64> = range.clone().map(i64::try_from).collect::<Result<_, _>>()?;
        let mut out = vec![(soma::JOINID.to_owned(), Column::from_values(Datatype::Int64, &ids))];
        for (name, read) in columns {
            let column = read(range.clone()).with_context(|| format!("cannot read the column '{name}'"))?;
            out.push((name, column));
        }
        self.next = range.end;
        Ok(Some(out))
    }
}
