//! The attributes that overviews hold, and how their values are combined.

use anyhow::{Result, ensure};
use hyperslab::conventions::{self, Dataset, Variable};
use hyperslab::schema::{Attribute, Schema};
use hyperslab::{CellCount, Datatype, with_type};

use crate::args::Method;
use crate::errors::usage;

/// An attribute of the overviews.
pub(super) struct Field {
    /// The attribute of the array.
    pub(super) attribute: Attribute,
    pub(super) method: Method,
    /// Values that mean "no data", in addition to the fill value.
    pub(super) nodata: Vec<f64>,
    /// The smallest and the largest valid value.
    pub(super) valid: [f64; 2],
    /// Whether the fill value counts as a value. The default fill value of one-byte types is often real data, such as
    /// white in an image.
    pub(super) fill_counts: bool,
}

impl Field {
    fn new(attribute: &Attribute, dataset: &Dataset, method: Option<Method>) -> Self {
        let means = dataset.variables.iter().find(|v| v.attribute == attribute.name);
        let missing = means.map(|v| v.missing.clone()).unwrap_or_default();
        let number = |v: &serde_json::Value| conventions::stored_number(v, attribute.datatype)?.as_f64();
        Self {
            method: method.unwrap_or_else(|| usual(attribute, means)),
            nodata: missing.values.iter().filter_map(number).collect(),
            valid: [
                missing.valid_min.as_ref().and_then(number).unwrap_or(f64::NEG_INFINITY),
                missing.valid_max.as_ref().and_then(number).unwrap_or(f64::INFINITY),
            ],
            fill_counts: attribute.datatype.size() == 1 && attribute.fill == attribute.datatype.default_fill(),
            attribute: attribute.clone(),
        }
    }

    /// The value of a cell of an overview if none of the array's cells in it has a value.
    pub(super) fn empty(&self) -> Vec<u8> {
        match self.nodata.first().filter(|_| self.fill_counts) {
            Some(nodata) => {
                with_type!(self.attribute.datatype.physical(), T => (*nodata as T).to_le_bytes().to_vec())
            }
            None => self.attribute.fill.clone(),
        }
    }
}

/// Numbers that name classes have no mean.
fn usual(attribute: &Attribute, means: Option<&Variable>) -> Method {
    let classes = attribute.enumeration.is_some()
        || attribute.datatype == Datatype::Bool
        || means.is_some_and(|v| v.flags.iter().any(|f| f.mask.is_none()));
    if classes { Method::Mode } else { Method::Mean }
}

/// The attributes with one number in each cell, with the method that was asked for or the usual one.
///
/// # Errors
/// The array has no such attribute, or the method does not fit one of them.
pub(super) fn of(schema: &Schema, dataset: &Dataset, method: Option<Method>, url: &str) -> Result<Vec<Field>> {
    let one = |a: &&Attribute| {
        let plain = a.datatype.is_integer() || a.datatype.is_float() || a.datatype == Datatype::Bool;
        plain && a.cell == CellCount::ONE
    };
    let fields: Vec<Field> = schema
        .attributes
        .iter()
        .filter(one)
        .map(|a| Field::new(a, dataset, method))
        .collect();
    ensure!(
        !fields.is_empty(),
        "cannot create overviews of {url}: no attribute has one number per cell; overviews need one"
    );
    for field in &fields {
        if let (Method::Mean, Some(name)) = (field.method, &field.attribute.enumeration) {
            let attribute = &field.attribute.name;
            let why = format!("'{attribute}' has values of the enumeration '{name}', which have no mean; use mode");
            return Err(usage("--method", why));
        }
    }
    Ok(fields)
}
