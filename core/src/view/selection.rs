//! The slice grammar: `0:100,5:20`, `:,3`, `temp@10:20:2`, `lat=30.0:40.0`, `time=2020-01:2020-03`.
//!
//! ```text
//! selection := [attribute {"," attribute} "@"] ("all" | axis {"," axis})
//! axis      := range | dimension "=" range | dimension "=@" range
//! range     := ":" | "_" | coordinate | [coordinate] ":" [coordinate] [":" step] | "{" range {"," range} "}"
//! ```
//!
//! `a..b` is the same as `a:b`. Coordinates are absolute; negative ones do not wrap around. Integer ranges are half-open,
//! as in Python. Ranges of floats, strings and dates are closed. Reads clip ranges to the domain; a single coordinate or a
//! whole range outside the domain is an error.
//!
//! `{0,5,9}` selects several coordinates or ranges, in this order. The parts of a list have no steps.
//!
//! An omitted end is the end of the non-empty domain, or of the domain if nothing is written. Omitted axes are selected
//! in full.
//!
//! [`read`] also selects by value. If an axis of a dense array has values, such as latitudes, `lat=30.5:40` selects the
//! coordinates whose values are in the closed range, and `lat=30.5` the one with the nearest value. `lat=@10:20` and a
//! range without a name count coordinates. A dimension label may be used in place of its dimension.
//! `%2C` and other percent-encodings escape characters of the grammar.

mod axis;
mod axis_values;
mod by_value;
mod coordinate;
mod labels;
mod lexer;
mod table_axes;

use std::borrow::Cow;

pub use crate::format::attribute::{column_names, display_name};
pub use axis::Axis;
use axis::coordinate_text;
pub use by_value::{by_index, read};
pub use coordinate::selects_nothing;
pub(super) use lexer::{positions, quote};
pub use table_axes::TableAxes;

use crate::error::{Error, Result};
use crate::format::schema::Schema;
use crate::query::Region;
use crate::scalar::ScalarRange;
use crate::suggest;

/// The cells and attributes that a file name selects.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The attributes (and dimensions) before the `@`, in that order; `None` for all attributes.
    pub attributes: Option<Vec<String>>,
    /// The selection along each dimension, in the schema's order.
    pub axes: Vec<Axis>,
}

/// Integer ranges that extend beyond the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// End at the domain, as slices do in Python.
    Clipped,
    /// Are errors.
    Refused,
}

/// Parses a selection. Integer ranges must be within the domain, as for a write. [`read`] clips them.
///
/// `non_empty` is the array's non-empty domain, if any. It provides omitted ends.
///
/// ```
/// use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
/// use hyperslab::internals::view::selection;
/// use hyperslab::{CellCount, Datatype};
/// let rows = Dimension::new("row", Datatype::Int32, 0, 99, 10);
/// let temp = Attribute::new("temp", Datatype::Float32, CellCount::ONE);
/// let schema = Schema::new(ArrayType::Dense, vec![rows], vec![temp]);
/// let s = selection::parse("temp@10:20:3", &schema, None).unwrap();
/// assert_eq!(s.shape(), [4]);
/// assert_eq!(s.text(&schema), "temp@10:20:3");
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] states what is wrong and what to write.
pub fn parse(text: &str, schema: &Schema, non_empty: Option<&[ScalarRange]>) -> Result<Selection> {
    parse_with(text, schema, non_empty, Beyond::Refused)
}

fn parse_with(text: &str, schema: &Schema, non_empty: Option<&[ScalarRange]>, beyond: Beyond) -> Result<Selection> {
    if text.trim().is_empty() {
        return Err(Error::invalid("the selection is empty; write all for every cell"));
    }
    let (names, body) = lexer::split_attributes(text);
    let attributes = names.map(|names| attributes(names, schema)).transpose()?;
    let whole: Vec<Axis> = schema
        .dimensions
        .iter()
        .enumerate()
        .map(|(i, d)| Axis::whole(schema, d, i, non_empty))
        .collect();
    let mut axes: Vec<Option<Axis>> = vec![None; whole.len()];
    let body = body.trim();
    if !body.is_empty() && body != "all" {
        for (position, item) in lexer::split(body, ',').into_iter().enumerate() {
            let (index, range) = axis_of(item, position, schema)?;
            let dimension = schema.dimensions.get(index).ok_or_else(|| too_many(text, schema))?;
            let slot = axes.get_mut(index).ok_or_else(|| too_many(text, schema))?;
            if slot.is_some() {
                return Err(Error::invalid(format!(
                    "dimension '{}' is selected twice in '{text}'",
                    dimension.name
                )));
            }
            let whole = whole.get(index).ok_or_else(|| too_many(text, schema))?;
            *slot = Some(coordinate::axis(
                range,
                schema.limits(index).cloned(),
                dimension,
                whole,
                beyond,
            )?);
        }
    }
    let axes = axes
        .into_iter()
        .zip(whole)
        .map(|(named, whole)| named.unwrap_or(whole))
        .collect();
    Ok(Selection { attributes, axes })
}

