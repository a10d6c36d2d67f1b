//! Arrays of positions along the axes of an image, which follow from its sizes.

use std::collections::HashMap;

use hyperslab::{Column, Datatype};

use super::{Image, Level, letter};
use crate::zarr::chunks::Reader;
use crate::zarr::meta::Meta;
use crate::zarr::tree::{Kind, Node};

/// The most positions of an array that is read.
const LENGTH_MAX: u64 = 1 << 16;
/// The largest difference of two equal positions, in steps.
const TOLERANCE: f64 = 1e-6;

/// The levels of an image by their folders.
pub(super) struct Positions<'a> {
    levels: HashMap<&'a str, &'a Level<'a>>,
}

impl<'a> Positions<'a> {
    pub(super) fn of(levels: &'a [Level<'a>]) -> Self {
        let mut by_folder = HashMap::new();
        for level in levels {
            by_folder.entry(split(&level.node.path).0).or_insert(level);
        }
        Self { levels: by_folder }
    }

    /// Whether an array next to a level has what its scale and translation say of an axis: `x` and the like.
    pub(super) fn follow(&self, image: &Image<'_>, node: &Node, reader: &impl Fn(&str, Meta) -> Reader) -> bool {
        self.expected(image, node)
            .is_some_and(|expected| read(node, &expected, reader).is_some_and(|found| found == expected.length))
    }

    fn expected(&self, image: &Image<'_>, node: &Node) -> Option<Expected> {
        let (folder, name) = split(&node.path);
        let letter = letter(name)?;
        let axis = image.axes.iter().position(|known| *known == letter)?;
        let level = self.levels.get(folder)?;
        let length = *level.meta.shape.get(axis)?;
        let transforms = |kind: &'static str| {
            let both = [Some(level.dataset), Some(image.multiscales)].into_iter().flatten();
            let all = both
                .filter_map(|v| v.get("coordinateTransformations")?.as_array())
                .flatten();
            all.filter_map(move |t| t.get(kind)?.as_array()?.get(axis)?.as_f64())
        };
        Some(Expected {
            length,
            first: transforms("translation").sum(),
            step: transforms("scale").product(),
        })
    }
}

/// Evenly spaced positions.
struct Expected {
    length: u64,
    first: f64,
    step: f64,
}

/// The number of positions of an array that are the expected ones.
fn read(node: &Node, expected: &Expected, reader: &impl Fn(&str, Meta) -> Reader) -> Option<u64> {
    let meta = match &node.kind {
        Kind::Group => return None,
        Kind::Array2(value) => Meta::of_v2(value).ok()?,
        Kind::Array3(value) => Meta::of_v3(value).ok()?,
    };
    if meta.shape != [expected.length] || expected.length > LENGTH_MAX {
        return None;
    }
    let column = reader(&node.path, meta).read(&[0..expected.length]).ok()?;
    let is_expected = |(i, found): &(usize, f64)| {
        let there = expected.first + *i as f64 * expected.step;
        (found - there).abs() <= TOLERANCE * expected.step.abs()
    };
    let same = numbers(&column)?.into_iter().enumerate().filter(is_expected);
    Some(same.count() as u64)
}

fn numbers(column: &Column) -> Option<Vec<f64>> {
    Some(match column.datatype {
        Datatype::Float64 => column.values::<f64>().ok()?.to_vec(),
        Datatype::Float32 => column.values::<f32>().ok()?.iter().map(|v| f64::from(*v)).collect(),
        Datatype::Int32 => column.values::<i32>().ok()?.iter().map(|v| f64::from(*v)).collect(),
        Datatype::Int64 => column.values::<i64>().ok()?.iter().map(|v| *v as f64).collect(),
        Datatype::Uint64 => column.values::<u64>().ok()?.iter().map(|v| *v as f64).collect(),
        _ => return None,
    })
}

/// The folder and the name of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
