//! The values along the axes of dense arrays, which other arrays hold: latitudes, times, names.

use std::sync::{Arc, PoisonError};

use super::{Selection, TableAxes};
use crate::array::{Array, AxisValues};
use crate::calendar::TimeUnit;
use crate::column::Column;
use crate::context::Context;
use crate::conventions::{Content, Coordinates, Object, raster_axes};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::metadata::MetaValue;
use crate::limits;
use crate::query::{Query, Region};
use crate::scalar::Scalar;
use crate::vfs::{VfsExt, join};

impl Array {
    /// The values along a dimension of a dense array; `None` if there are none.
    ///
    /// They are the cells of the coordinate variable: an array of one dimension in the same folder, with the
    /// dimension's name, as in NetCDF files that TileDB-CF or `hyperslab import` wrote. The array `lat` along `lat` has
    /// the attribute `lat`, `lat.data`, `lat.index` or `lat_`. Without one, they are the centres of the cells of a GDAL
    /// raster, by the geotransform in its metadata. They are read once for each opened array.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if there are more than 4 million values; errors of reading.
    pub async fn axis_values(&self, dimension: usize) -> Result<Option<Arc<AxisValues>>> {
        let lock = || self.0.axis_values.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&dimension).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = self.read_axis_values(dimension).await?.map(Arc::new);
        lock().insert(dimension, found.clone());
        Ok(found)
    }

    async fn read_axis_values(&self, dimension: usize) -> Result<Option<AxisValues>> {
        let Some(axis) = self
            .schema()
            .dimensions
            .get(dimension)
            .filter(|_| self.schema().is_dense())
        else {
            return Ok(None);
        };
        if let Some((context, path)) = self.sibling(&axis.name)? {
            match Self::open(&context, &path, &self.0.options).await {
                Ok(array) => {
                    if let Some(found) = variable(&array, &axis.name).await? {
                        return Ok(Some(found));
                    }
                }
                Err(Error::NotFound { .. }) => {}
                // A server may refuse to list the folders next to the array's.
                Err(Error::Unsupported(_)) if self.path().is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        self.regular(dimension).await
    }

    /// Evenly spaced values of which the array's own metadata tells: the centres of the cells of a GDAL raster.
    async fn regular(&self, dimension: usize) -> Result<Option<AxisValues>> {
        let metadata = self.metadata().await?;
        if !metadata.contains_key("_gdal") {
            return Ok(None);
        }
        let content = Content::Array {
            schema: Arc::clone(self.schema()),
            non_empty_domain: self.non_empty_domain(),
        };
        let axes = raster_axes(&Object { content, metadata });
        let axis = axes.as_ref().and_then(|axes| axes.get(dimension));
        let Some(axis) = axis else {
            return Ok(None);
        };
        let (Coordinates::Regular(regular), Some(length)) = (&axis.coordinates, axis.length) else {
            return Ok(None);
        };
        check_count(&axis.name, length)?;
        let values: Vec<f64> = (0..length).map(|i| regular.start + i as f64 * regular.step).collect();
        Ok(Some(AxisValues {
            first: axis.first.unwrap_or(0).into(),
            values: Column::from_values(Datatype::Float64, &values),
        }))
    }

    /// The place of another array in the same folder, if its name can be one.
    fn sibling(&self, name: &str) -> Result<Option<(Context, String)>> {
        let hidden = name.starts_with('.') || name.starts_with("__");
        if name.is_empty() || hidden || name.contains(['/', '\\', '?', '#', ':']) {
            return Ok(None);
        }
        if !self.path().is_empty() {
            let folder = self.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            return Ok(Some((self.context().clone(), join(folder, name))));
        }
        // The array is the root of its store, so its neighbours are in other stores.
        let found = self.context().vfs.neighbour(name)?;
        Ok(found.map(|(store, path)| (Context::new(store).with_cpu(self.context().cpu), path)))
    }
}

impl TableAxes {
    /// The values along the axes of a selection of a dense array. An axis whose values cannot be read or do not cover
    /// the selection keeps its indices; [`TableAxes::unused`] says why.
    pub async fn of(array: &Array, selection: &Selection) -> Self {
        let mut found = Self::default();
        for (d, (dimension, axis)) in array.schema().dimensions.iter().zip(&selection.axes).enumerate() {
            // Dates along a dimension are values already.
            if dimension.datatype.is_datetime() {
                continue;
            }
            let name = dimension.name.clone();
            let ends = axis.range.as_ref().and_then(|r| r.lo.as_i128().zip(r.hi.as_i128()));
            match array.axis_values(d).await {
                Ok(None) => {}
                Ok(Some(values)) => {
                    let last = values.first + values.values.len() as i128;
                    if ends.is_some_and(|(lo, hi)| values.first <= lo && hi < last) {
                        found.used.push((name, values));
                    } else {
                        found
                            .unused
                            .push((name, Error::invalid("they do not cover the selection")));
                    }
                }
                Err(error) => found.unused.push((name, error)),
            }
        }
        found
    }
}

/// Reads the coordinate variable of the axis `name`, if the array is one.
async fn variable(array: &Array, name: &str) -> Result<Option<AxisValues>> {
    let schema = array.schema();
    let own = |attribute: &str| {
        attribute
            .strip_prefix(name)
            .is_some_and(|rest| matches!(rest, "" | ".data" | ".index" | "_"))
    };
    let [dimension] = schema.dimensions.as_slice() else {
        return Ok(None);
    };
    let attribute = schema.attributes.iter().find(|a| own(&a.name));
    let Some(attribute) = attribute.filter(|_| schema.is_dense() && dimension.name == name) else {
        return Ok(None);
    };
    let Some(written) = array.non_empty_domain() else {
        return Ok(None);
    };
    let [range] = written.as_slice() else {
        return Ok(None);
    };
    let (Some(first), Some(last)) = (range.lo.as_i128(), range.hi.as_i128()) else {
        return Ok(None);
    };
    let count = u64::try_from(last - first).unwrap_or(u64::MAX).saturating_add(1);
    check_count(name, count)?;
    let query = Query {
        region: Region::from_box(written),
        fields: Some(vec![attribute.name.clone()]),
        ..Query::default()
    };
    let mut batch = array.read(&query).await?;
    let Some((_, column)) = batch.columns.pop() else {
        return Ok(None);
    };
    let metadata = array.metadata().await?;
    let of = |key: &str| metadata.get(&format!("__tiledb_attr.{}.{key}", attribute.name));
    let values = unpacked(column, of("scale_factor"), of("add_offset"));
    let text = |key: &str| of(key).map(text_of);
    let values = match text("units").filter(|units| units.contains(" since ")) {
        Some(units) => dates(values, &time_unit(&units, &text("calendar").unwrap_or_default())?),
        None => values,
    };
    Ok(Some(AxisValues { first, values }))
}

/// The unit of times.
///
/// # Errors
/// They are no dates of the Gregorian calendar. As numbers, they would be mistaken for years.
fn time_unit(units: &str, calendar: &str) -> Result<TimeUnit> {
    TimeUnit::parse(units, calendar).ok_or_else(|| {
        let calendar = if calendar.is_empty() { "standard" } else { calendar };
        Error::invalid(format!(
            "times in '{units}' of the calendar '{calendar}' cannot be turned into dates"
        ))
    })
}

fn check_count(axis: &str, count: u64) -> Result<()> {
    if count <= limits::AXIS_VALUES_MAX {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        what: format!("values along '{axis}'"),
        found: count,
        limit: limits::AXIS_VALUES_MAX,
    })
}

