//! Text files of tables, which are read several times: for their columns, for their types, for their cells.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use hyperslab::Datatype;

use super::customs::Marks;
use super::packed::{is_packed, unpacked};
use super::sheet::Rows;
use super::{Customs, Guess, Named, Rounding, Sheet, Table, TextRules, VALUE_BYTES, Values, csv, geojson, json, magic};
use crate::errors::usage;
use crate::formats::Input;
use crate::show;

/// Bytes of the text that are looked at for its kind. The `type` of a FeatureCollection is among its first members.
const HEAD_BYTES: u64 = 4096;

/// A text file that is read several times. It may be compressed.
#[derive(Debug)]
pub(crate) struct Text {
    file: File,
    syntax: Syntax,
    rounding: Rounding,
    given: Customs,
    /// The customs that all cells follow, once the file was read.
    customs: OnceLock<Customs>,
    /// The keys of JSON objects, once the file was read.
    names: OnceLock<Vec<String>>,
}

#[derive(Debug, Clone, Copy)]
enum Syntax {
    /// A header and values with this separator, or one that the header shows.
    Separated(Option<u8>),
    Json(json::Kind),
}

impl Text {
    /// A file in one of the formats of text.
    pub(crate) fn open(mut file: File, format: Input, separator: Option<u8>, rules: TextRules) -> Result<Self> {
        file.rewind()?;
        let mut head = Vec::new();
        unpacked(&file)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        ensure!(
            !is_packed(&head),
            "the file is compressed twice; unpack it first, with gzip or zstd"
        );
        magic::check(head.get(..magic::HEAD_BYTES as usize).unwrap_or(&head), format, "-")?;
        let syntax = match format {
            Input::Geojson => Syntax::Json(json::Kind::Features),
            Input::Jsonl if geojson::is_collection(&head) => Syntax::Json(json::Kind::Features),
            Input::Jsonl => Syntax::Json(json::Kind::Rows),
            _ => Syntax::Separated(separator),
        };
        Ok(Self {
            file,
            syntax,
            rounding: rules.rounding,
            given: rules.customs,
            customs: OnceLock::new(),
            names: OnceLock::new(),
        })
    }

    /// Whether the rows are points of GeoJSON.
    pub(crate) fn is_points(&self) -> bool {
        matches!(self.syntax, Syntax::Json(json::Kind::Features))
    }

