//! The table of slice formats. The view, its READMEs, the mount and `hyperslab export` all read it.

use super::{Encode, Frame, record, table};
use crate::error::{Error, Result};
use crate::format::schema::{Layout, Schema};
use crate::suggest;

/// A row of the table.
struct Facts {
    /// The file extension, without a dot.
    extension: &'static str,
    /// Other extensions of such files.
    aliases: &'static [&'static str],
    /// A description of a file's contents, for READMEs. Formats with the same text share a line.
    contents: &'static str,
    /// Whether each cell includes its coordinates even if the array is dense.
    lists_coordinates: bool,
    /// Whether a terminal can show the file.
    is_text: bool,
    /// The orders in which a file can hold the cells of a dense array.
    orders: &'static [Layout],
    /// Creates the encoder of a file.
    encoder: fn(&Frame) -> Result<Box<dyn Encode>>,
}

const ANY_ORDER: &[Layout] = &[Layout::RowMajor, Layout::ColMajor, Layout::Global, Layout::Unordered];

macro_rules! formats {
    ($($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $format:ident { $($facts:tt)* })*) => {
        /// A file format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $format,)*
        }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Self] = &[$($(#[cfg($cfg)])? Self::$format,)*];

            const fn facts(self) -> Facts {
                match self {
                    $($(#[cfg($cfg)])? Self::$format => Facts { $($facts)* },)*
                }
            }
        }
    };
}

formats! {
    /// numpy's format: a header and the values. Several fields become a structured array.
    Npy {
        extension: "npy",
        aliases: &[],
        contents: "numpy, also for `np.load(…, mmap_mode=\"r\")`; a structured array for several attributes",
        lists_coordinates: false,
        is_text: false,
        orders: &[Layout::RowMajor, Layout::ColMajor],
        encoder: |frame| Ok(Box::new(record::Records::npy(frame)?)),
    }
    /// Little-endian values without a header. Several fields become records.
    Bin {
        extension: "bin",
        aliases: &[],
        contents: "the values without a header, little-endian, row-major",
        lists_coordinates: false,
        is_text: false,
        orders: ANY_ORDER,
        encoder: |frame| Ok(Box::new(record::Records::bin(frame)?)),
    }
    /// Comma-separated text with a header and one line per cell, coordinates first.
    Csv {
        extension: "csv",
        contents: "one line per cell, coordinates first",
        encoder: |frame| Ok(Box::new(table::TextTable::new(table::Style::Separated(b','), frame))),
        ..TABLE
    }
    /// Like CSV, but separated by tabs.
    Tsv {
        extension: "tsv",
        contents: "one line per cell, coordinates first",
        encoder: |frame| Ok(Box::new(table::TextTable::new(table::Style::Separated(b'\t'), frame))),
        ..TABLE
    }
    /// A list of objects, one per cell, coordinates first.
    Json {
        extension: "json",
        contents: "one object per cell",
        encoder: |frame| Ok(Box::new(table::TextTable::new(table::Style::List, frame))),
        ..TABLE
    }
    /// The same objects, one per line.
    Jsonl {
        extension: "jsonl",
        aliases: &["ndjson"],
        contents: "one object per cell",
        encoder: |frame| Ok(Box::new(table::TextTable::new(table::Style::Lines, frame))),
        ..TABLE
    }
    /// An Arrow IPC file with one column per dimension and attribute.
    #[cfg(feature = "arrow")]
    Arrow {
        extension: "arrow",
        aliases: &["feather", "ipc"],
        contents: "an Arrow file, for pandas, polars, duckdb",
        is_text: false,
        encoder: super::arrow::encoder,
        ..TABLE
    }
    /// An image of one attribute over two dimensions.
    Png {
        extension: "png",
        aliases: &[],
        contents: "an image of one attribute over two dimensions; a single coordinate removes a dimension",
        lists_coordinates: false,
        is_text: false,
        orders: &[Layout::RowMajor],
        encoder: |frame| Ok(Box::new(super::png::Picture::new(frame)?)),
    }
}

/// The facts that most table formats share.
const TABLE: Facts = Facts {
    extension: "",
    aliases: &[],
    contents: "",
    lists_coordinates: true,
    is_text: true,
    orders: ANY_ORDER,
    encoder: |_| Err(Error::invalid("a format needs an encoder")),
};

impl Format {
    /// The file extension, without a dot.
    pub const fn extension(self) -> &'static str {
        self.facts().extension
    }

    /// Other extensions of such files, which `hyperslab export` accepts too.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.facts().aliases
    }

    /// The format with this file extension.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an unknown extension; the message lists the known ones.
    pub fn from_extension(extension: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|f| f.extension() == extension);
        found.ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|f| format!(".{}", f.extension())).collect();
            Error::invalid(suggest::unknown("format", &format!(".{extension}"), &known))
        })
    }

    /// Whether each cell includes its coordinates even if the array is dense.
    pub const fn lists_coordinates(self) -> bool {
        self.facts().lists_coordinates
    }

    /// Whether a terminal can show such files.
    pub const fn is_text(self) -> bool {
        self.facts().is_text
    }

    /// The orders in which a file can hold the cells of a dense array.
    pub const fn orders(self) -> &'static [Layout] {
        self.facts().orders
    }

    /// The fields that a file holds, in order, if these attributes are selected. `None` selects all attributes and, for
    /// sparse arrays, the coordinates.
    pub fn fields(self, schema: &Schema, attributes: Option<&[String]>) -> Vec<String> {
        let named = match attributes {
            Some(names) => names.to_vec(),
            None => schema.attributes.iter().map(|a| a.name.clone()).collect(),
        };
        if !self.lists_coordinates() && (schema.is_dense() || attributes.is_some()) {
            return named;
        }
        let named = named.into_iter().filter(|n| schema.dimension(n).is_none());
        schema.dimensions.iter().map(|d| d.name.clone()).chain(named).collect()
    }

    /// An encoder of a file with this frame.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format cannot hold the frame. The message suggests another format.
    pub fn encoder(self, frame: &Frame) -> Result<Box<dyn Encode>> {
        frame.cells()?;
        (self.facts().encoder)(frame)
    }

    /// The rows of a Markdown table of all formats: extensions and contents.
    pub(in crate::view) fn described() -> String {
        let mut rows: Vec<(String, &str)> = Vec::new();
        for Facts {
            extension, contents, ..
        } in Self::ALL.iter().map(|f| f.facts())
        {
            match rows.last_mut().filter(|(_, above)| *above == contents) {
                Some((extensions, _)) => *extensions += &format!(", {extension}"),
                None => rows.push((extension.to_owned(), contents)),
            }
        }
        let row = |(extensions, contents)| format!("| {extensions} | {contents} |\n");
        rows.into_iter().map(row).collect()
    }
}