fn text_of(value: &MetaValue) -> String {
    let text = String::from_utf8_lossy(&value.data);
    text.trim_end_matches('\0').to_owned()
}

/// Packed numbers as the numbers that they stand for.
fn unpacked(column: Column, scale: Option<&MetaValue>, offset: Option<&MetaValue>) -> Column {
    let number = |value: Option<&MetaValue>| value.and_then(|v| v.numbers().first().copied());
    let (scale, offset) = (number(scale), number(offset));
    if scale.is_none() && offset.is_none() {
        return column;
    }
    let value = |v: f64| v * scale.unwrap_or(1.0) + offset.unwrap_or(0.0);
    numbers(&column).map_or(column, |list| {
        let list: Vec<f64> = list.into_iter().map(value).collect();
        Column::from_values(Datatype::Float64, &list)
    })
}

/// Times since a moment as dates.
fn dates(column: Column, unit: &TimeUnit) -> Column {
    numbers(&column).map_or(column, |list| {
        let list: Vec<i64> = list.into_iter().map(|v| unit.milliseconds(v)).collect();
        Column::from_values(Datatype::DatetimeMs, &list)
    })
}

/// The cells as numbers; `None` if they are dates or text.
fn numbers(column: &Column) -> Option<Vec<f64>> {
    let plain = column.datatype.is_integer() || column.datatype.is_float();
    if !plain || column.cell.is_var() {
        return None;
    }
    let number = |i| Scalar::from_le_bytes(column.datatype.physical(), column.cell(i))?.as_f64();
    (0..column.len()).map(number).collect()
}
