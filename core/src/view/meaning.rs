//! What the Zarr view shows of an array's meaning: how long its axes are, where their coordinates are, and the
//! attributes of the CF conventions. Does no I/O.

use serde_json::{Map, Value, json};

use super::attributes;
use super::tiles::lengths;
use crate::array::Array;
use crate::conventions::{Application, Axis, Coordinates, Crs, Dataset, Level, Regular, Role, Variable};
use crate::datatype::CellCount;
use crate::format::metadata::MetaValue;
use crate::format::schema::{Attribute, Schema};
use crate::geometry::grid::Grid;

/// What an array or a group means, in lines for people, each with its kind.
pub(super) type MeaningLines = Vec<(&'static str, String)>;

/// An array's variables and axes.
#[derive(Debug)]
pub(super) struct Meaning {
    variables: Vec<Variable>,
    /// Whether an application with missing values wrote the array. Others may choose a fill value that is also data.
    is_known: bool,
    pub(super) crs: Vec<Crs>,
    /// One for each dimension.
    pub(super) axes: Vec<ShownAxis>,
}

/// An axis of the Zarr view.
#[derive(Debug)]
pub(super) struct ShownAxis {
    /// Cells from the start of the domain to the last position. Less than the domain if that is padded or has room to grow.
    pub(super) length: u64,
    /// Cells from the start of the domain to the first position.
    pub(super) before: u64,
    pub(super) coordinates: ShownCoordinates,
    axis: Option<Axis>,
}

/// Where the coordinates of an axis are.
#[derive(Debug)]
pub(super) enum ShownCoordinates {
    /// They are the dimension's own.
    Dimension,
    /// They are evenly spaced.
    Regular(Regular),
    /// They are the values of this attribute of another array. The metadata of that array describes them.
    Array(Box<Array>, Attribute, Map<String, Value>),
}

impl ShownCoordinates {
    /// The coordinates in an attribute of another array; `None` if they are not single numbers.
    pub(super) fn in_array(
        array: Array,
        attribute: &str,
        metadata: &std::collections::BTreeMap<String, MetaValue>,
    ) -> Option<Self> {
        let schema = array.schema();
        let found = schema.attribute(attribute)?.1.clone();
        let is_line = schema.is_dense() && schema.dimensions.len() == 1;
        let is_number = found.cell == CellCount::ONE && !found.datatype.is_bytes() && !found.nullable;
        if !is_line || !is_number {
            return None;
        }
        let mut described = attributes::of_attribute(attribute, metadata);
        // The variable with the bounds is not in the hierarchy.
        described.remove("bounds");
        Some(Self::Array(Box::new(array), found, described))
    }
}

impl Meaning {
    /// The meaning of the array at `path` of `dataset`.
    pub(super) fn new(schema: &Schema, dataset: &Dataset, path: &str) -> Self {
        let own: Vec<Variable> = dataset.variables.iter().filter(|v| v.path == path).cloned().collect();
        let variables = match dataset.levels.iter().find(|l| l.path == path) {
            Some(level) if own.is_empty() => coarser(dataset, level),
            _ => own,
        };
        let fits = |v: &&Variable| {
            let pairs = v.axes.iter().zip(&schema.dimensions);
            let same = |(a, d): (&Axis, &crate::format::domain::Dimension)| a.dimension == d.name && a.stride <= 1;
            v.axes.len() == schema.dimensions.len() && pairs.into_iter().all(same)
        };
        let axes = variables.iter().find(fits).map(|v| v.axes.clone()).unwrap_or_default();
        let whole = Grid::new(schema).map(|grid| lengths(schema, &grid)).unwrap_or_default();
        let mut axes = axes.into_iter();
        let shown = whole.iter().zip(&schema.dimensions);
        let axes = shown
            .map(|(length, d)| ShownAxis::new(*length, d.domain.as_ref().and_then(|r| r.lo.as_i128()), axes.next()));
        Self {
            axes: axes.collect(),
            is_known: !matches!(dataset.application, Application::Bare | Application::Hyperslab),
            variables,
            crs: dataset.crs.clone(),
        }
    }

    /// A group's description, with this array's variables only.
    pub(super) fn without_others(&self, mut group: Dataset) -> Dataset {
        let is_own = |name: &str| self.variables.iter().any(|v| v.name == name);
        group.channels.retain(|channel| is_own(&channel.variable));
        Dataset {
            application: group.application,
            version: group.version,
            variables: self.variables.clone(),
            channels: group.channels,
            crs: group.crs,
            ..Dataset::default()
        }
    }

    /// Cells along each dimension, from the start of the domain.
    pub(super) fn lengths(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.length).collect()
    }

    /// The arrays with the coordinates of dimensions: the dimension, the path as the description has it, and the
    /// attribute.
    pub(super) fn coordinate_arrays(&self) -> Vec<(usize, String, String)> {
        let place = |(i, shown): (usize, &ShownAxis)| match &shown.axis.as_ref()?.coordinates {
            Coordinates::Array { path, attribute, .. } => Some((i, path.clone(), attribute.clone())),
            _ => None,
        };
        self.axes.iter().enumerate().filter_map(place).collect()
    }

    /// The variable of an attribute.
    pub(super) fn variable(&self, attribute: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.attribute == attribute)
    }

    /// The values of an attribute that mean "no data", even if every cell was written.
    pub(super) fn missing(&self, attribute: &str) -> &[Value] {
        let variable = self.variable(attribute).filter(|_| self.is_known);
        variable.map(|v| v.missing.values.as_slice()).unwrap_or_default()
    }

    /// The first variable with a place on Earth, and its coordinate reference system.
    pub(super) fn placed(&self) -> Option<(&Variable, &Crs)> {
        let crs = |v: &Variable| self.crs.get(v.crs?);
        self.variables.iter().find_map(|v| Some((v, crs(v)?)))
    }

    /// The dimension with this role.
    pub(super) fn with_role(&self, role: Role) -> Option<(usize, &ShownAxis)> {
        let is_it = |shown: &ShownAxis| shown.axis.as_ref().is_some_and(|axis| axis.role == role);
        self.axes.iter().enumerate().find(|(_, shown)| is_it(shown))
    }

    /// The CF attributes of an attribute's values.
    pub(super) fn of_values(&self, attribute: &str) -> Map<String, Value> {
        let mut found = Map::new();
        let Some(variable) = self.variable(attribute) else {
            return found;
        };
        let texts = [
            ("units", &variable.unit),
            ("calendar", &variable.calendar),
            ("long_name", &variable.long_name),
            ("standard_name", &variable.standard_name),
        ];
        found.extend(stated(&texts));
        if let Some(packing) = variable.packing {
            let parts = [
                ("scale_factor", packing.scale, 1.0),
                ("add_offset", packing.offset, 0.0),
            ];
            let parts = parts.into_iter().filter(|(_, value, neutral)| value != neutral);
            found.extend(parts.map(|(key, value, _)| (key.to_owned(), json!(value))));
        }
        found
    }

    /// The CF attributes of a dimension's coordinates.
    pub(super) fn of_coordinates(&self, dimension: usize) -> Map<String, Value> {
        let mut found = Map::new();
        let Some(shown) = self.axes.get(dimension) else {
            return found;
        };
        if let ShownCoordinates::Array(_, _, described) = &shown.coordinates {
            found.clone_from(described);
        }
        let Some(axis) = &shown.axis else { return found };
        let letter = match axis.role {
            _ if axis.guessed => None,
            Role::X => Some("X"),
            Role::Y => Some("Y"),
            Role::Z => Some("Z"),
            Role::Time => Some("T"),
            _ => None,
        };
        let mut texts = vec![("axis", letter.map(str::to_owned))];
        // Numbers of positions have no unit.
        if !matches!(axis.coordinates, Coordinates::Index) {
            texts.extend([
                ("units", axis.unit.clone()),
                ("calendar", axis.calendar.clone()),
                ("long_name", axis.long_name.clone()),
                ("standard_name", axis.standard_name.clone()),
            ]);
        }
        for (key, value) in texts {
            if let (Some(value), false) = (value, found.contains_key(key)) {
                found.insert(key.to_owned(), value.into());
            }
        }
        found
    }
}

