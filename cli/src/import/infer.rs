//! Infers a schema from the columns of a file.

use anyhow::{Context as _, Result, bail, ensure};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef};
use arrow_schema::Field as ArrowField;
use hyperslab::arrow::{FieldType, Role};
use hyperslab::internals::{calendar, suggest};
use hyperslab::schema::{
    ArrayType, Attribute, DEFAULT_LEVEL, Dimension, Enumeration, Field, Filter, Layout, Pipeline, Schema,
};
use hyperslab::{CellCount, Datatype, Scalar, ScalarRange, schema_json};

use super::{enumerations, extents, outliers, tiles};
use crate::args::Import;
use crate::errors::usage;
use crate::export::repeated;
use crate::input::{self, Named, Table, Values};
use crate::show;

/// The schema of a new array for `table`, and its enumerations. Removes unwanted columns, names an unnamed column, and
/// converts integer coordinates of text to numbers. `block` has the lengths of the blocks in which the cells of a file
/// with axes are written.
pub(super) fn schema(table: &mut Table, args: &Import, block: Option<&[u64]>) -> Result<(Schema, Vec<Enumeration>)> {
    ensure!(table.rows() > 0, "{} has no cells", args.input());
    let gridded = table.shape.clone().filter(|_| !args.sparse);
    let roles = coordinates_by_role(table);
    let by = match (&args.dims, &gridded) {
        (Some(dims), None) => dims.clone(),
        (None, None) => roles,
        _ => Vec::new(),
    };
    choose(table, args, &by)?;
    check_domains(args, &by)?;
    let dimensions = if let Some(shape) = &gridded {
        grid(&shape.lengths, block, args, table.axes.as_deref(), &table.columns)?
    } else if by.is_empty() {
        let rows = [table.rows() as u64];
        let usual = ["row".to_owned()];
        let axes = table.axes.as_deref().unwrap_or(&usual);
        grid(&rows, block, args, Some(axes), &table.columns)?
    } else {
        let extents = extents::given(args.tile.as_deref(), &by)?;
        let dimensions = by.iter().zip(extents);
        let dimensions = dimensions.map(|(name, extent)| dimension(table, name, extent, args));
        let mut dimensions: Vec<Dimension> = dimensions.collect::<Result<_>>()?;
        if !args.sparse {
            complete(&mut dimensions)?;
        }
        dimensions
    };
    if by.is_empty() && gridded.is_none() {
        // The rows of a table are numbered.
        table.shape = Some(input::Shape {
            lengths: vec![table.rows() as u64],
            layout: Layout::RowMajor,
        });
    }
    let filters = args
        .filters
        .as_deref()
        .map(schema_json::parse_filters)
        .transpose()
        .map_err(|e| usage("--filters", e))?;
    let mut attributes = Vec::new();
    let mut enumerations = Vec::new();
    for named in table.columns.iter().filter(|c| !by.contains(&c.name)) {
        let (attribute, enumeration) = attribute(named, filters.as_ref())?;
        attributes.push(attribute);
        enumerations.extend(enumeration);
    }
    ensure!(
        !attributes.is_empty(),
        "all columns are dimensions; an array needs at least one attribute"
    );
    let kind = if args.sparse {
        ArrayType::Sparse
    } else {
        ArrayType::Dense
    };
    let mut schema = Schema::new(kind, dimensions, attributes);
    schema.enumerations = enumerations.iter().map(Into::into).collect();
    if args.sparse {
        schema.allows_duplicates = !args.unique;
        if args.tile.is_none() && schema.dimensions.len() > 1 {
            schema.cell_order = Layout::Hilbert;
        }
    }
    Ok((schema, enumerations))
}

/// The columns that an Arrow export marks as coordinates.
fn coordinates_by_role(table: &Table) -> Vec<String> {
    let marked = |c: &&Named| match &c.values {
        Values::Arrow(field, _) => field.role == Some(Role::Dimension),
        Values::Summary(summary) => summary.field.role == Some(Role::Dimension),
        _ => false,
    };
    table.columns.iter().filter(marked).map(|c| c.name.clone()).collect()
}

