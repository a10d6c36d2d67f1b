//! The arrays and groups for the variables of a file.

use anyhow::Result;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{ArrayType, Attribute, DEFAULT_LEVEL, Dimension, Enumeration, Filter, Pipeline, Schema};
use hyperslab::{Datatype, Scalar};

use super::unpack::Unpack;
use super::{Axis, Dataset, Field, Variable, names};
use crate::{Length, NewArray, NewGroup, Plan, tiles};

/// The dimension of a variable without axes.
const SCALARS: &str = "__scalars";
/// The least domain of an axis that can grow.
const ROOM_MIN: u64 = 10_000;
/// How many times its length an axis can grow.
const ROOM_TIMES: u64 = 10;
/// The attribute that becomes the fill value.
const FILL: &str = "_FillValue";
/// The bytes that a text is counted as when tiles are chosen.
const TEXT_BYTES: u64 = 32;

/// The plan for these variables.
pub(super) fn plan(dataset: &Dataset, unpacks: &[Option<Unpack>]) -> Result<Plan> {
    let groups = dataset.groups.iter().map(|group| NewGroup {
        path: names::path(&group.path),
        metadata: entries("", &group.attributes),
    });
    let arrays = dataset.variables.iter().zip(unpacks);
    let arrays = arrays.map(|(variable, unpack)| array(variable, unpack.as_ref()));
    let mut plan = Plan {
        groups: groups.collect(),
        arrays: arrays.collect::<Result<_>>()?,
        notes: dataset.notes.clone(),
    };
    if let ([], [only]) = (plan.groups.as_slice(), plan.arrays.as_mut_slice()) {
        only.path.clear();
    }
    plan.notes.extend(growing(dataset));
    plan.notes.extend(empty(dataset));
    plan.notes.extend(renamed(dataset));
    Ok(plan)
}

/// A note for each axis with room to grow.
fn growing(dataset: &Dataset) -> Vec<String> {
    let mut seen: Vec<&Axis> = Vec::new();
    for axis in dataset.variables.iter().flat_map(|v| &v.axes) {
        if axis.unlimited && !seen.contains(&axis) {
            seen.push(axis);
        }
    }
    let note = |axis: &&Axis| {
        format!(
            "the axis '{}' is unlimited: it has {} positions and room for {}",
            axis.name,
            axis.length,
            room(axis)
        )
    };
    seen.iter().map(note).collect()
}

