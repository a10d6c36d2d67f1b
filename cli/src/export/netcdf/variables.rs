//! The variables of a NetCDF file: names, attributes, and where the values come from.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use hyperslab::conventions::{self, Dataset, Role};
use hyperslab::metadata::MetaValue;
use hyperslab::schema::{Attribute, Enumeration};
use hyperslab::{CellCount, Datatype, Query, Scalar};
use hyperslab_formats::NetcdfFile;

use super::missing;
use super::sources::{Found, Source};

/// The variable of the coordinate system.
const CRS: &str = "spatial_ref";
const FILL: &str = "_FillValue";

/// A variable to write.
pub(super) struct Variable {
    /// Its name.
    pub(super) name: String,
    /// Names and lengths of its axes.
    pub(super) axes: Vec<(String, u64)>,
    /// The type of its values.
    pub(super) datatype: Datatype,
    /// Its attributes.
    pub(super) attributes: Vec<(String, MetaValue)>,
    /// Its values.
    pub(super) values: Values,
}

/// The values of a variable.
pub(super) enum Values {
    /// These, little-endian.
    Known(Vec<u8>),
    /// Those of an attribute.
    Cells(Cells),
}

/// The cells of an attribute.
pub(super) struct Cells {
    /// The number of the array.
    pub(super) source: usize,
    /// The attribute.
    pub(super) attribute: String,
    /// The bytes of each text.
    pub(super) text_width: Option<usize>,
    /// The cell of a null.
    pub(super) fill: Vec<u8>,
}

/// The variables of these arrays.
pub(super) async fn of(found: &Found) -> Result<Vec<Variable>> {
    let (mut out, mut described): (Vec<Variable>, Vec<Dataset>) = (Vec::new(), Vec::new());
    for (number, source) in found.sources.iter().enumerate() {
        let schema = source.job.array.schema();
        let dataset = conventions::of_array(&source.job.array).await?;
        let selected = |a: &&Attribute| source.job.fields.iter().any(|f| f.name == a.name);
        for attribute in schema.attributes.iter().filter(selected) {
            let variable = variable(number, source, attribute, &dataset).await?;
            ensure!(
                out.iter().all(|other| other.name != variable.name),
                "two arrays have a variable '{}'; export one of them by itself",
                variable.name
            );
            out.push(variable);
        }
        described.push(dataset);
    }
    // After all arrays, since one of them may hold the coordinates.
    for (source, dataset) in found.sources.iter().zip(&described) {
        computed(source, dataset, &mut out).await?;
    }
    Ok(out)
}

async fn variable(number: usize, source: &Source, attribute: &Attribute, dataset: &Dataset) -> Result<Variable> {
    let name = name(source, attribute);
    let dimensions = &source.job.array.schema().dimensions;
    let axis = |d: &usize| Some((axis_name(source, &dimensions.get(*d)?.name), source.length(*d)));
    let mut axes: Vec<(String, u64)> = source.axes.iter().filter_map(axis).collect();
    let is_text = attribute.datatype.is_string();
    ensure!(
        NetcdfFile::holds(attribute.datatype) && (is_text || !attribute.cell.is_var()),
        "a NetCDF file cannot hold '{name}', which has {} values{}; leave it out with --attrs",
        attribute.datatype,
        if attribute.cell.is_var() {
            " of variable length"
        } else {
            ""
        }
    );
    let text_width = match attribute.cell {
        CellCount::Var => Some(longest(source, attribute).await?),
        CellCount::Fixed(n) if is_text && n > 1 => Some(n as usize),
        CellCount::Fixed(_) => None,
    };
    match (text_width, attribute.cell) {
        (Some(width), _) => axes.push((format!("{name}_strlen"), width as u64)),
        (None, CellCount::Fixed(n)) if n > 1 => axes.push((format!("{name}_values"), n.into())),
        _ => {}
    }
    let mut attributes = stated(source, attribute);
    let is_number = text_width.is_none() && attribute.cell == CellCount::ONE && !attribute.datatype.is_bytes();
    let mut fill = attribute.fill.clone();
    if attribute.nullable && is_number {
        fill = missing::value_for_null(source, attribute, &name).await?;
        attributes.retain(|(key, _)| key != FILL && key != "missing_value");
        attributes.push((FILL.to_owned(), MetaValue::bytes(as_stored(attribute.datatype), &fill)));
    }
    of_type(attribute, &mut attributes);
    if let Some(e) = source
        .job
        .fields
        .iter()
        .find(|f| f.name == attribute.name)
        .and_then(|f| f.enumeration.as_ref())
    {
        flags(attribute, e, &mut attributes);
    }
    described(attribute, dataset, &mut attributes);
    Ok(Variable {
        name,
        axes,
        datatype: attribute.datatype,
        attributes,
        values: Values::Cells(Cells {
            source: number,
            attribute: attribute.name.clone(),
            text_width,
            fill,
        }),
    })
}

