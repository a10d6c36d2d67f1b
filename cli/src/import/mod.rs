//! `import`: creates an array from a file, with an inferred schema.

pub(crate) mod boxes;
mod enumerations;
mod extents;
#[cfg(test)]
mod hostile;
mod infer;
mod look;
mod outliers;
mod pandas;
mod parts;
pub(crate) mod planned;
pub(crate) mod preview;
#[cfg(test)]
mod tests;
mod tiles;
mod trial;

pub(crate) use trial::attributes;

use std::borrow::Cow;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{Enumeration, Schema};
use hyperslab::{Array, CellCount, Column, CreateOptions, Datatype, Window, WriteOptions, conventions};
use hyperslab_formats::{InputFile, Length, NewArray, Plan};

use crate::args::Import;
use crate::batches::{Batched, BoxCells, Budget};
use crate::build::Building;
use crate::download::{Inputs, plain};
use crate::errors::usage;
use crate::formats::{self, ImportFormat};
use crate::input::{Rounding, Source, Stream, Table, Values};
use crate::show;
use crate::store::{Env, Place, seed};
use crate::time_args;
use crate::write::{Target, write_table};

/// Bytes at the start of a file that tell its format.
const HEAD_BYTES: u64 = 64;

/// Runs the command.
pub(crate) async fn import(env: &Env, args: &Import) -> Result<()> {
    if args.inputs().is_empty() {
        let why = "it is missing; give the input file and then the new array";
        return Err(usage("ARRAY", why));
    }
    let inputs = Inputs::fetch(args.inputs(), args.format).await?;
    let input = inputs.first();
    let format = match format_of(args.format, &input)? {
        Some(ImportFormat::File(format)) => return planned::import(env, args, inputs.files(), format).await,
        Some(ImportFormat::Cells(format)) => Some(format),
        None => None,
    };
    if args.along.is_some() || args.inputs().len() > 1 {
        let why = "tables and numpy arrays are not joined; import the first file into the new array, which is the last \
                   argument, and add the others with `hyperslab write`";
        return Err(usage("IN", why));
    }
    if args.unpack {
        return Err(usage(
            "--unpack",
            "the values of tables and numpy arrays are not packed; leave the option out",
        ));
    }
    let source = Source::new(&input, format, &args.text)?;
    let budget = Budget::new(args.memory);
    let mut args = Cow::Borrowed(args);
    let looked = if let Some(text) = source.text(Rounding::Accepted)? {
        let types = types(&args)?;
        look::text(&mut args, text, &types)
    } else if !args.types.is_empty() {
        return Err(usage("--types", "only columns of text files can be given types"));
    } else if let Some((table, grid)) = source.grid()? {
        look::grid(&args, table, grid, budget)
    } else {
        look::arrow(&mut args, source.batches()?)
    };
    let (table, stream) = looked.with_context(|| format!("cannot read {}", source.shown()))?;
    if args.dry_run {
        return preview_table(&args, table, &stream, budget);
    }
    let building = Building::start(&Place::new(args.array())?).await?;
    let made = fill(env, &args, table, &stream, building.place()).await;
    building
        .end(made.with_context(|| format!("cannot import {} into {}", args.input(), args.array())))
        .await
}

/// The format that was asked for, or that of a file; `None` for standard input.
pub(crate) fn format_of(asked: Option<ImportFormat>, file: &InputFile) -> Result<Option<ImportFormat>> {
    Ok(match asked {
        Some(format) => Some(format),
        None if file.name == "-" => None,
        None => {
            Some(formats::of_name(plain(&file.name)).or_else(|why| by_content(&file.path).ok_or(usage("IN", why)))?)
        }
    })
}