/// Keeps the columns of `--attrs` and the dimensions, and names an unnamed column.
fn choose(table: &mut Table, args: &Import, by: &[String]) -> Result<()> {
    let missing = |table: &Table, name: &str, option: &str| {
        usage(
            option,
            format!("there is no column '{name}'; there are {}", table.names()),
        )
    };
    for name in by {
        if !table.columns.iter().any(|c| c.name == *name) {
            return Err(missing(table, name, "--dims"));
        }
    }
    if let [only] = table.columns.as_mut_slice()
        && only.name.is_empty()
    {
        let names = args.attrs.as_deref().unwrap_or(&[]);
        ensure!(
            names.len() < 2,
            usage("--attrs", "the file holds the values of one attribute")
        );
        only.name = names.first().cloned().unwrap_or_else(|| "data".to_owned());
        return Ok(());
    }
    let Some(wanted) = &args.attrs else { return Ok(()) };
    if let Some(twice) = repeated(wanted) {
        return Err(usage("--attrs", format!("'{twice}' is named twice; name it once")));
    }
    for name in wanted {
        if !table.columns.iter().any(|c| c.name == *name) {
            return Err(missing(table, name, "--attrs"));
        }
    }
    table
        .columns
        .retain(|c| by.contains(&c.name) || wanted.contains(&c.name));
    Ok(())
}

/// Returns `name`, or the name with a number and a message if a column has this name.
fn free_name(name: String, columns: &[Named]) -> String {
    let is_taken = |name: &str| columns.iter().any(|c| c.name == name);
    if !is_taken(&name) {
        return name;
    }
    let numbered = (1_u64..).map(|n| format!("{name}_{n}"));
    let free = numbered.into_iter().find(|n| !is_taken(n)).unwrap_or_default();
    show::note(format_args!(
        "there is a column '{name}', so the dimension that would have this name is called '{free}'; choose \
         other dimensions with --dims"
    ));
    free
}

/// Dimensions that count from 0. They avoid the names of `columns`, unless `--dims` names them. Their tiles are no
/// larger than a block.
fn grid(
    lengths: &[u64],
    block: Option<&[u64]>,
    args: &Import,
    hints: Option<&[String]>,
    columns: &[Named],
) -> Result<Vec<Dimension>> {
    let usual = || (0..lengths.len()).map(|i| format!("d{i}")).collect();
    let names: Vec<String> = match &args.dims {
        Some(names) => names.clone(),
        None => {
            let names: Vec<String> = hints.map_or_else(usual, <[String]>::to_vec);
            names.into_iter().map(|name| free_name(name, columns)).collect()
        }
    };
    ensure!(
        names.len() == lengths.len(),
        usage(
            "--dims",
            format!("the file has {} axes, not {}", lengths.len(), names.len())
        )
    );
    ensure!(
        !lengths.is_empty(),
        "the file holds a single value, without axes; an array needs at least one"
    );
    ensure!(
        !lengths.contains(&0),
        "the file has the shape {lengths:?}: there are no cells in it"
    );
    let given = extents::given(args.tile.as_deref(), &names)?;
    let axis = |(((name, length), usual), given): (((&String, &u64), u64), &Option<&str>)| {
        let given = given
            .map(|text| extents::extent(name, Datatype::Int64, text))
            .transpose()?;
        let length = i64::try_from(*length)?;
        let extent = match given.as_ref().and_then(Scalar::as_i128) {
            Some(extent) => i64::try_from(extent).unwrap_or(i64::MAX).min(length),
            None => i64::try_from(usual)?,
        };
        Ok(Dimension::new(name, Datatype::Int64, 0_i64, length - 1, extent))
    };
    let sides = block.unwrap_or(lengths).iter().zip(lengths);
    let sides: Vec<u64> = sides.map(|(side, length)| *side.min(length)).collect();
    let usual = hyperslab_formats::tiles::extents(&sides);
    names.iter().zip(lengths).zip(usual).zip(&given).map(axis).collect()
}

