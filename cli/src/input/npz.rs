//! Reads numpy's `.npz` files, which are zip archives of arrays. The arrays with the most axes hold the cells, and the
//! others become metadata. A list as long as an axis gives the axis its name.

use std::io::{Read, Seek};

use anyhow::{Context as _, Result, bail};
use hyperslab::Column;

use super::bounds::{check_columns, unfolded_max};
use super::{Named, Shape, Table, Values, npy};

/// Reads a file of `bytes` bytes.
pub(crate) fn read(input: impl Read + Seek, bytes: u64) -> Result<Table> {
    let mut left = unfolded_max(usize::try_from(bytes)?);
    let mut zip = zip::ZipArchive::new(input).context("this is not an .npz file")?;
    check_columns(zip.len())?;
    let mut members = Vec::new();
    for i in 0..zip.len() {
        let file = zip.by_index(i).context("this .npz file is damaged")?;
        let Some(name) = file.name().strip_suffix(".npy").map(str::to_owned) else {
            continue;
        };
        let table = npy::read_within(Box::new(file), &mut left).with_context(|| format!("array '{name}'"))?;
        members.push((name, table));
    }
    merge(members)
}

pub(super) fn merge(members: Vec<(String, Table)>) -> Result<Table> {
    let axes = |t: &Table| t.shape.as_ref().map_or(0, |s| s.lengths.len());
    let most = members.iter().map(|(_, t)| axes(t)).max().unwrap_or(0);
    if most == 0 {
        bail!("it has only single values, and no array of cells");
    }
    let mut merged = Table::default();
    let mut lists: Vec<(String, Column)> = Vec::new();
    for (name, table) in members {
        if axes(&table) < most {
            for (field, column) in plain(table) {
                lists.push((join(&name, &field), column));
            }
            continue;
        }
        match &merged.shape {
            None => merged.shape.clone_from(&table.shape),
            Some(shape) if table.shape.as_ref() != Some(shape) => {
                bail!(
                    "array '{name}' has another shape or order than '{}'; import them one by one from .npy",
                    merged.names()
                );
            }
            Some(_) => {}
        }
        merged.columns.extend(table.columns.into_iter().map(|c| Named {
            name: join(&name, &c.name),
            ..c
        }));
    }
    merged.axes = merged.shape.as_ref().and_then(|s| axis_names(s, &lists));
    merged.extras = lists;
    Ok(merged)
}

fn plain(table: Table) -> impl Iterator<Item = (String, Column)> {
    table.columns.into_iter().filter_map(|c| match c.values {
        Values::Plain(column) => Some((c.name, column)),
        _ => None,
    })
}

pub(super) fn join(name: &str, field: &str) -> String {
    if field.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{field}")
    }
}

/// The name of the list that is as long as each axis, if there is exactly one for every axis.
fn axis_names(shape: &Shape, lists: &[(String, Column)]) -> Option<Vec<String>> {
    let of = |length: &u64| {
        let mut fitting = lists.iter().filter(|(_, c)| c.len() as u64 == *length);
        match (fitting.next(), fitting.next()) {
            (Some((name, _)), None) => Some(name.clone()),
            _ => None,
        }
    };
    let names = shape.lengths.iter().map(of).collect::<Option<Vec<_>>>()?;
    let distinct = names
        .iter()
        .enumerate()
        .all(|(i, n)| !names.iter().take(i).any(|m| m == n));
    distinct.then_some(names)
}