fn too_many(text: &str, schema: &Schema) -> Error {
    let names: Vec<_> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
    Error::invalid(format!(
        "'{text}' names more dimensions than the array has; it has {} ({})",
        names.len(),
        names.join(", ")
    ))
}

fn attributes(names: &str, schema: &Schema) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for name in lexer::split(names, ',') {
        let name = lexer::unquote(name)?;
        let Some(name) = field_named(&name, schema).map(str::to_owned) else {
            let known: Vec<_> = schema.attributes.iter().map(|a| shown_name(&a.name, schema)).collect();
            return Err(Error::invalid(suggest::unknown("attribute", &name, &known)));
        };
        if found.contains(&name) {
            return Err(Error::invalid(format!(
                "attribute '{name}' is named twice; name it once"
            )));
        }
        found.push(name);
    }
    Ok(found)
}

/// The name of a field in selections. The unnamed attribute is called `data`, with as many `_` appended as needed to be
/// unique.
pub fn shown_name<'a>(field: &'a str, schema: &'a Schema) -> Cow<'a, str> {
    if !field.is_empty() {
        return field.into();
    }
    let dimensions = schema.dimensions.iter().map(|d| d.name.as_str());
    let attributes = schema.attributes.iter().map(|a| a.name.as_str());
    let others = dimensions.chain(attributes).filter(|n| !n.is_empty());
    let all: Vec<&str> = std::iter::once("").chain(others).collect();
    column_names(&all).swap_remove(0).0.into()
}

/// The field with this name in selections: an attribute, or a dimension for its coordinates.
pub fn field_named<'a>(shown: &'a str, schema: &Schema) -> Option<&'a str> {
    if schema.attribute(shown).is_some() || schema.dimension(shown).is_some() {
        return Some(shown);
    }
    (schema.attribute("").is_some() && shown_name("", schema) == shown).then_some("")
}

/// The dimension that an item selects along, and its range.
fn axis_of<'a>(item: &'a str, position: usize, schema: &Schema) -> Result<(usize, &'a str)> {
    let Some((name, range)) = lexer::split_once(item, '=') else {
        return Ok((position, item));
    };
    let name = lexer::unquote(name)?;
    match schema.dimension(&name) {
        // Without values along the axis, a name and an index mean the same.
        Some((index, _)) => Ok((index, range.trim_start().strip_prefix('@').unwrap_or(range))),
        None => {
            let names: Vec<_> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
            Err(Error::invalid(suggest::unknown("dimension", &name, &names)))
        }
    }
}

impl Selection {
    /// Selects every cell and every attribute.
    pub fn all(schema: &Schema, non_empty: Option<&[ScalarRange]>) -> Self {
        let axes = schema
            .dimensions
            .iter()
            .enumerate()
            .map(|(i, d)| Axis::whole(schema, d, i, non_empty))
            .collect();
        Self { attributes: None, axes }
    }

    /// The selected cells as a region of a query.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if a step selects too many single coordinates.
    pub fn region(&self, schema: &Schema) -> Result<Region> {
        let axes = || self.axes.iter().zip(&schema.dimensions);
        // Check all axes first, because the lists take memory.
        axes().try_for_each(|(a, d)| a.check_step(d))?;
        Ok(Region(axes().map(|(a, d)| a.ranges(d)).collect()))
    }

    /// The bounding box of the cells, ignoring steps; `None` for all of a string axis.
    pub fn bounds(&self) -> Vec<Option<ScalarRange>> {
        self.axes.iter().map(|a| a.range.clone()).collect()
    }

    /// Cells along each dimension, for dense arrays only. Saturates.
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(|a| a.len().unwrap_or(u64::MAX)).collect()
    }

    /// The canonical spelling of this selection.
    pub fn text(&self, schema: &Schema) -> String {
        let mut out = self.names(schema);
        for (i, (axis, dimension)) in self.axes.iter().zip(&schema.dimensions).enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(&axis.text(dimension.datatype));
        }
        out
    }

    /// The part before the axes in [`Selection::text`]: the attributes and an `@`, or nothing for all attributes.
    pub(super) fn names(&self, schema: &Schema) -> String {
        let Some(names) = &self.attributes else {
            return String::new();
        };
        let names: Vec<_> = names.iter().map(|n| lexer::quote(&shown_name(n, schema))).collect();
        format!("{}@", names.join(","))
    }
}

#[cfg(test)]
mod tests;
