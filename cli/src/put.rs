//! Writes files that another program has stored: the folder `put/` of a mount. A file's name selects the cells that it
//! holds.

use std::fs::File;
use std::io;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use hyperslab::Array;
use hyperslab::internals::view::selection;
use hyperslab::schema::{Field, Schema};
use hyperslab::vfs::manifest;

use crate::batches::Budget;
use crate::cells::{assemble, has_coordinates};
use crate::errors::Usage;
use crate::formats::{self, Input};
use crate::input::{NpyHead, Rounding, Source, Table, npy_header_bytes};
use crate::store::Env;
use crate::time_args;
use crate::write::{Target, all_fields, large, write_table};

/// The memory for the cells of a write, in bytes. Larger files are written in batches.
pub(crate) const MEMORY_BYTES: u64 = 256 << 20;

/// Characters of selections, which names of files with coordinates do not need.
const SELECTING: [char; 4] = [':', ',', '@', '='];

/// The cells and the format that a file name selects, as in `0:10,5:20.npy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    name: String,
    format: Input,
    /// The box of a dense array, in canonical spelling.
    select: Option<String>,
}

impl Destination {
    /// Parses the name of a file for an array with this schema.
    ///
    /// Dense arrays take selections of a box, in which an omitted end is the end of the domain. Sparse arrays take any
    /// name with an extension, because the coordinates are columns of the file.
    ///
    /// # Errors
    /// The extension is unknown, or the selection is not a box with every attribute.
    pub fn new(name: &str, schema: &Schema) -> Result<Self> {
        // There is no --format here.
        let format = formats::of_name(name)
            .map_err(|why| anyhow!(why.split("; if the file").next().unwrap_or(&why).to_owned()))?;
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let select = if schema.is_dense() {
            Some(box_of(stem, schema)?)
        } else {
            ensure!(
                !stem.contains(SELECTING),
                "a sparse array takes coordinates from the columns of the file, so its name selects no cells; rename it \
                 to all.{}",
                name.rsplit_once('.').map_or("csv", |(_, ending)| ending)
            );
            None
        };
        Ok(Self {
            name: name.to_owned(),
            format,
            select,
        })
    }

    /// The same for an array, whose axes may also be selected by value, as in `lat=30.5:40.npy`.
    ///
    /// # Errors
    /// As for [`Destination::new`], and errors of reading the values.
    pub async fn of(name: &str, array: &Array) -> Result<Self> {
        let Some((stem, ending)) = name.rsplit_once('.').filter(|_| array.schema().is_dense()) else {
            return Self::new(name, array.schema());
        };
        let by_index = selection::by_index(array, stem).await?;
        Ok(Self {
            name: name.to_owned(),
            ..Self::new(&format!("{by_index}.{ending}"), array.schema())?
        })
    }

    /// The box in canonical spelling; `None` for sparse arrays.
    pub fn selection(&self) -> Option<&str> {
        self.select.as_deref()
    }

    /// Whether files of this format state their size at the start. Others are complete when they are closed.
    pub fn states_size(&self) -> bool {
        self.format == Input::Npy
    }

    /// Checks the start of an `.npy` file, and returns the size of the whole file in bytes. Returns `None` if the header
    /// is incomplete, and for other formats.
    ///
    /// # Errors
    /// The shape or a type is not the one of the selected cells.
    pub async fn check(&self, array: &Array, start: &[u8]) -> Result<Option<u64>> {
        if !self.states_size() {
            return Ok(None);
        }
        let Some(header) = npy_header_bytes(start)? else {
            return Ok(None);
        };
        let mut any = u64::MAX;
        let head = NpyHead::read(&mut start.get(..header).unwrap_or(start), &mut any)?;
        let size = head.cells.saturating_mul(head.width).saturating_add(header as u64);
        let schema = array.schema();
        let fields = all_fields(array).await?;
        let columns = head.columns(&mut io::empty(), 0)?;
        let table = head.table(columns);
        check_types(&table, &fields, schema)?;
        let dimensions = fields.get(..schema.dimensions.len()).unwrap_or_default();
        // The box of cells with coordinates is known when all of them are there.
        if !schema.is_dense() || !has_coordinates(&table.column_names(), dimensions)? {
            assemble(schema, &fields, table, self.target()).map_err(plain)?;
        }
        Ok(Some(size))
    }

