//! File formats and their extensions. The help texts, the messages and the command line parser use these lists. Output
//! formats come from the engine's table of slice formats.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use hyperslab::internals::view::encode::Format as SliceFormat;

/// Formats that cells are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Input {
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    #[value(alias = "pq")]
    Parquet,
    Npy,
    Npz,
    Csv,
    Tsv,
}

/// A format that `import` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportFormat {
    /// Columns, or arrays of one shape.
    Cells(Input),
    /// A file that describes its own arrays.
    File(hyperslab_formats::Format),
}

impl ValueEnum for ImportFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<ImportFormat>> = LazyLock::new(|| {
            let cells = Input::value_variants().iter().copied().map(ImportFormat::Cells);
            let files = hyperslab_formats::Format::ALL.iter().copied().map(ImportFormat::File);
            cells.chain(files).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Cells(input) => input.to_possible_value(),
            Self::File(format) => {
                let (name, aliases) = format.extensions().split_first()?;
                Some(PossibleValue::new(name).aliases(aliases))
            }
        }
    }
}

/// A format that cells are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// A format that the mount offers too.
    Slice(SliceFormat),
    /// Parquet.
    Parquet,
    /// GeoTIFF.
    #[cfg(feature = "formats")]
    Tiff,
}

impl Output {
    /// The slice format with the same fields and orders of cells.
    pub(crate) const fn like(self) -> SliceFormat {
        match self {
            Self::Slice(format) => format,
            Self::Parquet => SliceFormat::Arrow,
            #[cfg(feature = "formats")]
            Self::Tiff => SliceFormat::Npy,
        }
    }

    /// The extension of its files, without the dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Slice(format) => format.extension(),
            Self::Parquet => "parquet",
            #[cfg(feature = "formats")]
            Self::Tiff => "tif",
        }
    }

    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Slice(format) => format.aliases(),
            Self::Parquet => &["pq"],
            #[cfg(feature = "formats")]
            Self::Tiff => &["tiff", "gtiff", "geotiff"],
        }
    }
}

impl ValueEnum for Output {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Output>> = LazyLock::new(|| {
            let slices = SliceFormat::ALL.iter().copied().map(Output::Slice);
            let all = slices.chain([Output::Parquet]);
            #[cfg(feature = "formats")]
            let all = all.chain([Output::Tiff]);
            all.collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.extension()).aliases(self.aliases()))
    }
}

/// The input formats or the output formats.
pub(crate) trait Format: ValueEnum {
    /// The formats of the other direction.
    type Opposite: ValueEnum;
    /// Participles for messages: for this direction, and for the other one.
    const DONE: [&'static str; 2];
    /// Extensions of unsupported formats, and how to convert their files.
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)];
}

impl Format for Input {
    type Opposite = Output;
    const DONE: [&'static str; 2] = ["read", "written"];
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)] = &[
        (&["gz", "bz2", "xz", "zst", "zip"], "unpack it first, as in `gunzip IN`"),
        (
            &["orc", "xls", "xlsx", "ods", "sqlite", "db"],
            "convert it to Parquet or CSV first, for example with DuckDB or pandas",
        ),
        (
            &["nc", "nc4", "cdf", "h5", "hdf5", "he5", "tif", "tiff", "nii"],
            "import them into new arrays with `hyperslab import`",
        ),
        (
            &["grib", "grb", "grb2", "zarr"],
            "convert it to NetCDF first, for example with xarray, and import it",
        ),
    ];
}

impl Format for ImportFormat {
    type Opposite = Output;
    const DONE: [&'static str; 2] = ["imported", "written"];
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)] = &[
        (&["gz", "bz2", "xz", "zst", "zip"], "unpack it first, as in `gunzip IN`"),
        (
            &["orc", "xls", "xlsx", "ods", "sqlite", "db"],
            "convert it to Parquet or CSV first, for example with DuckDB or pandas",
        ),
        (
            &["grib", "grb", "grb2", "zarr"],
            "convert it to NetCDF first, for example with xarray",
        ),
        (
            &["h5ad"],
            "the layout of AnnData is not known; give --format h5 to import the plain arrays",
        ),
        (
            &["las", "laz"],
            "convert it to Parquet or CSV first, for example with laspy",
        ),
    ];
}

impl Format for Output {
    type Opposite = Input;
    const DONE: [&'static str; 2] = ["written", "read"];
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)] = &[
        (
            &["gz", "bz2", "xz", "zst", "zip"],
            "compress the output, as in `hyperslab export ARRAY - --format csv | gzip > OUT`",
        ),
        (
            &["orc", "xls", "xlsx"],
            "export a Parquet file and convert it, for example with DuckDB or pandas",
        ),
        (
            &["nc", "h5", "hdf5", "nii"],
            "export an .npy and convert it, for example with numpy and xarray",
        ),
    ];
}

/// The extensions of all formats of a direction, each with its dot.
pub(crate) fn endings<F: ValueEnum>() -> String {
    let formats = F::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let endings: Vec<String> = formats
        .flat_map(|f| {
            f.get_name_and_aliases()
                .map(|name| format!(".{name}"))
                .collect::<Vec<_>>()
        })
        .collect();
    endings.join(" ")
}

/// The format for the extension of a name.
///
/// # Errors
/// The extension is unknown. The message lists the supported extensions.
pub(crate) fn of_name<F: Format>(name: &str) -> Result<F, String> {
    // NIfTI files are compressed as a matter of course.
    let plain = name.strip_suffix(".gz").filter(|n| n.ends_with(".nii")).unwrap_or(name);
    let ending = std::path::Path::new(plain).extension().and_then(|e| e.to_str());
    let ending = ending.unwrap_or("");
    F::from_str(ending, true).map_err(|_| {
        let [done, other] = F::DONE;
        let endings = endings::<F>();
        if F::Opposite::from_str(ending, true).is_ok() {
            return format!(
                "{name}: .{ending} files can only be {other}, not {done}; supported extensions are {endings}"
            );
        }
        let what = ending.to_ascii_lowercase();
        match F::ELSEWHERE
            .iter()
            .find(|(endings, _)| endings.contains(&what.as_str()))
        {
            Some((_, help)) => {
                format!("{name}: such files cannot be {done}; {help}; supported extensions are {endings}")
            }
            None => format!(
                "the extension of {name} is unknown; supported extensions are {endings}; if the file has one of these \
                 formats, give --format"
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_stand_for_formats_of_their_direction_only() {
        assert_eq!(of_name("a.b/x.FEATHER"), Ok(Input::Arrow));
        assert_eq!(of_name("x.ndjson"), Ok(Output::Slice(SliceFormat::Jsonl)));
        assert_eq!(
            endings::<Input>(),
            ".arrow .feather .ipc .parquet .pq .npy .npz .csv .tsv"
        );
        let why = of_name::<Output>("x.npz").unwrap_err();
        assert!(
            why.contains(".npz files can only be read") && why.contains(".npy .bin .csv"),
            "{why}"
        );
        assert!(!why.contains("--format"), "{why}");
        let why = of_name::<Input>("x").unwrap_err();
        assert!(why.contains("is unknown") && why.contains("--format"), "{why}");
        let why = of_name::<Input>("x.csv.gz").unwrap_err();
        assert!(why.contains("such files cannot be read; unpack it first"), "{why}");
    }
}
