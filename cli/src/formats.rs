//! File formats and their extensions. The help texts, the messages and the command line parser use these lists. Output
//! formats come from the engine's table of slice formats.

use std::path::Path;
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
    // Objects, one a line or in a list.
    #[value(aliases = ["ndjson", "json"])]
    Jsonl,
    Geojson,
}

impl Input {
    /// Whether the file is text, which may be compressed.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Jsonl | Self::Geojson)
    }
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
    /// A Zarr store.
    Zarr,
    /// GeoTIFF.
    #[cfg(feature = "formats")]
    Tiff,
    /// NetCDF.
    #[cfg(feature = "formats")]
    NetCdf,
    /// NIfTI, compressed if the name of the file ends in `.gz`.
    #[cfg(feature = "formats")]
    Nifti,
    /// LAS.
    #[cfg(feature = "formats")]
    Las,
    /// Compressed LAS.
    #[cfg(feature = "formats")]
    Laz,
}

impl Output {
    /// The slice format with the same fields and orders of cells.
    pub(crate) const fn like(self) -> SliceFormat {
        match self {
            Self::Slice(format) => format,
            Self::Parquet => SliceFormat::Arrow,
            Self::Zarr => SliceFormat::Npy,
            #[cfg(feature = "formats")]
            Self::Las | Self::Laz => SliceFormat::Arrow,
            #[cfg(feature = "formats")]
            Self::Tiff | Self::NetCdf | Self::Nifti => SliceFormat::Npy,
        }
    }

    /// Whether a file lists cells with their coordinates.
    pub(crate) const fn is_table(self) -> bool {
        match self {
            Self::Slice(format) => format.lists_coordinates(),
            Self::Parquet => true,
            Self::Zarr => false,
            #[cfg(feature = "formats")]
            Self::Tiff | Self::NetCdf | Self::Nifti | Self::Las | Self::Laz => false,
        }
    }

    /// The extension of its files, without the dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Slice(format) => format.extension(),
            Self::Parquet => "parquet",
            Self::Zarr => "zarr",
            #[cfg(feature = "formats")]
            Self::Tiff => "tif",
            #[cfg(feature = "formats")]
            Self::NetCdf => "nc",
            #[cfg(feature = "formats")]
            Self::Nifti => "nii",
            #[cfg(feature = "formats")]
            Self::Las => "las",
            #[cfg(feature = "formats")]
            Self::Laz => "laz",
        }
    }

    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Slice(format) => format.aliases(),
            Self::Parquet => &["pq"],
            Self::Zarr => &[],
            #[cfg(feature = "formats")]
            Self::Tiff => &["tiff", "gtiff", "geotiff"],
            #[cfg(feature = "formats")]
            Self::NetCdf => &["netcdf", "cdf"],
            #[cfg(feature = "formats")]
            Self::Nifti => &["nifti"],
            #[cfg(feature = "formats")]
            Self::Las | Self::Laz => &[],
        }
    }
}

impl ValueEnum for Output {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Output>> = LazyLock::new(|| {
            let slices = SliceFormat::ALL.iter().copied().map(Output::Slice);
            let all = slices.chain([Output::Parquet, Output::Zarr]);
            #[cfg(feature = "formats")]
            let all = all.chain([Output::Tiff, Output::NetCdf, Output::Nifti, Output::Las, Output::Laz]);
            all.collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.extension()).aliases(self.aliases()))
    }
}

/// Extensions of text files.
const TEXT: &[&str] = &["csv", "tsv", "jsonl", "ndjson", "json", "geojson"];

/// The input formats or the output formats.
pub(crate) trait Format: ValueEnum {
    /// The formats of the other direction.
    type Opposite: ValueEnum;
    /// Participles for messages: for this direction, and for the other one.
    const DONE: [&'static str; 2];
    /// Extensions before `.gz` or `.zst` of files that are unpacked while they are read.
    const PACKED: &'static [&'static str];
    /// Extensions of unsupported formats, and how to convert their files.
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)];
}

impl Format for Input {
    type Opposite = Output;
    const DONE: [&'static str; 2] = ["read", "written"];
    const PACKED: &'static [&'static str] = TEXT;
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)] = &[
        (&["gz", "bz2", "xz", "zst", "zip"], "unpack it first, as in `gunzip IN`"),
        (
            &["orc", "xls", "xlsx", "ods", "sqlite", "db"],
            "convert it to Parquet or CSV first, for example with DuckDB or pandas",
        ),
        (
            &[
                "nc", "nc4", "cdf", "h5", "hdf5", "he5", "tif", "tiff", "nii", "las", "laz",
            ],
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
    const PACKED: &'static [&'static str] = TEXT;
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
    ];
}

impl Format for Output {
    type Opposite = Input;
    const DONE: [&'static str; 2] = ["written", "read"];
    const PACKED: &'static [&'static str] = &[];
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
            &["nc4", "h5", "hdf5"],
            "export an .nc or .npy and convert it, for example with xarray or numpy",
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

/// The extension of a name, without that of a compression if the file is unpacked while it is read.
fn ending<'a>(name: &'a str, packed: &[&str]) -> &'a str {
    let of = |name: &'a str| Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or("");
    let outer = of(name);
    let inner = of(name.strip_suffix(outer).map_or("", |n| n.trim_end_matches('.')));
    let is = |word: &str, words: &[&str]| words.iter().any(|w| w.eq_ignore_ascii_case(word));
    // NIfTI files are compressed as a matter of course.
    let unpacked = is(outer, &["gz", "zst"]) && is(inner, packed) || is(outer, &["gz"]) && is(inner, &["nii"]);
    if unpacked { inner } else { outer }
}

/// The format for the extension of a name.
///
/// # Errors
/// The extension is unknown. The message lists the supported extensions.
pub(crate) fn of_name<F: Format>(name: &str) -> Result<F, String> {
    let ending = ending(name, F::PACKED);
    F::from_str(ending, true).map_err(|_| {
        let [done, other] = F::DONE;
        let endings = endings::<F>();
        let what = ending.to_ascii_lowercase();
        match F::ELSEWHERE
            .iter()
            .find(|(endings, _)| endings.contains(&what.as_str()))
        {
            Some((_, help)) => {
                format!("{name}: such files cannot be {done}; {help}; supported extensions are {endings}")
            }
            None if F::Opposite::from_str(ending, true).is_ok() => {
                format!("{name}: .{ending} files can only be {other}, not {done}; supported extensions are {endings}")
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
            ".arrow .feather .ipc .parquet .pq .npy .npz .csv .tsv .jsonl .ndjson .json .geojson"
        );
        let why = of_name::<Output>("x.npz").unwrap_err();
        assert!(
            why.contains(".npz files can only be read") && why.contains(".npy .bin .csv"),
            "{why}"
        );
        assert!(!why.contains("--format"), "{why}");
        let why = of_name::<Input>("x").unwrap_err();
        assert!(why.contains("is unknown") && why.contains("--format"), "{why}");
        for (name, format) in [
            ("x.csv.gz", Input::Csv),
            ("x.TSV.zst", Input::Tsv),
            ("x.json.gz", Input::Jsonl),
            ("x.geojson", Input::Geojson),
        ] {
            assert_eq!(of_name(name), Ok(format));
        }
        let why = of_name::<Input>("x.npy.gz").unwrap_err();
        assert!(why.contains("such files cannot be read; unpack it first"), "{why}");
        let why = of_name::<Output>("x.csv.gz").unwrap_err();
        assert!(why.contains("compress the output"), "{why}");
    }
}
