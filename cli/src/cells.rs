//! Converts a table to the cells of one write.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::internals::format::attribute::OLD_ANONYMOUS;
use hyperslab::internals::view::selection;
use hyperslab::internals::view::selection::display_name;
use hyperslab::schema::{Field, Layout, Schema};
use hyperslab::{CellCount, Cells, Column, Scalar, ScalarRange};

use crate::errors::usage;
use crate::input::{self, Named, Shape, Table, Values};
use crate::show;
use crate::write::Target;

/// Columns by name.
type Columns = Vec<(String, Column)>;

/// Converts `table` to cells of an array with this schema. `fields` are the array's fields, dimensions first.
///
/// Dense cells fill a box: the box of their coordinates if the table has them, else that of `target`, else the whole
/// domain if the table has the shape of the domain.
pub(crate) fn assemble(schema: &Schema, fields: &[Field], mut table: Table, target: Target<'_>) -> Result<Cells> {
    if !schema.is_dense() {
        check_sparse(target)?;
        return Ok(Cells {
            region: None,
            layout: Layout::Unordered,
            columns: points(schema, fields, table)?,
        });
    }
    let rank = schema.dimensions.len();
    let (dimensions, attributes) = fields.split_at(rank.min(fields.len()));
    widen(&mut table, attributes, rank);
    let rows = table.rows();
    let has_coordinates = has_coordinates(&table.column_names(), dimensions)?;
    let (coordinates, mut columns) = split(&mut table, fields, if has_coordinates { rank } else { 0 }, rank)?;
    if has_coordinates {
        let region = fill_box(schema, &coordinates, rows, &mut columns)?;
        if let Some((given, _)) = given(schema, target)? {
            ensure!(
                given == region,
                usage(
                    "--select",
                    "the coordinates in the file fill another box; omit this option"
                )
            );
        }
        return Ok(Cells {
            region: Some(region),
            layout: Layout::RowMajor,
            columns,
        });
    }
    let (region, shape) = target_box(schema, target, table.shape.as_ref(), rows as u64)?;
    Ok(Cells {
        region: Some(region),
        layout: shape.layout,
        columns,
    })
}

/// Returns an error if a box is given for cells of a sparse array.
pub(crate) fn check_sparse(target: Target<'_>) -> Result<()> {
    ensure!(
        !matches!(target, Target::Box(_)),
        usage("--select", "a sparse array takes coordinates from columns")
    );
    Ok(())
}

/// The box that cells without coordinates fill, its lengths, and the order of the cells. They have this shape, or this
/// number of rows.
pub(crate) fn target_box(
    schema: &Schema,
    target: Target<'_>,
    shape: Option<&Shape>,
    rows: u64,
) -> Result<(Vec<ScalarRange>, Shape)> {
    let (region, lengths) = match given(schema, target)? {
        Some(given) => given,
        None => whole(schema, shape, rows)?,
    };
    let layout = fit(&lengths, shape, rows)?;
    let lengths = lengths.iter().map(|l| l.count).collect();
    Ok((region, Shape { lengths, layout }))
}

/// The box of `target`, if it has one, and its length along each axis.
fn given(schema: &Schema, target: Target<'_>) -> Result<Option<(Vec<ScalarRange>, Vec<Length>)>> {
    match target {
        Target::Table | Target::Points => Ok(None),
        Target::Box(text) => selected(schema, text).map(Some),
        Target::Region(region) => {
            let length = |range: &ScalarRange| {
                let count = show::length(range).and_then(|n| u64::try_from(n).ok());
                let count = count.context("the box has an axis without integers")?;
                Ok(Length { count, single: false })
            };
            let lengths: Result<_> = region.iter().map(length).collect();
            Ok(Some((region.to_vec(), lengths?)))
        }
    }
}