/// Adds the default extent to the dimensions of a dense array that have none.
fn complete(dimensions: &mut [Dimension]) -> Result<()> {
    let length = |d: &Dimension| {
        let length = d.domain.as_ref().and_then(show::length);
        length.and_then(|n| u64::try_from(n).ok()).with_context(|| {
            format!(
                "the coordinates in '{}' are {}, but dense arrays take integers, dates and times; add --sparse",
                d.name, d.datatype
            )
        })
    };
    let lengths: Vec<u64> = dimensions.iter().map(length).collect::<Result<_>>()?;
    for (d, usual) in dimensions.iter_mut().zip(hyperslab_formats::tiles::extents(&lengths)) {
        let usual = Scalar::from_i128(d.datatype, usual.into());
        d.extent = d.extent.take().or(usual);
    }
    Ok(())
}

/// The dimension for a column of coordinates; without an extent if none is given.
fn dimension(table: &mut Table, name: &str, extent: Option<&str>, args: &Import) -> Result<Dimension> {
    let found = table.take(|n| n == name).context("a dimension has no column")?;
    if let Values::Seen(guess) = &found.values
        && let Some(found) = guess.outlier()
    {
        return Err(outliers::refusal(name, &found));
    }
    outliers::warn_of_losses(name, &found);
    let mut found = unfolded(found)?;
    let field = field_of(&found)?;
    if field.datatype.is_string() {
        ensure!(
            args.sparse,
            usage(
                "--dims",
                format!("'{name}' holds strings; only sparse arrays have string dimensions: add --sparse")
            )
        );
        ensure!(
            extent.is_none(),
            usage(
                "--tile",
                format!("dimension '{name}' holds strings, which have no extent; leave it out")
            )
        );
        table.columns.push(found);
        return Ok(Dimension {
            filters: zstd(),
            ..Dimension::string(name)
        });
    }
    let (lo, hi) = ends(&mut found, &field, 0)?;
    table.columns.push(found);
    let domain = match given_domain(args, name, field.datatype)? {
        Some(domain) => domain,
        None if args.sparse => roomy(name, field.datatype, lo, hi)?,
        None => ScalarRange { lo, hi },
    };
    let extent = extent
        .map(|text| extents::extent(name, field.datatype, text))
        .transpose()?;
    let filters = numeric_filters(field.datatype);
    Ok(Dimension {
        name: name.to_owned(),
        datatype: field.datatype,
        cell: CellCount::ONE,
        filters,
        domain: Some(domain),
        extent,
    })
}

/// Replaces the keys of an Arrow dictionary by their values, because dimensions have no enumerations.
pub(super) fn unfolded(found: Named) -> Result<Named> {
    let Values::Arrow(_, arrays) = &found.values else {
        return Ok(found);
    };
    let Some(first) = arrays.iter().find_map(|a| a.as_any_dictionary_opt()) else {
        return Ok(found);
    };
    let name = found.name.clone();
    let field = FieldType::infer(&ArrowField::new(&name, first.values().data_type().clone(), false))?;
    let column = input::column(found, coordinates(field)).with_context(|| no_nulls(&name))?;
    Ok(Named {
        name,
        values: Values::Plain(column),
    })
}

/// The field of a column that becomes a dimension.
fn coordinates(field: FieldType) -> FieldType {
    FieldType {
        role: Some(Role::Dimension),
        field: Field {
            nullable: false,
            enumeration: None,
            ..field.field
        },
        ..field
    }
}

fn no_nulls(name: &str) -> String {
    format!("the coordinates in '{name}' cannot be null")
}

