//! The names that listings offer besides the fixed ones: whole attributes, a thumbnail, metadata, overviews. Does no I/O.

use std::collections::BTreeMap;

use serde_json::Value;

use super::encode::Format;
use super::file_names::file_names;
use super::folder::is_below;
use super::selection::{Axis, Selection};
use super::slice::Slice;
use super::snapshot::Snapshot;
use crate::datatype::Datatype;
use crate::format::metadata::MetaValue;
use crate::scalar::{Scalar, ScalarRange};
use crate::vfs::path_within;

/// The default of the largest listed slice, in bytes.
pub(super) const LIST_MAX: u64 = 64 << 20;
/// The largest side of a thumbnail in pixels.
const THUMB_SIDE: u64 = 256;
/// The most cells that a thumbnail samples from.
const THUMB_CELLS_MAX: u64 = 1 << 24;
/// The metadata key that lists the overviews of an array.
const OVERVIEWS: &str = "overviews";

/// The names in `slices/` of whole attributes whose files are at most `bytes_max` bytes.
pub(super) fn whole_attributes(snapshot: &Snapshot, bytes_max: u64) -> Vec<String> {
    let schema = snapshot.array.schema();
    let written = snapshot.array.non_empty_domain();
    if written.is_none() {
        return Vec::new();
    }
    let cells = snapshot.array.fragments().iter().map(|f| f.cells);
    let cells = cells.fold(0, u64::saturating_add);
    let fixed = schema.attributes.iter().filter(|a| !a.cell.is_var());
    let named = fixed.filter_map(|a| {
        let selection = Selection {
            attributes: Some(vec![a.name.clone()]),
            ..Selection::all(schema, written.as_deref())
        };
        let name = format!("{}all.{}", selection.names(schema), Format::Npy.extension());
        let slice = Slice::new(snapshot, selection, Format::Npy).ok()?;
        // A sparse array has at most the cells of all fragments.
        let slice = if schema.is_dense() {
            slice
        } else {
            slice.with_cells(cells)
        };
        let size = slice.encoder().ok()?.size()?;
        (size <= bytes_max).then_some(name)
    });
    named.collect()
}

/// A small image of the first attribute that can be shown, along the last two dimensions at the first written
/// coordinate of the others. `None` if no attribute can be shown, or there are too many cells.
pub(super) fn thumbnail(snapshot: &Snapshot) -> Option<Slice> {
    let schema = snapshot.array.schema();
    let written = snapshot.array.non_empty_domain()?;
    let before = schema.dimensions.len().checked_sub(2).filter(|_| schema.is_dense())?;
    let all = Selection::all(schema, Some(&written));
    let mut sides = all.axes.iter().skip(before).map(Axis::len);
    let cells = sides.try_fold(1_u64, |n, length| n.checked_mul(length?));
    cells.filter(|n| (1..=THUMB_CELLS_MAX).contains(n))?;
    let axes = all.axes.iter().enumerate().zip(&schema.dimensions);
    let axes = axes.map(|((i, axis), d)| sampled(axis, d.datatype, i < before));
    let axes: Vec<Axis> = axes.collect::<Option<_>>()?;
    schema.attributes.iter().find_map(|a| {
        let selection = Selection {
            attributes: Some(vec![a.name.clone()]),
            axes: axes.clone(),
        };
        Slice::new(snapshot, selection, Format::Png).ok()
    })
}

/// The first coordinate of an axis, or at most [`THUMB_SIDE`] coordinates at equal distances.
fn sampled(axis: &Axis, datatype: Datatype, single: bool) -> Option<Axis> {
    let range = axis.range.as_ref()?;
    let step = axis.len()?.div_ceil(THUMB_SIDE).max(1);
    let (lo, hi) = (range.lo.as_i128()?, range.hi.as_i128()?);
    let last = if single { lo } else { hi - (hi - lo) % i128::from(step) };
    let range = ScalarRange {
        lo: range.lo.clone(),
        hi: Scalar::from_i128(datatype, last)?,
    };
    Some(Axis {
        step: if single { 1 } else { step },
        single,
        ..Axis::of(Some(range))
    })
}

/// The file of each metadata key in `metadata/`.
pub(super) fn metadata_files(metadata: &BTreeMap<String, MetaValue>) -> Vec<(String, &MetaValue)> {
    let keys: Vec<&str> = metadata.keys().map(String::as_str).collect();
    file_names(&keys).into_iter().zip(metadata.values()).collect()
}

/// The overviews of an array, finest first: a name from their factors, such as `4` or `1x4x4`, and their paths in the
/// store. `hyperslab overviews` lists them in the metadata.
/// Those outside of the folder of the array and of `source`, the path of the view, are not shown: nobody asked for them.
pub(super) fn overviews(metadata: &BTreeMap<String, MetaValue>, array: &str, source: &str) -> Vec<(String, String)> {
    let parent = array
        .trim_matches('/')
        .rsplit_once('/')
        .map_or("", |(parent, _)| parent);
    let list = metadata
        .get(OVERVIEWS)
        .and_then(|v| serde_json::from_slice(&v.data).ok());
    let list: Vec<Value> = list.unwrap_or_default();
    let one = |entry: &Value| {
        let factors = factors(entry)?;
        let (mut folders, path) = (array.trim_matches('/'), entry.get("path")?.as_str()?);
        let mut rest = path;
        while let Some(below) = rest.strip_prefix("../") {
            folders = folders.rsplit_once('/').map_or("", |(parent, _)| parent);
            rest = below;
        }
        let path = path_within("/", &format!("/{folders}/{rest}"))?;
        (is_below(&path, parent) || is_below(&path, source)).then_some((factors, path))
    };
    let mut found: Vec<(Vec<u64>, String)> = list.iter().filter_map(one).collect();
    let size = |factors: &[u64]| factors.iter().fold(1, |n: u64, f| n.saturating_mul(*f));
    found.sort_by(|(a, _), (b, _)| size(a).cmp(&size(b)).then(a.cmp(b)));
    found.dedup_by(|(a, _), (b, _)| a == b);
    let name = |factors: Vec<u64>| factors.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    found.into_iter().map(|(factors, path)| (name(factors), path)).collect()
}

/// The factors of an overview: one that holds for all axes, or one for each axis.
fn factors(entry: &Value) -> Option<Vec<u64>> {
    let listed = entry.get("factors").and_then(Value::as_array);
    let listed: Vec<u64> = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .take(64)
        .collect();
    match listed.first() {
        Some(first) if listed.iter().any(|f| f != first) => Some(listed),
        _ => Some(vec![entry.get("factor")?.as_u64()?]),
    }
}