/// Whether the table has a column for each dimension. Columns for only some of the dimensions are an error.
pub(crate) fn has_coordinates(columns: &[String], dimensions: &[Field]) -> Result<bool> {
    let (there, missing): (Vec<_>, Vec<_>) = dimensions.iter().partition(|d| columns.contains(&d.name));
    if let ([_, ..], [_, ..]) = (there.as_slice(), missing.as_slice()) {
        bail!(
            "the file has a column for dimension {}, but none for {}; add the missing columns, or remove the \
             coordinates and give the box with --select",
            quoted(there.iter().map(|d| d.name.as_str())),
            quoted(missing.iter().map(|d| d.name.as_str()))
        );
    }
    Ok(missing.is_empty())
}

/// Converts `table` to single cells: a column for each dimension, then one for each attribute.
pub(crate) fn points(schema: &Schema, fields: &[Field], mut table: Table) -> Result<Columns> {
    let rank = schema.dimensions.len();
    let (mut columns, mut attributes) = split(&mut table, fields, rank, rank)?;
    columns.append(&mut attributes);
    Ok(columns)
}

/// Splits a table into the columns of the first `taken` of the `rank` dimensions, and those of all attributes.
fn split(table: &mut Table, fields: &[Field], taken: usize, rank: usize) -> Result<(Columns, Columns)> {
    let alone = fields.len() == rank + 1 && table.columns.len() == taken + 1;
    let places = Places::of(fields, alone.then_some(rank));
    let is_wanted = |at: usize| at < taken || at >= rank;
    // Match all columns before reading any, so that one error lists every mismatch.
    let mut found: Vec<Option<Named>> = fields.iter().map(|_| None).collect();
    let mut extra = Vec::new();
    for named in std::mem::take(&mut table.columns) {
        let place = places.find(&named.name).filter(|at| is_wanted(*at));
        match place.and_then(|at| found.get_mut(at)) {
            // If several columns have the same name, the first one counts.
            Some(slot) => {
                slot.get_or_insert(named);
            }
            None => extra.push(named.name),
        }
    }
    let wanted = fields.iter().zip(found).enumerate().filter(|(at, _)| is_wanted(*at));
    let wanted: Vec<_> = wanted.map(|(_, pair)| pair).collect();
    let missing = wanted.iter().filter(|(_, column)| column.is_none());
    let missing: Vec<&str> = missing.map(|(field, _)| display_name(&field.name)).collect();
    if !missing.is_empty() || !extra.is_empty() {
        let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
        bail!(misfit(&missing, &extra, fields));
    }
    let columns = wanted
        .into_iter()
        .filter_map(|(field, named)| Some((field, named?)))
        .map(|(field, named)| Ok((field.name.clone(), input::column(named, field.clone())?)));
    let mut coordinates: Columns = columns.collect::<Result<_>>()?;
    let attributes = coordinates.split_off(taken.min(coordinates.len()));
    Ok((coordinates, attributes))
}

/// Finds the field that a column belongs to, by its name.
struct Places<'a> {
    by_name: HashMap<&'a str, usize>,
    /// The unnamed field, unless another field has its display name.
    anonymous: Option<usize>,
    /// The only attribute, if the table has a single column for it.
    alone: Option<usize>,
}