/// The least and the greatest coordinate of a column. Converts the values of the column to the type of `field`. `start`
/// is the number of cells before them in the file.
pub(super) fn ends(found: &mut Named, field: &FieldType, start: usize) -> Result<(Scalar, Scalar)> {
    let none = "there are no coordinates";
    let name = &field.name;
    if let Values::Seen(guess) = &found.values {
        let ends = guess.ends().with_context(|| format!("column '{name}'"))?;
        return ends.context(none);
    }
    if let Values::Summary(summary) = &found.values {
        return summary.ends.clone().context(none);
    }
    let taken = Named {
        name: name.clone(),
        values: std::mem::replace(&mut found.values, Values::Seen(Box::default())),
    };
    let column = input::column(taken, coordinates(field.clone())).with_context(|| no_nulls(name))?;
    let physical = field.datatype.physical();
    let none_at = |i: &usize| {
        let value = Scalar::from_le_bytes(physical, column.cell(*i));
        matches!(value, Some(Scalar::I64(v)) if calendar::is_nat(v, field.datatype))
    };
    if let Some(i) = (0..column.len()).find(none_at) {
        let i = start + i;
        bail!("the coordinate of cell {i} in '{name}' is no time (NaT); take the cell out");
    }
    let values = (0..column.len()).filter_map(|i| Scalar::from_le_bytes(physical, column.cell(i)));
    let (lo, hi) = values.fold((None, None), |(lo, hi): (Option<Scalar>, Option<Scalar>), v| {
        let lower = lo.as_ref().is_none_or(|lo| v.order(lo).is_lt());
        let upper = hi.as_ref().is_none_or(|hi| v.order(hi).is_gt());
        (
            if lower { Some(v.clone()) } else { lo },
            if upper { Some(v) } else { hi },
        )
    });
    found.values = Values::Plain(column);
    lo.zip(hi).context(none)
}

/// Returns an error for a `--domain` of an unknown dimension.
fn check_domains(args: &Import, dimensions: &[String]) -> Result<()> {
    let named = args.domain.iter().map(|text| named_domain(text).map(|(dim, _)| dim));
    let named: Vec<&str> = named.collect::<Result<_>>()?;
    let unknown = named.into_iter().find(|dim| !dimensions.iter().any(|d| d == dim));
    let why = |dim| match dimensions {
        [] => "without --dims, the dimensions are the axes of the file and count from 0".to_owned(),
        some => suggest::unknown("dimension", dim, some),
    };
    unknown.map_or(Ok(()), |dim| Err(usage("--domain", why(dim))))
}

/// Splits a value of `--domain` into the dimension and the range.
fn named_domain(text: &str) -> Result<(&str, &str)> {
    text.split_once('=')
        .filter(|(_, range)| range.contains(':'))
        .ok_or_else(|| usage("--domain", format!("'{text}' is not written as DIM=LO:HI")))
}

/// The domain that `--domain` gives a dimension.
fn given_domain(args: &Import, name: &str, datatype: Datatype) -> Result<Option<ScalarRange>> {
    for text in &args.domain {
        let (dim, range) = named_domain(text)?;
        if dim != name {
            continue;
        }
        let range = input::range(range, datatype, CellCount::ONE);
        let range = range.map_err(|e| usage("--domain", format!("{e:#}")))?;
        if range.hi.order(&range.lo).is_lt() {
            return Err(usage(
                "--domain",
                format!("the end of '{text}' is before its start; write DIM=LO:HI"),
            ));
        }
        return Ok(Some(range));
    }
    Ok(None)
}

