//! Hyperslab's overviews: smaller copies of a dense array, which its metadata lists as
//! `[{"factor": 4, "path": "../name.4"}]`. A coordinate divided by the factor, rounded down, is the coordinate there.

use super::driver::Scope;
use super::members::resolve;
use super::model::{Application, Dataset, Level};
use super::object::{Array, Object};
use super::parts;

/// The most levels.
const LEVELS_MAX: usize = 32;

/// Adds the levels of the array at `path`, unless the application has its own.
pub(super) fn add(scope: &Scope<'_>, path: &str, array: Array<'_>, dataset: &mut Dataset) {
    if !array.schema.is_dense() || !array.object.has("overviews") || !dataset.levels.is_empty() {
        return;
    }
    let json = array.object.json("overviews");
    let Some(listed) = json.as_ref().and_then(|j| j.as_array()) else {
        scope.note_at(path, "the metadata 'overviews' is no list and was ignored");
        return;
    };
    let finest: Option<Vec<u64>> = parts::axes(array).iter().map(|a| a.length).collect();
    let Some(finest) = finest else { return };
    let mut levels = vec![Level {
        path: path.to_owned(),
        factors: vec![1.0; finest.len()],
        shape: finest,
        geotransform: None,
    }];
    for entry in listed.iter().take(LEVELS_MAX) {
        let factor = entry
            .get("factor")
            .and_then(serde_json::Value::as_u64)
            .filter(|f| *f > 1);
        let at = entry.get("path").and_then(|p| resolve(path, p.as_str()?));
        let (Some(factor), Some(at)) = (factor, at) else {
            scope.note_at(path, "an entry of 'overviews' has no factor or no path and was ignored");
            continue;
        };
        let found = scope.object(&at).and_then(Object::array);
        let shape = match (found, scope.why_missing(&at)) {
            (Some(overview), _) => parts::axes(overview).iter().map(|a| a.length).collect(),
            (None, Some(_)) if scope.is_outside(&at) => expected_shape(array, factor),
            (None, Some(why)) => {
                scope.note_at(path, &format!("the overview of factor {factor} was left out: {why}"));
                None
            }
            (None, None) => None,
        };
        levels.extend(shape.map(|shape: Vec<u64>| level(at, factor, shape)));
    }
    levels.sort_by(|a, b| {
        a.factors
            .first()
            .partial_cmp(&b.factors.first())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    if levels.len() > 1 {
        dataset.levels = levels;
        if dataset.application == Application::Bare {
            dataset.application = Application::Hyperslab;
        }
    }
}

fn level(path: String, factor: u64, shape: Vec<u64>) -> Level {
    Level {
        path,
        factors: vec![factor as f64; shape.len()],
        shape,
        geotransform: None,
    }
}

/// The shape of an overview that cannot be opened: coordinates are divided by the factor.
fn expected_shape(array: Array<'_>, factor: u64) -> Option<Vec<u64>> {
    let axes = parts::axes(array);
    let factor = i128::from(factor);
    let length = |axis: &super::model::Axis| {
        let first = i128::from(axis.first?);
        let last = first + i128::from(axis.length?) - 1;
        u64::try_from(last.div_euclid(factor) - first.div_euclid(factor) + 1).ok()
    };
    axes.iter().map(length).collect()
}