/// The name of an attribute's variable. TileDB-CF adds `.data` to the name of an axis.
fn name(source: &Source, attribute: &Attribute) -> String {
    let is_axis = |name: &str| source.job.array.schema().dimension(name).is_some();
    let mut stems = [".data", ".index", "_"]
        .iter()
        .filter_map(|end| attribute.name.strip_suffix(end));
    match attribute.name.as_str() {
        "" | "TDB_VALUES" if !source.name.is_empty() => source.name.clone(),
        "" | "TDB_VALUES" => "data".to_owned(),
        name => stems.find(|stem| is_axis(stem)).unwrap_or(name).to_owned(),
    }
}

/// The name of an axis. The axes of GDAL's rasters get the names that readers of CF know.
fn axis_name(source: &Source, name: &str) -> String {
    match name {
        "X" | "Y" if source.metadata.contains_key("_gdal") => name.to_ascii_lowercase(),
        "BANDS" if source.metadata.contains_key("_gdal") => "band".to_owned(),
        "" => "dim".to_owned(),
        name => name.to_owned(),
    }
}

/// The bytes of the longest text.
async fn longest(source: &Source, attribute: &Attribute) -> Result<usize> {
    let mut width = 1;
    if source.job.is_empty() {
        return Ok(width);
    }
    let mut batches = source.job.array.batches(Query {
        fields: Some(vec![attribute.name.clone()]),
        ..source.job.query.clone()
    });
    while let Some(batch) = batches.next().await.with_context(|| source.cannot_read())? {
        for (_, column) in &batch.columns {
            width = (0..column.len()).map(|i| column.cell(i).len()).fold(width, usize::max);
        }
    }
    Ok(width)
}

/// The attributes in the metadata of the array.
fn stated(source: &Source, attribute: &Attribute) -> Vec<(String, MetaValue)> {
    let prefix = format!("__tiledb_attr.{}.", attribute.name);
    let is_alone = source.job.array.schema().attributes.len() == 1;
    let plain =
        |key: &str| is_alone && !key.starts_with("__") && !matches!(key, "_gdal" | "dataset_type" | "overviews");
    let key = |key: &str| match key.strip_prefix(&prefix) {
        Some(rest) => Some(rest.to_owned()),
        None => plain(key).then(|| key.to_owned()),
    };
    let all = source
        .metadata
        .iter()
        .filter_map(|(k, value)| Some((key(k)?, value.clone())));
    all.collect()
}

/// What the type of an attribute says: its missing value, its unit of time.
fn of_type(attribute: &Attribute, attributes: &mut Vec<(String, MetaValue)>) {
    let datatype = attribute.datatype;
    let mut add = |key: &str, value: MetaValue| {
        if attributes.iter().all(|(known, _)| known != key) {
            attributes.push((key.to_owned(), value));
        }
    };
    if let Some(unit) = datatype.time_unit() {
        let since = if datatype.is_datetime() {
            " since 1970-01-01"
        } else {
            ""
        };
        add("units", MetaValue::text(&format!("{unit}{since}")));
    }
    if datatype == Datatype::Bool && !attribute.nullable {
        add("dtype", MetaValue::text("bool"));
    }
    let one = attribute.fill.get(..datatype.size());
    let is_missing = attribute.nullable || datatype.is_temporal() || attribute.fill != datatype.default_fill();
    if let (Some(one), true, false) = (one, is_missing, datatype.is_bytes()) {
        add(FILL, MetaValue::bytes(as_stored(datatype), one));
    }
}

/// The type of values in the file.
fn as_stored(datatype: Datatype) -> Datatype {
    match datatype {
        Datatype::Bool => Datatype::Int8,
        time if time.is_temporal() => Datatype::Int64,
        other => other,
    }
}

/// The labels of an enumeration.
fn flags(attribute: &Attribute, e: &Enumeration, attributes: &mut Vec<(String, MetaValue)>) {
    if !e.values.datatype.is_string() {
        return;
    }
    let label = |i: usize| {
        String::from_utf8_lossy(e.values.cell(i))
            .trim_end_matches('\0')
            .replace(' ', "_")
    };
    let labels: Vec<String> = (0..e.values.len()).map(label).collect();
    let codes = (0..labels.len()).filter_map(|i| Scalar::from_i128(attribute.datatype, i as i128));
    let codes: Vec<u8> = codes.flat_map(|code| code.to_le_bytes()).collect();
    attributes.push(("flag_values".to_owned(), MetaValue::bytes(attribute.datatype, &codes)));
    attributes.push(("flag_meanings".to_owned(), MetaValue::text(&labels.join(" "))));
}

/// What an application says elsewhere: GDAL's units, packing and coordinate system.
fn described(attribute: &Attribute, dataset: &Dataset, attributes: &mut Vec<(String, MetaValue)>) {
    let Some(variable) = dataset.variables.iter().find(|v| v.attribute == attribute.name) else {
        return;
    };
    let mut add = |key: &str, value: MetaValue| {
        if attributes.iter().all(|(known, _)| known != key) {
            attributes.push((key.to_owned(), value));
        }
    };
    if let Some(unit) = &variable.unit {
        add("units", MetaValue::text(unit));
    }
    if let Some(packing) = variable.packing {
        add(
            "scale_factor",
            MetaValue::bytes(Datatype::Float64, &packing.scale.to_le_bytes()),
        );
        add(
            "add_offset",
            MetaValue::bytes(Datatype::Float64, &packing.offset.to_le_bytes()),
        );
    }
    if variable.geotransform.is_some() && variable.crs.is_some() {
        add("grid_mapping", MetaValue::text(CRS));
    }
}