impl ShownAxis {
    fn new(whole: u64, start: Option<i128>, axis: Option<Axis>) -> Self {
        let place = axis.as_ref().zip(start).and_then(|(axis, start)| {
            let before = u64::try_from(i128::from(axis.first?) - start).ok()?;
            let end = before.checked_add(axis.length.filter(|n| *n > 0)?)?;
            (end <= whole).then_some((before, end))
        });
        let coordinates = match axis.as_ref().map(|a| &a.coordinates) {
            Some(Coordinates::Regular(regular)) if place.is_some() => ShownCoordinates::Regular(*regular),
            _ => ShownCoordinates::Dimension,
        };
        let (before, length) = place.unwrap_or((0, whole));
        Self {
            length,
            before,
            coordinates,
            axis,
        }
    }

    /// Evenly spaced coordinates of the cells `first..end`, counted from the start of the domain.
    pub(super) fn evenly(&self, regular: Regular, cells: std::ops::Range<u64>) -> Vec<u8> {
        let at = |cell: u64| regular.start + (cell as f64 - self.before as f64) * regular.step;
        cells.flat_map(|cell| at(cell).to_le_bytes()).collect()
    }

    /// Its evenly spaced coordinates, if they are.
    pub(super) fn regular(&self) -> Option<Regular> {
        self.axis.as_ref()?.coordinates.regular()
    }
}

/// The variables of the finest level as the coarser `level` has them.
fn coarser(dataset: &Dataset, level: &Level) -> Vec<Variable> {
    let Some(finest) = dataset.levels.first() else {
        return Vec::new();
    };
    let fits = |v: &&Variable| v.path == finest.path && v.axes.len() == level.shape.len();
    let adapted = |v: &Variable| {
        let mut variable = v.clone();
        variable.path.clone_from(&level.path);
        variable.geotransform = level.geotransform;
        let sizes = level.shape.iter().zip(&level.factors);
        for (axis, (length, factor)) in variable.axes.iter_mut().zip(sizes) {
            axis.length = Some(*length);
            axis.coordinates = match (&axis.coordinates, *factor == 1.0) {
                (same, true) => same.clone(),
                (Coordinates::Regular(Regular { start, step }), false) => Coordinates::Regular(Regular {
                    start: start + (factor - 1.0) / 2.0 * step,
                    step: step * factor,
                }),
                _ => Coordinates::Index,
            };
        }
        variable
    };
    dataset.variables.iter().filter(fits).map(adapted).collect()
}

/// The texts that are there.
fn stated(texts: &[(&str, &Option<String>)]) -> Vec<(String, Value)> {
    let one = |(key, text): &(&str, &Option<String>)| Some(((*key).to_owned(), json!(text.as_ref()?)));
    texts.iter().filter_map(one).collect()
}
