//! Compares the cells of tiles with their fragment's statistics.

use crate::array::Fragment;
use crate::array::index::Section;
use crate::column::Column;
use crate::cpu::Cpu;
use crate::error::{Error, Malformed, Result};
use crate::format::field::Field;
use crate::format::fragment::slots::FieldId;
use crate::geometry::grid::Grid;
use crate::geometry::region;
use crate::query::aggregate::Aggregate;
use crate::query::aggregate::Summary;
use crate::query::summary::StatisticsQuery;
use crate::query::tally::{Needs, tally};
use crate::query::tile::{StoredField, TileRef};
use crate::scalar::Scalar;

/// The aggregates to compare, most specific first. Numbers have sums; text has none.
const COMPARED: [Aggregate; 2] = [Aggregate::Sum, Aggregate::Min];

/// The field to compare with its statistics; `None` if it has none that reads rely on.
pub(super) struct Statistics(Option<Field>);

impl Statistics {
    /// The statistics of a field as a fragment stores it.
    pub(super) fn of(stored: &StoredField) -> Self {
        let FieldId::Attribute(i) = stored.id else {
            return Self(None);
        };
        let schema = &stored.fragment.schema;
        let field = schema
            .attributes
            .get(i)
            .and_then(|a| Field::named(schema, &a.name).ok());
        // Releases 2.6 and 2.7 may have given two attributes the same name.
        Self(field.filter(|f| f.attribute_index() == Some(i)))
    }

    /// The aggregates that the statistics of this fragment can answer.
    fn questions<'a>(&'a self, fragment: &'a Fragment) -> impl Iterator<Item = (Aggregate, StatisticsQuery<'a>)> {
        let ask = move |field| {
            COMPARED
                .iter()
                .filter_map(move |a| Some((*a, StatisticsQuery::new(*a, field, fragment)?)))
        };
        self.0.iter().flat_map(ask)
    }

    /// The sections of the fragment's index that [`Statistics::check`] needs.
    pub(super) fn sections(&self, fragment: &Fragment) -> Vec<Section> {
        self.questions(fragment).flat_map(|(_, q)| q.sections()).collect()
    }

    /// Compares the cells of a tile with the fragment's statistics, if all of its cells were written.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the file of the cells if they differ.
    pub(super) fn check(&self, tile: &TileRef, column: &Column) -> Result<()> {
        let fragment = &*tile.field.fragment;
        let answer = |(a, q): (Aggregate, StatisticsQuery<'_>)| Some((a, q.answer(tile.tile, tile.cells as u64)?));
        let expected = self.questions(fragment).find_map(answer);
        let Some((aggregate, expected)) = expected.filter(|_| is_whole(fragment, tile.tile)) else {
            return Ok(());
        };
        let needs = Needs::of([aggregate, Aggregate::Min].into_iter());
        let found = tally(column, None, needs, Cpu::Inline).into_iter().reduce(joined);
        let found = found.unwrap_or_else(|| Summary::of_cells(0));
        let Some(what) = difference(&expected, &found, needs) else {
            return Ok(());
        };
        let why = format!(
            "the {what} of tile {} differs from its fragment's metadata; the cells or the metadata are damaged",
            tile.tile
        );
        Err(Error::Corrupt {
            path: tile.field.path().to_owned(),
            malformed: Malformed::new("cells", 0, why),
        })
    }
}

/// Whether all cells of a tile were written. Otherwise statistics may include padding cells.
fn is_whole(fragment: &Fragment, tile: u64) -> bool {
    if !fragment.dense {
        return true;
    }
    let Ok(grid) = Grid::new(&fragment.schema) else {
        return false;
    };
    let written = fragment.spans(&grid).ok().flatten();
    written.is_some_and(|spans| region::covers(&spans, &grid.tile_spans(&grid.tiles(&spans).tile(tile))))
}

/// Joins the summaries of two neighbouring parts.
fn joined(a: Summary, b: Summary) -> Summary {
    let best = |a: Option<Scalar>, b: Option<Scalar>, is_less: bool| match (a, b) {
        (Some(a), Some(b)) => Some(if a.order(&b).is_lt() == is_less { a } else { b }),
        (a, b) => a.or(b),
    };
    Summary {
        cells: a.cells + b.cells,
        values: a.values + b.values,
        whole: a.whole + b.whole,
        real: a.real + b.real,
        min: best(a.min, b.min, true),
        max: best(a.max, b.max, false),
    }
}

/// The first statistic that differs.
fn difference(expected: &Summary, found: &Summary, needs: Needs) -> Option<&'static str> {
    if expected.values != found.values {
        return Some("number of nulls");
    }
    if expected.values == 0 {
        return None;
    }
    let same = |a: &Option<Scalar>, b: &Option<Scalar>| match (a, b) {
        (Some(a), Some(b)) => a.order(b).is_eq(),
        (a, b) => a.is_none() && b.is_none(),
    };
    if !same(&expected.min, &found.min) {
        return Some("minimum");
    }
    if !same(&expected.max, &found.max) {
        return Some("maximum");
    }
    // Floats may have been summed in another order.
    let ends = [&found.min, &found.max].map(|end| end.as_ref().and_then(Scalar::as_f64).unwrap_or(0.0).abs());
    let values = found.values as f64;
    let rounding = ends[0].max(ends[1]) * values * values * f64::EPSILON;
    let is_near = (expected.real - found.real).abs() <= rounding;
    (needs.sum && (expected.whole != found.whole || !is_near)).then_some("sum")
}
