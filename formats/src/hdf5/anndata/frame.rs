//! The tables `obs` and `var`.

use anyhow::{Result, bail, ensure};
use hyperslab::schema::{Attribute, Enumeration};
use hyperslab::{CellCount, Column, Datatype};

use super::file::{File, Values, integers};
use super::rows::Rows;
use super::soma;
use crate::NewArray;

/// The most names of a category.
const CATEGORIES_MAX: u64 = 1 << 24;

/// A table that is read.
pub(super) struct Frame {
    columns: Vec<Field>,
    rows: Rows,
    /// The name of the index, if it has one.
    index_name: Option<String>,
}

/// A column of a table.
struct Field {
    name: String,
    values: Values,
    kind: Kind,
}

enum Kind {
    Plain,
    /// Whole numbers that stand for values; negative ones for no value.
    Codes {
        names: Column,
        ordered: bool,
    },
    /// Values of which some are missing.
    Masked(Values),
}

impl Frame {
    /// The table in a group, whose index becomes the column `key`. Also returns notes on columns that are left out.
    pub(super) fn new(file: &File, path: &str, key: &str) -> Result<(Self, Vec<String>)> {
        let index = file.text(path, "_index").unwrap_or_else(|| "_index".to_owned());
        let ids = file.required(&format!("{path}/{index}"), 1)?;
        let rows = ids.length();
        let mut columns = vec![Field {
            name: key.to_owned(),
            values: ids,
            kind: Kind::Plain,
        }];
        let order = file.attribute(path, "column-order").and_then(|a| a.read_strings().ok());
        let names = order.unwrap_or_else(|| file.members(path));
        let mut notes = Vec::new();
        for name in names.into_iter().filter(|n| *n != index) {
            let column = format!("{path}/{name}");
            let reserved = name == key || name == soma::JOINID || name.starts_with("__");
            let found = match reserved {
                true => Err(anyhow::anyhow!("SOMA reserves its name")),
                false => Field::new(file, &column, name, rows),
            };
            match found {
                Ok(field) => columns.push(field),
                Err(why) => notes.push(format!("the column '{column}' is left out: {why:#}")),
            }
        }
        let frame = Self {
            columns,
            rows: Rows::new(rows),
            index_name: Some(index).filter(|name| name != "_index" && name != "index"),
        };
        Ok((frame, notes))
    }

    /// The array to make.
    pub(super) fn array(&self, path: &str) -> NewArray {
        let attributes = self.columns.iter().map(Field::attribute).collect();
        let enumerations = self.columns.iter().filter_map(Field::enumeration).collect();
        self.rows
            .array(path, attributes, enumerations, self.index_name.as_deref())
    }

    /// The next rows.
    pub(super) fn read(&mut self, rows: u64) -> Result<Option<Vec<(String, Column)>>> {
        let columns = self.columns.iter();
        let columns = columns.map(|field| (field.name.clone(), |range| field.read(range)));
        self.rows.read(rows, columns)
    }
}

impl Field {
    fn new(file: &File, path: &str, name: String, rows: u64) -> Result<Self> {
        let (values, kind) = match file.text(path, "encoding-type").as_deref() {
            _ if !file.is_group(path) => (file.required(path, 1)?, Kind::Plain),
            Some("categorical") => {
                let names = file.required(&format!("{path}/categories"), 1)?;
                ensure!(names.length() <= CATEGORIES_MAX, "it has too many categories");
                let ordered = file
                    .attribute(path, "ordered")
                    .is_some_and(|a| a.raw_data.first().is_some_and(|b| *b != 0));
                let kind = Kind::Codes {
                    names: names.read(&[0..names.length()])?,
                    ordered,
                };
                (file.required(&format!("{path}/codes"), 1)?, kind)
            }
            Some("nullable-integer" | "nullable-boolean" | "nullable-string-array") => {
                let mask = file.required(&format!("{path}/mask"), 1)?;
                ensure!(
                    mask.length() == rows,
                    "its mask has {} rows instead of {rows}",
                    mask.length()
                );
                (file.required(&format!("{path}/values"), 1)?, Kind::Masked(mask))
            }
            other => bail!("its encoding {} is not supported", other.unwrap_or("without a name")),
        };
        ensure!(
            values.length() == rows,
            "it has {} rows instead of {rows}",
            values.length()
        );
        ensure!(
            values.cell == CellCount::ONE || values.datatype == Datatype::StringUtf8,
            "it has several values in a row"
        );
        Ok(Self { name, values, kind })
    }

    fn attribute(&self) -> Attribute {
        let (datatype, cell) = match self.kind {
            Kind::Codes { .. } => (Datatype::Int32, CellCount::ONE),
            _ => (self.values.datatype, self.values.cell),
        };
        let mut attribute = Attribute::new(&self.name, datatype, cell);
        attribute.nullable = true;
        attribute.filters = soma::filters();
        attribute.enumeration = self.enumeration().map(|e| e.name);
        attribute
    }

    fn enumeration(&self) -> Option<Enumeration> {
        let Kind::Codes { names, ordered } = &self.kind else {
            return None;
        };
        Some(Enumeration {
            name: format!("{}_U", self.name),
            file: String::new(),
            ordered: *ordered,
            values: names.clone(),
        })
    }

    fn read(&self, range: std::ops::Range<u64>) -> Result<Column> {
        let column = self.values.read(std::slice::from_ref(&range))?;
        let cells = column.len();
        match &self.kind {
            Kind::Plain => Ok(column.with_validity(vec![1; cells])),
            Kind::Masked(mask) => {
                let missing = mask.integers(range)?;
                Ok(column.with_validity(missing.iter().map(|m| u8::from(*m == 0)).collect()))
            }
            Kind::Codes { names, .. } => {
                let codes = integers(&column)?;
                let highest = names.len() as i64;
                ensure!(codes.iter().all(|c| *c < highest), "a code stands for no category");
                let validity = codes.iter().map(|c| u8::from(*c >= 0)).collect();
                let codes: Vec<i32> = codes.iter().map(|c| i32::try_from((*c).max(0)).unwrap_or(0)).collect();
                Ok(Column::from_values(Datatype::Int32, &codes).with_validity(validity))
            }
        }
    }
}