/// A round interval around the coordinates, which leaves room for more.
fn roomy(name: &str, datatype: Datatype, lo: Scalar, hi: Scalar) -> Result<ScalarRange> {
    if let (Some(a), Some(b)) = (lo.as_i128(), hi.as_i128()) {
        let bits = 8 * datatype.size() as u32;
        let signed = Scalar::from_i128(datatype, -1).is_some();
        let (min, max) = if signed {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        } else {
            (0, (1_i128 << bits) - 1)
        };
        ensure!(
            (a, b) != (min, max),
            "column '{name}' has the coordinates {min} and {max}, the least and the greatest {datatype}, and a domain \
             leaves at least one out: take a row with one of them out, or give the column another type, as in --types \
             {name}={}",
            if bits < 64 { "int64" } else { "string_ascii" }
        );
        let (a, b) = tiles::round_out_integer(a, b, min, max);
        let end = |v| Scalar::from_i128(datatype, v).context("a coordinate does not fit its type");
        return Ok(ScalarRange {
            lo: end(a)?,
            hi: end(b)?,
        });
    }
    let (Some(a), Some(b)) = (lo.as_f64(), hi.as_f64()) else {
        return Ok(ScalarRange { lo, hi });
    };
    ensure!(
        a.is_finite() && b.is_finite(),
        "a coordinate is infinite, or not a number; remove its row"
    );
    let (first, last) = tiles::round_out(a, b);
    // The rounded end of a wide interval may be out of range for the type.
    let end = |round: f64, own: f64| match datatype {
        Datatype::Float32 if (round as f32).is_finite() => Scalar::F32(round as f32),
        Datatype::Float32 => Scalar::F32(own as f32),
        _ => Scalar::F64(if round.is_finite() { round } else { own }),
    };
    Ok(ScalarRange {
        lo: end(first, a),
        hi: end(last, b),
    })
}

/// The attribute for a column, and its enumeration if it has one.
fn attribute(named: &Named, filters: Option<&Pipeline>) -> Result<(Attribute, Option<Enumeration>)> {
    if let Values::Seen(guess) = &named.values {
        outliers::check_text(&named.name, guess)?;
    }
    outliers::warn_of_losses(&named.name, named);
    let field = field_of(named)?;
    let mut a = Attribute::new(&named.name, field.datatype, field.cell);
    a.nullable = field.nullable;
    a.filters = filters.cloned().unwrap_or_else(|| numeric_filters(field.datatype));
    let dictionaries: Vec<&ArrayRef> = match &named.values {
        Values::Arrow(_, arrays) => {
            let dictionaries = arrays.iter().filter_map(|a| a.as_any_dictionary_opt());
            dictionaries.map(|d| d.values()).collect()
        }
        Values::Summary(summary) => summary.dictionaries.iter().collect(),
        _ => Vec::new(),
    };
    let stated = match &named.values {
        Values::Summary(summary) => summary.stated.as_ref(),
        _ => None,
    };
    let enumeration = enumerations::merged(&named.name, stated, &dictionaries, field.ordered)?;
    a.enumeration = enumeration.as_ref().map(|e| e.name.clone());
    Ok((a, enumeration))
}

fn numeric_filters(datatype: Datatype) -> Pipeline {
    if datatype.size() == 1 || datatype.is_string() {
        return zstd();
    }
    Pipeline::new(vec![Filter::Byteshuffle, Filter::Zstd { level: DEFAULT_LEVEL }])
}

fn zstd() -> Pipeline {
    Pipeline::new(vec![Filter::Zstd { level: DEFAULT_LEVEL }])
}

/// The type of a column; nullable only if it has nulls or is declared so.
pub(super) fn field_of(named: &Named) -> Result<FieldType> {
    let of = |datatype, cell, nullable| {
        FieldType::from(Field {
            nullable,
            ..Field::new(&named.name, datatype, cell)
        })
    };
    let stated = |field: &FieldType, nulls: bool| {
        let mut field = field.clone();
        field.nullable &= nulls || field.role.is_some();
        field
    };
    Ok(match &named.values {
        Values::Arrow(field, arrays) => stated(field, arrays.iter().any(|a| a.logical_null_count() > 0)),
        Values::Summary(summary) => stated(&summary.field, summary.nulls),
        Values::Plain(column) | Values::Typed(column, _) => of(column.datatype, column.cell, column.validity.is_some()),
        Values::Seen(guess) => {
            let datatype = guess.datatype();
            of(datatype, datatype.default_cell(), guess.empty().is_some())
        }
        Values::Text(..) => bail!("the cells of column '{}' were not looked at", named.name),
    })
}