    /// Opens its table at the first row. An import also names columns without a name.
    pub(super) fn sheet(&self) -> Result<Sheet<'_>> {
        if matches!(self.syntax, Syntax::Json(_)) && self.names.get().is_none() {
            self.size()?;
        }
        let mut sheet = self.unnamed_sheet()?;
        if self.rounding == Rounding::Accepted {
            sheet.name_columns();
        }
        Ok(sheet)
    }

    fn unnamed_sheet(&self) -> Result<Sheet<'_>> {
        (&self.file).rewind()?;
        let input = unpacked(&self.file)?;
        let known = self.names.get().map(Vec::as_slice);
        let (rows, names) = match self.syntax {
            Syntax::Separated(separator) => {
                let (rows, names) = csv::open(input, separator)?;
                (Rows::Separated(rows), names)
            }
            Syntax::Json(kind) => {
                let rows = json::Reader::open(input, kind, known)?;
                (Rows::Objects(rows), known.unwrap_or_default().to_vec())
            }
        };
        let rules = TextRules {
            rounding: self.rounding,
            customs: self.customs.get().copied().unwrap_or(self.given),
        };
        Ok(Sheet::new(rows, names, rules))
    }

    /// The table with all cells.
    pub(super) fn table(&self) -> Result<Table> {
        self.sheet()?.whole()
    }

    /// The numbers of rows, and of their bytes in memory.
    pub(super) fn size(&self) -> Result<(u64, u64)> {
        let mut sheet = self.unnamed_sheet()?;
        let mut marks = Marks::default();
        let (mut rows, mut bytes) = (0, 0);
        while let Some(row) = sheet.row()? {
            rows += 1;
            bytes += (row.text.len() + VALUE_BYTES * row.ends.len()) as u64;
            row.values().flatten().for_each(|cell| marks.add(cell));
        }
        self.customs
            .get_or_init(|| marks.customs(self.given, sheet.separator()));
        self.names.get_or_init(|| sheet.names().to_vec());
        Ok((rows, bytes))
    }

    /// Scans all cells, and returns a table of columns without their cells. `given` are the types of some columns.
    pub(crate) fn look(&self, given: &[(String, Datatype)]) -> Result<Table> {
        let found = self.scan(given, self.given)?;
        let customs = self.customs.get().copied().unwrap_or(self.given);
        let table = match customs == self.given {
            true => found,
            false => self.scan(given, customs)?,
        };
        if customs.decimal != self.given.decimal {
            show::note("the numbers are read with decimal commas; if they have none, give --decimal point");
        }
        if customs.dates != self.given.dates {
            let order = match customs.dates {
                Some(super::DateOrder::Mdy) => "month",
                _ => "day",
            };
            show::note(format_args!("dates with slashes are read with the {order} first"));
        }
        Ok(table)
    }

    fn scan(&self, given: &[(String, Datatype)], customs: Customs) -> Result<Table> {
        let mut sheet = self.unnamed_sheet()?;
        let first = self.customs.get().is_none();
        let unnamed = sheet.name_columns();
        let shown = unnamed.iter().filter_map(|i| sheet.names().get(*i)).filter(|_| first);
        for name in shown {
            show::warning(format_args!(
                "the header has no name for a column, which is imported as '{name}'; name it in the \
                 file, or choose columns with --attrs"
            ));
        }
        if matches!(self.syntax, Syntax::Separated(_)) {
            check_types(given, sheet.names())?;
        }
        let of = |name: &String| {
            let given = given.iter().find(|(n, _)| n == name).map(|(_, t)| *t);
            given.or_else(|| geojson::datatype(name).filter(|_| self.is_points()))
        };
        let mut guesses: Vec<Guess> = sheet.names().iter().map(|name| Guess::new(of(name), customs)).collect();
        let (mut marks, mut rows, mut first_line) = (Marks::default(), 0, 0);
        while sheet.advance()? {
            let row = sheet.current();
            if rows == 0 {
                first_line = row.line;
            }
            for name in sheet.names().iter().skip(guesses.len()) {
                let mut guess = Guess::new(of(name), customs);
                guess.add_empty(first_line, rows);
                guesses.push(guess);
            }
            for ((guess, (value, quoted)), name) in guesses.iter_mut().zip(row.cells()).zip(sheet.names()) {
                let is_text = quoted && matches!(self.syntax, Syntax::Json(_));
                let added = guess.add(row.line, value, is_text);
                added.with_context(|| format!("column '{name}'"))?;
                if !guess.is_given_text() {
                    value.into_iter().for_each(|cell| marks.add(cell));
                }
            }
            rows += 1;
        }
        check_types(given, sheet.names())?;
        if let (true, [_, ..]) = (first, sheet.nested()) {
            show::note(format_args!(
                "lists and objects are stored as JSON text, in {}",
                sheet.nested().join(", ")
            ));
        }
        let separator = sheet.separator();
        let names = sheet.names().to_vec();
        drop(sheet);
        self.customs.get_or_init(|| marks.customs(self.given, separator));
        self.names.get_or_init(|| names.clone());
        let columns = names.into_iter().zip(guesses).map(|(name, guess)| Named {
            name,
            values: Values::Seen(Box::new(guess)),
        });
        Ok(Table {
            columns: columns.collect(),
            ..Table::default()
        })
    }
}

/// Checks that there are columns of these names.
fn check_types(given: &[(String, Datatype)], names: &[String]) -> Result<()> {
    match given.iter().find(|(name, _)| !names.contains(name)) {
        Some((unknown, _)) => {
            let why = format!("there is no column '{unknown}'; the columns are {}", names.join(", "));
            Err(usage("--types", why))
        }
        None => Ok(()),
    }
}