impl<'a> Places<'a> {
    fn of(fields: &'a [Field], alone: Option<usize>) -> Self {
        let by_name: HashMap<&str, usize> = (0..).zip(fields).map(|(i, f)| (f.name.as_str(), i)).collect();
        let anonymous = by_name.get("").copied();
        Self {
            anonymous: anonymous.filter(|_| !by_name.contains_key(display_name(""))),
            by_name,
            alone,
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let of_none = name == display_name("") || name == OLD_ANONYMOUS;
        let named = self.by_name.get(name).copied();
        named
            .or(self.anonymous.filter(|_| of_none))
            .or(self.alone.filter(|_| name.is_empty()))
    }
}

/// The error message for columns that do not match the fields, with advice.
fn misfit(missing: &[&str], extra: &[&str], fields: &[Field]) -> String {
    let (missing_names, extra_names) = (quoted(missing.iter().copied()), quoted(extra.iter().copied()));
    let all = fields
        .iter()
        .map(|f| display_name(&f.name))
        .collect::<Vec<_>>()
        .join(", ");
    if extra.iter().all(|name| name.is_empty()) && !extra.is_empty() && !missing.is_empty() {
        return format!(
            "the file has no column {missing_names}, but one without a name; name each column in the file (only an \
             array with one attribute takes unnamed values)"
        );
    }
    match (missing, extra) {
        (_, []) => format!(
            "the file has no column {missing_names}; a write needs a value for every field of the array ({all}); add \
             the column to the file"
        ),
        ([], _) => format!(
            "the array has no field for column {extra_names} of the file; the fields are {all}; remove or rename the \
             column"
        ),
        _ => format!(
            "the file has no column {missing_names}, and the array has no field for column {extra_names}; the fields \
             are {all}; rename the column, or add the missing one and remove the other"
        ),
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ")
}

/// Treats the last axis of the table as the values of a cell if the attribute holds that many values.
fn widen(table: &mut Table, attributes: &[Field], rank: usize) {
    let [
        Named {
            values: Values::Plain(column),
            ..
        },
    ] = table.columns.as_mut_slice()
    else {
        return;
    };
    let Some(shape) = &mut table.shape else { return };
    if column.cell == CellCount::ONE
        && let Some(n) = values_axis(shape, attributes, rank)
    {
        column.cell = CellCount::Fixed(n);
        shape.lengths.pop();
    }
}

/// The length of the last axis of a file if it holds the values of each cell of the only attribute.
pub(crate) fn values_axis(shape: &Shape, attributes: &[Field], rank: usize) -> Option<u32> {
    let ([field], [.., last]) = (attributes, shape.lengths.as_slice()) else {
        return None;
    };
    let n = u32::try_from(*last).ok()?;
    let has_one_more = shape.lengths.len() == rank + 1 && shape.layout == Layout::RowMajor;
    (has_one_more && n > 1 && field.cell == CellCount::Fixed(n)).then_some(n)
}

/// The box given with `--select`, and its length along each axis.
fn selected(schema: &Schema, text: &str) -> Result<(Vec<ScalarRange>, Vec<Length>)> {
    let selection = selection::parse(text, schema, None).map_err(|e| usage("--select", e))?;
    ensure!(
        selection.attributes.is_none(),
        usage(
            "--select",
            "attributes cannot be selected here; every attribute is written"
        )
    );
    ensure!(
        selection.axes.iter().all(|a| a.is_range()),
        usage("--select", "a write fills a box; it cannot have steps and lists")
    );
    let mut region = Vec::new();
    let mut lengths = Vec::new();
    for axis in &selection.axes {
        let (Some(range), Some(count)) = (&axis.range, axis.len()) else {
            bail!(usage("--select", "every dimension needs a range, as in 0:10"))
        };
        region.push(range.clone());
        lengths.push(Length {
            count,
            single: axis.single,
        });
    }
    Ok((region, lengths))
}

/// The length of a box along one axis.
#[derive(Debug, Clone, Copy)]
struct Length {
    count: u64,
    /// Whether a single coordinate was selected, so that the file may omit this axis.
    single: bool,
}

/// The whole domain, for cells that have its shape, or as many cells without a shape.
fn whole(schema: &Schema, shape: Option<&Shape>, rows: u64) -> Result<(Vec<ScalarRange>, Vec<Length>)> {
    let (region, lengths) = selected(schema, "all")?;
    let counts: Vec<u64> = lengths.iter().map(|l| l.count).collect();
    let fits = match shape {
        Some(shape) => shape.lengths == counts,
        None => counts.iter().fold(1_u64, |n, m| n.saturating_mul(*m)) == rows,
    };
    if fits {
        return Ok((region, lengths));
    }
    let found = shape.map_or_else(
        || format!("{rows} cells without coordinates"),
        |s| format!("shape {:?}", s.lengths),
    );
    bail!("the file has {found}, but the array's domain has shape {counts:?}; give the box to fill with --select")
}

/// Checks that the file has the shape of the box, and returns the order of its cells.
fn fit(lengths: &[Length], shape: Option<&Shape>, rows: u64) -> Result<Layout> {
    let counts: Vec<u64> = lengths.iter().map(|l| l.count).collect();
    let short: Vec<u64> = lengths.iter().filter(|l| !l.single).map(|l| l.count).collect();
    match shape {
        Some(s) if s.lengths == counts || s.lengths == short => Ok(s.layout),
        Some(s) => bail!("the file has shape {:?}, but the selection has {counts:?}", s.lengths),
        None => {
            let cells = counts.iter().fold(1_u64, |n, m| n.saturating_mul(*m));
            ensure!(
                cells == rows,
                "the file has {rows} cells, but the selection has {cells}"
            );
            Ok(Layout::RowMajor)
        }
    }
}

/// Finds the box around the coordinates, and sorts the columns into the row-major order of that box.
fn fill_box(
    schema: &Schema,
    coordinates: &[(String, Column)],
    rows: usize,
    columns: &mut [(String, Column)],
) -> Result<Vec<ScalarRange>> {
    ensure!(rows > 0, "the file has no cells");
    let mut region = Vec::new();
    let mut at = vec![0_u64; rows];
    let mut cells = 1_u64;
    let all = || {
        let names: Vec<&str> = coordinates.iter().map(|(name, _)| name.as_str()).collect();
        not_a_box(rows, &names.join(", "))
    };
    for ((name, column), dimension) in coordinates.iter().zip(&schema.dimensions) {
        let physical = dimension.datatype.physical();
        let value = |i: usize| {
            Scalar::from_le_bytes(physical, column.cell(i))
                .and_then(|v| v.as_i128())
                .unwrap_or(0)
        };
        let (lo, hi) = (0..rows).fold((i128::MAX, i128::MIN), |(lo, hi), i| {
            (lo.min(value(i)), hi.max(value(i)))
        });
        let count = u64::try_from(hi - lo + 1).ok().filter(|n| *n <= rows as u64);
        let count = count.with_context(|| not_a_box(rows, name))?;
        cells = cells.saturating_mul(count);
        for (i, at) in at.iter_mut().enumerate() {
            *at = at.saturating_mul(count).saturating_add(u64::try_from(value(i) - lo)?);
        }
        let end = |v| {
            Scalar::from_i128(dimension.datatype, v).with_context(|| format!("coordinate {v} does not fit '{name}'"))
        };
        region.push(ScalarRange {
            lo: end(lo)?,
            hi: end(hi)?,
        });
    }
    ensure!(cells == rows as u64, all());
    let in_order = at.iter().enumerate().all(|(i, a)| *a == i as u64);
    if !in_order {
        ensure!(
            rows < u32::MAX as usize,
            "the file has {rows} unsorted rows; sort them, or write fewer than {} at once",
            u32::MAX
        );
        let mut source = vec![u32::MAX; rows];
        for (i, a) in (0_u32..).zip(&at) {
            let slot = usize::try_from(*a)
                .ok()
                .and_then(|a| source.get_mut(a))
                .filter(|s| **s == u32::MAX);
            *slot.with_context(all)? = i;
        }
        for (_, column) in columns {
            *column = column.picked(&source);
        }
    }
    Ok(region)
}

fn not_a_box(rows: usize, dimensions: &str) -> String {
    format!(
        "the {rows} cells do not fill a box along {dimensions}; a write to a dense array needs every cell of a box \
         exactly once; import into a sparse array with --sparse, or write single cells with --points"
    )
}