/// The variables that no array holds: coordinates of a raster, dates along a dimension, the coordinate system.
async fn computed(source: &Source, dataset: &Dataset, out: &mut Vec<Variable>) -> Result<()> {
    let raster = dataset.variables.iter().find(|v| v.geotransform.is_some());
    let crs = raster.and_then(|v| dataset.crs.get(v.crs?));
    let is_geographic = crs
        .and_then(|crs| crs.wkt.as_deref())
        .is_some_and(|wkt| wkt.starts_with("GEOG"));
    for d in &source.axes {
        let Some(dimension) = source.job.array.schema().dimensions.get(*d) else {
            continue;
        };
        let name = axis_name(source, &dimension.name);
        let held = |v: &Variable| v.name == name;
        let regular = raster.is_some() && !source.job.is_empty();
        let ranges = source.ranges(*d).iter();
        let coordinates = ranges
            .flat_map(|r| r.lo.as_i128().zip(r.hi.as_i128()))
            .flat_map(|(lo, hi)| lo..=hi);
        // Positions in the file count from 0.
        let counted = coordinates.clone().eq(0..i128::from(source.length(*d)));
        if out.iter().any(held) || counted && !(regular || dimension.datatype.is_datetime()) {
            continue;
        }
        let (datatype, values, attributes) = if !regular && !dimension.datatype.is_datetime() {
            let of_type = |v| Scalar::from_i128(dimension.datatype, v);
            let values = coordinates.filter_map(of_type).flat_map(|v| v.to_le_bytes()).collect();
            (dimension.datatype, values, Vec::new())
        } else if dimension.datatype.is_datetime() {
            let unit = dimension.datatype.time_unit().unwrap_or("seconds");
            let units = MetaValue::text(&format!("{unit} since 1970-01-01"));
            let values = coordinates.flat_map(|v| (v as i64).to_le_bytes()).collect();
            (Datatype::Int64, values, vec![("units".to_owned(), units)])
        } else {
            let Some(axis) = source.job.array.axis_values(*d).await? else {
                continue;
            };
            let at = |v: i128| axis.at(usize::try_from(v - axis.first).ok()?)?.as_f64();
            let values: Option<Vec<f64>> = coordinates.map(at).collect();
            let Some(values) = values else { continue };
            let role = raster
                .and_then(|v| v.axes.iter().find(|a| a.dimension == dimension.name))
                .map(|a| a.role);
            let values = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            (Datatype::Float64, values, of_axis(role, is_geographic))
        };
        out.push(Variable {
            axes: vec![(name.clone(), source.length(*d))],
            name,
            datatype,
            attributes,
            values: Values::Known(values),
        });
    }
    if let (Some(raster), Some(crs)) = (raster, crs)
        && out.iter().all(|v| v.name != CRS)
    {
        out.push(system(raster.geotransform, crs));
    }
    Ok(())
}

fn of_axis(role: Option<Role>, is_geographic: bool) -> Vec<(String, MetaValue)> {
    let words: [(&str, &str); 3] = match (role, is_geographic) {
        (Some(Role::X), true) => [("standard_name", "longitude"), ("units", "degrees_east"), ("axis", "X")],
        (Some(Role::Y), true) => [("standard_name", "latitude"), ("units", "degrees_north"), ("axis", "Y")],
        (Some(Role::X), false) => [
            ("standard_name", "projection_x_coordinate"),
            ("units", "m"),
            ("axis", "X"),
        ],
        (Some(Role::Y), false) => [
            ("standard_name", "projection_y_coordinate"),
            ("units", "m"),
            ("axis", "Y"),
        ],
        _ => return Vec::new(),
    };
    words
        .iter()
        .map(|(key, value)| ((*key).to_owned(), MetaValue::text(value)))
        .collect()
}

/// The variable of a coordinate system, as GDAL and rioxarray read it.
fn system(transform: Option<[f64; 6]>, crs: &conventions::Crs) -> Variable {
    let mut attributes: BTreeMap<String, MetaValue> = BTreeMap::new();
    if let Some(wkt) = &crs.wkt {
        for key in ["crs_wkt", CRS] {
            attributes.insert(key.to_owned(), MetaValue::text(wkt));
        }
    }
    if let Some(numbers) = transform {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        attributes.insert("GeoTransform".to_owned(), MetaValue::text(&numbers.join(" ")));
    }
    Variable {
        name: CRS.to_owned(),
        axes: Vec::new(),
        datatype: Datatype::Int32,
        attributes: attributes.into_iter().collect(),
        values: Values::Known(vec![0; 4]),
    }
}

/// The text of a value that may be stored as bytes.
pub(in crate::export) fn text(value: &MetaValue) -> String {
    String::from_utf8_lossy(&value.data).trim_end_matches('\0').to_owned()
}