/// The format that the first bytes of a file have, or that the files of a folder have, if its extension tells nothing.
fn by_content(path: &Path) -> Option<ImportFormat> {
    if let Some(format) = hyperslab_formats::Format::of_folder(path) {
        return Some(ImportFormat::File(format));
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    hyperslab_formats::Format::of_content(&head).map(ImportFormat::File)
}

/// The sides of the blocks in which the cells are written, if they have the axes of the file.
fn block(stream: &Stream, budget: Budget) -> Vec<u64> {
    match stream.grid() {
        Some(grid) => grid.block(budget.batch_bytes()),
        None => vec![stream.rows_in(budget.batch_bytes())],
    }
}

/// Parses `--types` to column names and types.
fn types(args: &Import) -> Result<Vec<(String, Datatype)>> {
    let of = |text: &String| {
        let (name, datatype) = text.rsplit_once('=').ok_or_else(|| {
            usage(
                "--types",
                format!("'{text}' is not written as COLUMN=TYPE; quote a name with commas, as in '\"a,b\"=int64'"),
            )
        })?;
        let datatype = Datatype::from_name(datatype).map_err(|e| usage("--types", e))?;
        Ok((name.to_owned(), datatype))
    };
    args.types.iter().map(of).collect()
}

/// Prints the array that an import of a table would make.
fn preview_table(args: &Import, mut table: Table, stream: &Stream, budget: Budget) -> Result<()> {
    let (schema, enumerations) = schema(args, &mut table, stream, budget)?;
    let length = match &table.shape {
        Some(shape) if schema.is_dense() => Length::Box(shape.lengths.clone()),
        _ => Length::Rows(Some(stream.rows)),
    };
    let array = NewArray {
        path: String::new(),
        schema,
        enumerations,
        metadata: Vec::new(),
        length,
    };
    preview::print(&Plan::single(array), args.json)
}

/// The schema of the new array: the inferred one, or an edited one.
fn schema(args: &Import, table: &mut Table, stream: &Stream, budget: Budget) -> Result<(Schema, Vec<Enumeration>)> {
    let inferred = infer::schema(table, args, Some(&block(stream, budget)))?;
    let Some(path) = &args.schema else {
        return Ok(inferred);
    };
    let given = preview::read(path)?.remove("");
    let given = given.with_context(|| format!("{} has no schema of a single array", path.display()))?;
    preview::check_fields(&inferred.0, &given.0, preview::Types::Converted)?;
    Ok(given)
}

async fn fill(env: &Env, args: &Import, mut table: Table, stream: &Stream, place: &Place) -> Result<()> {
    let budget = Budget::new(args.memory);
    let timestamp_ms = time_args::or_now(args.timestamp)?;
    let extras = std::mem::take(&mut table.extras);
    let (schema, enumerations) = schema(args, &mut table, stream, budget)?;
    let options = CreateOptions {
        timestamp_ms,
        seed: seed()?,
        key: env.key.clone(),
    };
    Array::create(&place.context, &place.path, &schema, &enumerations, &options).await?;
    let array = env.open_at(place, Window::ALL).await?;
    let stated = stated(&mut table, &schema);
    write_metadata(&array, extras, stated, timestamp_ms).await?;
    let wanted = |name: &str| table.columns.iter().any(|c| c.name == name);
    let by_axes = table.shape.as_ref().filter(|_| schema.is_dense());
    if schema.is_dense() && by_axes.is_none() {
        // The cells may come in any order, so all are held at once.
        budget.check_whole(
            stream.bytes,
            "a dense array with --dims",
            "make the array sparse with --sparse",
        )?;
        let mut whole = stream.table()?;
        whole.columns.retain(|c| wanted(&c.name));
        let array = env.open_at(&budget.within(place), Window::ALL).await?;
        return write_table(&array, whole, Target::Table, timestamp_ms, 0)
            .await
            .map(drop);
    }
    let filled = by_axes.map(|shape| BoxCells {
        region: schema.dimensions.iter().filter_map(|d| d.domain.clone()).collect(),
        shape: shape.clone(),
        values: None,
    });
    let batched = Batched {
        env,
        place,
        timestamp_ms,
        budget,
    };
    batched.write(stream, &wanted, filled.as_ref()).await
}

/// What a file says of itself and of its columns, such as their units, as metadata of the array.
fn stated(table: &mut Table, schema: &Schema) -> Vec<(String, MetaValue)> {
    let own = std::mem::take(&mut table.metadata).into_iter();
    let mut all: Vec<_> = own.map(|(key, text)| (key, MetaValue::text(&text))).collect();
    for column in &table.columns {
        let Values::Summary(summary) = &column.values else {
            continue;
        };
        let name = column.name.as_str();
        let dimension = schema.dimension(name).map(|(_, d)| d.datatype);
        if let Some(datatype) = dimension.or_else(|| Some(schema.attribute(name)?.1.datatype)) {
            let facts = &summary.field.facts;
            all.extend(conventions::metadata_of_facts(
                name,
                dimension.is_some(),
                datatype,
                facts,
            ));
        }
    }
    all
}

/// Stores what belongs to no cell: `extras` of the file, which are named for the user, and what it says of itself.
async fn write_metadata(
    array: &Array,
    extras: Vec<(String, Column)>,
    stated: Vec<(String, MetaValue)>,
    timestamp_ms: u64,
) -> Result<()> {
    if !extras.is_empty() {
        let keys: Vec<&str> = extras.iter().map(|(key, _)| key.as_str()).collect();
        show::note(format_args!(
            "stored as metadata, because they have fewer axes than the cells: {}; read them with `hyperslab meta \
             get ARRAY KEY`",
            keys.join(", ")
        ));
    }
    let extras = extras.into_iter().map(|(key, column)| (key, metadata(&column)));
    let entries: Vec<Entry> = extras
        .chain(stated)
        .map(|(key, value)| Entry {
            key,
            value: Some(value),
        })
        .collect();
    if entries.is_empty() {
        return Ok(());
    }
    let options = WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    };
    Ok(array.write_metadata(&entries, &options).await?)
}

/// A short list as a metadata value. Several strings are joined to one, with a line for each.
fn metadata(column: &Column) -> MetaValue {
    if column.cell == CellCount::Var && column.len() > 1 {
        let lines: Vec<&[u8]> = (0..column.len()).map(|i| column.cell(i)).collect();
        return MetaValue::bytes(column.datatype, &lines.join(b"\n".as_slice()));
    }
    MetaValue::bytes(column.datatype, &column.data)
}
