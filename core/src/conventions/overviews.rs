//! Hyperslab's overviews: smaller copies of a dense array, which its metadata lists as
//! `[{"factor": 4, "factors": [1, 4, 4], "path": "../name.4"}]`. A coordinate divided by the factor of its axis, rounded
//! down, is the coordinate there. `factor` is the largest factor; without `factors`, it holds for all axes.

use serde_json::Value;

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
        shape: finest.clone(),
        geotransform: None,
    }];
    for entry in listed.iter().take(LEVELS_MAX) {
        let at = entry.get("path").and_then(|p| beside(path, p.as_str()?));
        let (Some(factors), Some(at)) = (factors_of(entry, finest.len()), at) else {
            scope.note_at(path, "an entry of 'overviews' has no factor or no path and was ignored");
            continue;
        };
        let found = scope.object(&at).and_then(Object::array);
        let shape = match (found, scope.why_missing(&at)) {
            (Some(overview), _) => parts::axes(overview).iter().map(|a| a.length).collect(),
            (None, Some(_)) if scope.is_outside(&at) => expected_shape(array, &factors),
            (None, Some(why)) => {
                let factors: Vec<String> = factors.iter().map(u64::to_string).collect();
                let factors = factors.join(", ");
                scope.note_at(
                    path,
                    &format!("the overview '{at}' of factors {factors} was left out: {why}"),
                );
                None
            }
            (None, None) => None,
        };
        let factors = factors.iter().map(|f| *f as f64).collect();
        levels.extend(shape.map(|shape: Vec<u64>| Level {
            path: at,
            factors,
            shape,
            geotransform: None,
        }));
    }
    let size = |level: &Level| level.factors.iter().product::<f64>();
    levels.sort_by(|a, b| size(a).total_cmp(&size(b)));
    if levels.len() > 1 {
        dataset.levels = levels;
        if dataset.application == Application::Bare {
            dataset.application = Application::Hyperslab;
        }
    }
}

/// The path of an overview, which must be in the folder around the array: metadata must not cause requests elsewhere.
fn beside(path: &str, relative: &str) -> Option<String> {
    let at = resolve(path, relative).filter(|_| !relative.starts_with('/'))?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_beside = match (path, folder) {
        // Only paths that leave what is described begin with `..`.
        ("", _) => !at.starts_with("../.."),
        (_, "") => !at.starts_with(".."),
        (_, folder) => at.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
    };
    is_beside.then_some(at)
}

/// The factor of each axis: above 0, and above 1 for one of them.
fn factors_of(entry: &Value, axes: usize) -> Option<Vec<u64>> {
    let listed = entry.get("factors").and_then(Value::as_array);
    let factors: Vec<u64> = match listed {
        Some(list) => list.iter().map(Value::as_u64).collect::<Option<_>>()?,
        None => vec![entry.get("factor")?.as_u64()?; axes],
    };
    let shrinks = factors.iter().all(|f| *f > 0) && factors.iter().any(|f| *f > 1);
    (shrinks && factors.len() == axes).then_some(factors)
}

/// The shape of an overview that cannot be opened: coordinates are divided by the factors.
fn expected_shape(array: Array<'_>, factors: &[u64]) -> Option<Vec<u64>> {
    let axes = parts::axes(array);
    let length = |(axis, factor): (&super::model::Axis, &u64)| {
        let (first, factor) = (i128::from(axis.first?), i128::from(*factor));
        let last = first + i128::from(axis.length?) - 1;
        u64::try_from(last.div_euclid(factor) - first.div_euclid(factor) + 1).ok()
    };
    axes.iter().zip(factors).map(length).collect()
}