/// A note for each axis of length 0.
fn empty(dataset: &Dataset) -> Vec<String> {
    let axes = dataset.variables.iter().flat_map(|v| &v.axes);
    let mut names: Vec<&str> = axes.filter(|a| a.length == 0).map(|a| a.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let note = |name: &str| {
        format!(
            "the axis '{name}' has length 0: its arrays have no cells, but room for one along it, because no domain of \
             TileDB is empty"
        )
    };
    names.into_iter().map(note).collect()
}

/// A note for each variable whose array has another name, and for each attribute.
fn renamed(dataset: &Dataset) -> Vec<String> {
    let mut notes = Vec::new();
    for variable in &dataset.variables {
        let name = &variable.name;
        let folder = names::folder(name);
        if folder != *name {
            notes.push(format!(
                "the variable '{name}' becomes the array '{folder}', because '{name}' cannot name a folder"
            ));
        }
        for field in &variable.fields {
            let name = field.name.as_deref().unwrap_or(name);
            let attribute = names::attribute(name);
            if attribute != name {
                notes.push(format!(
                    "the values of '{name}' become the attribute '{attribute}', because TileDB reserves names that start \
                     with two underscores"
                ));
            }
        }
    }
    notes
}

fn array(variable: &Variable, unpack: Option<&Unpack>) -> Result<NewArray> {
    let axes: Vec<&str> = variable.axes.iter().map(|a| a.name.as_str()).collect();
    let axes = names::distinct(&axes);
    let is_axis = |name: &str| axes.iter().any(|axis| axis == name);
    let named = |field: &Field| {
        let name = names::attribute(field.name.as_deref().unwrap_or(&variable.name));
        if is_axis(&name) { format!("{name}.data") } else { name }
    };
    let attributes = variable
        .fields
        .iter()
        .map(|f| attribute(&named(f), f, variable, unpack));
    let mut schema = Schema::new(ArrayType::Dense, dimensions(variable, &axes), attributes.collect());
    let enumerations = enumerations(variable, &named);
    schema.enumerations = enumerations.iter().map(Into::into).collect();
    let prefix = match variable.fields.as_slice() {
        [only] => format!("__tiledb_attr.{}.", named(only)),
        // The attributes describe all fields of a compound type.
        _ => String::new(),
    };
    let stored = unpack.map(|u| u.attributes(&variable.attributes));
    let mut metadata = entries(&prefix, stored.as_ref().unwrap_or(&variable.attributes));
    if unpack.is_some() || fill_of(variable).is_some_and(|fill| !is_default(variable, &fill)) {
        metadata.retain(|e| e.key.strip_prefix(&prefix) != Some(FILL));
    }
    let lengths = variable.axes.iter().map(|a| a.length);
    Ok(NewArray {
        path: names::member(&variable.group, &variable.name),
        schema,
        enumerations,
        metadata,
        length: Length::Box(if variable.axes.is_empty() {
            vec![1]
        } else {
            lengths.collect()
        }),
    })
}

fn entries(prefix: &str, attributes: &[(String, MetaValue)]) -> Vec<Entry> {
    let entry = |(name, value): &(String, MetaValue)| Entry {
        key: format!("{prefix}{name}"),
        value: Some(value.clone()),
    };
    attributes.iter().map(entry).collect()
}

fn attribute(name: &str, field: &Field, variable: &Variable, unpack: Option<&Unpack>) -> Attribute {
    let datatype = unpack.map_or(field.datatype, |u| u.into);
    let mut attribute = Attribute::new(name, datatype, field.cell);
    attribute.filters = filters(datatype);
    attribute.enumeration = field.names.is_some().then(|| name.to_owned());
    let fill = fill_of(variable).or_else(|| field.fill.clone());
    if let Some(fill) = fill.filter(|f| f.len() == attribute.fill.len() && unpack.is_none()) {
        attribute.fill = fill;
    }
    attribute
}

/// The fill value that an attribute declares, as a cell of the variable.
fn fill_of(variable: &Variable) -> Option<Vec<u8>> {
    let [field] = variable.fields.as_slice() else {
        return None;
    };
    let (_, value) = variable.attributes.iter().find(|(name, _)| name == FILL)?;
    if field.datatype.is_bytes() {
        // Text has no missing values: the zeros that pad it are not part of it.
        return value.datatype.is_string().then(Vec::new);
    }
    let one = value.data.get(..value.datatype.size())?;
    if value.datatype == field.datatype {
        return Some(one.to_vec());
    }
    let number = Scalar::from_le_bytes(value.datatype.physical(), one)?;
    let fill = match field.datatype {
        Datatype::Float32 => Scalar::F32(number.as_f64()? as f32),
        Datatype::Float64 => Scalar::F64(number.as_f64()?),
        integer => Scalar::from_i128(integer, number.as_i128()?)?,
    };
    Some(fill.to_le_bytes())
}

/// Whether a fill value of numbers is the one that TileDB takes anyway. It says nothing then, so that the metadata must.
fn is_default(variable: &Variable, fill: &[u8]) -> bool {
    let [field] = variable.fields.as_slice() else {
        return false;
    };
    !field.datatype.is_bytes() && Attribute::new("", field.datatype, field.cell).fill == fill
}

fn enumerations(variable: &Variable, named: &impl Fn(&Field) -> String) -> Vec<Enumeration> {
    let with_names = variable.fields.iter().filter_map(|f| Some((f, f.names.clone()?)));
    with_names
        .map(|(field, values)| Enumeration {
            name: named(field),
            file: String::new(),
            ordered: false,
            values,
        })
        .collect()
}

fn filters(datatype: Datatype) -> Pipeline {
    let zstd = Filter::Zstd { level: DEFAULT_LEVEL };
    if datatype.size() == 1 || datatype.is_bytes() {
        return Pipeline::new(vec![zstd]);
    }
    Pipeline::new(vec![Filter::Byteshuffle, zstd])
}

/// The length of an axis with the room that it has to grow.
fn room(axis: &Axis) -> u64 {
    match axis.unlimited {
        true => axis.length.saturating_mul(ROOM_TIMES).max(ROOM_MIN),
        false => axis.length.max(1),
    }
}

fn dimensions(variable: &Variable, names: &[String]) -> Vec<Dimension> {
    if variable.axes.is_empty() {
        return vec![Dimension::new(SCALARS, Datatype::Uint64, 0_u64, 0_u64, 1_u64)];
    }
    let axes = names.iter().zip(&variable.axes).zip(extents(variable));
    axes.map(|((name, axis), extent)| {
        // A domain ends a whole tile before the end of its type.
        let room = room(axis).min(u64::MAX - extent);
        Dimension::new(name, Datatype::Uint64, 0_u64, room - 1, extent)
    })
    .collect()
}

fn extents(variable: &Variable) -> Vec<u64> {
    let bytes = variable.fields.iter().map(|f| {
        let bytes = f.cell.cell_bytes(f.datatype);
        bytes.map_or(TEXT_BYTES, |b| b as u64)
    });
    let bytes: u64 = bytes.fold(0, u64::saturating_add);
    // A tile that reaches far into the room would be written again with each position that is added.
    let lengths: Vec<u64> = variable.axes.iter().map(|a| a.length.max(1)).collect();
    match &variable.chunk {
        Some(chunk) if chunk.len() == lengths.len() => {
            let reach = lengths.iter().zip(chunk).zip(&variable.axes);
            let reach = reach.map(|((length, chunk), axis)| match axis.unlimited {
                true => room(axis).min((*length).max(*chunk)),
                false => *length,
            });
            tiles::of_chunks(chunk, &reach.collect::<Vec<_>>(), bytes)
        }
        _ => tiles::extents(&lengths),
    }
}