    /// Writes the cells of a complete file as one fragment, and returns its name. Waits until the clock has reached the
    /// fragment's timestamp. Changes the position in `file`.
    ///
    /// # Errors
    /// The file is damaged, or its cells do not fit the array or the selection; errors of the store.
    pub async fn write(&self, array: &Array, file: &File) -> Result<String> {
        let env = Env::new(array.key().cloned());
        let budget = Budget::new(MEMORY_BYTES);
        let stream = Source::of_file(&self.name, file, self.format).stream(Rounding::Refused)?;
        let timestamp_ms = time_args::of_change(None, async |now| array.write_time(now).await).await?;
        let written = if stream.bytes <= budget.batch_bytes() {
            write_table(array, stream.table()?, self.target(), timestamp_ms, 0).await
        } else {
            large::write(&env, array, &stream, self.target(), timestamp_ms, budget).await
        };
        written.map_err(plain)
    }

    fn target(&self) -> Target<'_> {
        self.select.as_deref().map_or(Target::Table, Target::Box)
    }
}

/// Updates the manifest of an array after a write, because readers over HTTP rely on it.
///
/// # Errors
/// Errors of the store.
pub async fn renew_manifest(array: &Array) -> Result<()> {
    let renewed = manifest::refresh(&*array.context().vfs, array.path()).await;
    renewed.with_context(|| format!("the array was changed, but its {} was not updated", manifest::MANIFEST))
}

/// The canonical spelling of a selection of a box with every attribute.
fn box_of(stem: &str, schema: &Schema) -> Result<String> {
    let selection = selection::parse(stem, schema, None)?;
    if let Some(named) = &selection.attributes {
        let missing = schema.attributes.iter().find(|a| !named.contains(&a.name));
        if let Some(missing) = missing {
            bail!(
                "a write needs every attribute, and the name leaves out '{}'; omit the part before the @",
                selection::shown_name(&missing.name, schema)
            );
        }
    }
    ensure!(
        selection.axes.iter().all(|a| a.is_range()),
        "a write fills a box; it cannot have steps and lists"
    );
    let whole = selection::Selection {
        attributes: None,
        ..selection
    };
    Ok(whole.text(schema))
}

/// Checks that numbers have the array's own type. The command line converts them if no value changes, but that depends
/// on the values, and a header must suffice to check a file.
fn check_types(table: &Table, fields: &[Field], schema: &Schema) -> Result<()> {
    let is_alone = schema.attributes.len() == 1 && table.columns.len() == 1;
    for named in &table.columns {
        let own = fields.iter().find(|f| f.name == named.name);
        let field = own.or_else(|| fields.last().filter(|_| is_alone && named.name.is_empty()));
        let crate::input::Values::Plain(column) = &named.values else {
            continue;
        };
        let is_number = |t: hyperslab::Datatype| t.is_integer() || t.is_float();
        if let Some(field) = field.filter(|f| f.enumeration.is_none() && is_number(f.datatype))
            && is_number(column.datatype)
            && field.datatype != column.datatype
        {
            bail!(
                "the file has values of type {}, but '{}' has type {}; convert them first, as in a.astype('{}')",
                column.datatype.name(),
                selection::shown_name(&field.name, schema),
                field.datatype.name(),
                field.datatype.name()
            );
        }
    }
    Ok(())
}

/// The error without the option of the command line that it is about.
fn plain(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Usage>() {
        Some(Usage(text)) => {
            let why = text.split_once("--select: ").map_or(text.as_str(), |(_, why)| why);
            anyhow!(why.to_owned())
        }
        None => error,
    }
}
