//! The formats of files, and the endings of names that stand for them: of these lists help, messages and the
//! reading of the command line are made.

use clap::ValueEnum;

/// What cells are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Input {
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    Npy,
    Npz,
    Csv,
    Tsv,
}

/// What cells are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    Npy,
    Csv,
    Tsv,
    Json,
    #[value(alias = "ndjson")]
    Jsonl,
    Bin,
    Png,
}

/// The formats of one direction.
pub(crate) trait Format: ValueEnum {
    /// The formats of the other one.
    type Opposite: ValueEnum;
    /// What is done with a file, and what is done with one of the other direction.
    const DONE: [&'static str; 2];
    /// Endings of other formats, and how files of them come to be one of these.
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)];
}

impl Format for Input {
    type Opposite = Output;
    const DONE: [&'static str; 2] = ["read", "written"];
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)] = &[
        (
            &["gz", "bz2", "xz", "zst", "zip"],
            "unpack it first, as in `zcat IN | hyperslab import - ARRAY --format csv`",
        ),
        (
            &["parquet", "orc", "xls", "xlsx", "ods", "sqlite", "db"],
            "make an Arrow file or a CSV of it first, for instance with DuckDB or pandas",
        ),
        (
            &["nc", "h5", "hdf5", "tif", "tiff", "grib", "grb2"],
            "make an .npy of each of its arrays first, for instance with xarray",
        ),
    ];
}

impl Format for Output {
    type Opposite = Input;
    const DONE: [&'static str; 2] = ["written", "read"];
    const ELSEWHERE: &'static [(&'static [&'static str], &'static str)] = &[
        (
            &["gz", "bz2", "xz", "zst", "zip"],
            "pack it behind the export, as in `hyperslab export ARRAY - --format csv | gzip > OUT`",
        ),
        (
            &["parquet", "orc", "xls", "xlsx"],
            "export an Arrow file and convert it, for instance with DuckDB or pandas",
        ),
        (
            &["nc", "h5", "hdf5", "tif", "tiff"],
            "export an .npy and convert it, for instance with xarray or GDAL",
        ),
    ];
}

/// The endings of all formats of a direction, each with its dot.
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

/// The format that the ending of a name stands for.
///
/// # Errors
/// A sentence that lists the endings there are.
pub(crate) fn of_name<F: Format>(name: &str) -> Result<F, String> {
    let ending = std::path::Path::new(name).extension().and_then(|e| e.to_str());
    let ending = ending.unwrap_or("");
    F::from_str(ending, true).map_err(|_| {
        let [done, other] = F::DONE;
        let endings = endings::<F>();
        if F::Opposite::from_str(ending, true).is_ok() {
            return format!("{name}: .{ending} files can only be {other}, not {done}; the endings are {endings}");
        }
        let what = ending.to_ascii_lowercase();
        match F::ELSEWHERE
            .iter()
            .find(|(endings, _)| endings.contains(&what.as_str()))
        {
            Some((_, help)) => format!("{name}: such files are not {done}; {help}; the endings are {endings}"),
            None => format!(
                "the ending of {name} says no format; the endings are {endings}; if it is to be one of them by another \
                 name, say which with --format"
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_stand_for_formats_in_their_direction_only() {
        assert_eq!(of_name("a.b/x.FEATHER"), Ok(Input::Arrow));
        assert_eq!(of_name("x.ndjson"), Ok(Output::Jsonl));
        assert_eq!(endings::<Input>(), ".arrow .feather .ipc .npy .npz .csv .tsv");
        let why = of_name::<Output>("x.npz").unwrap_err();
        assert!(
            why.contains(".npz files can only be read") && why.contains(".npy .csv"),
            "{why}"
        );
        assert!(!why.contains("--format"), "{why}");
        let why = of_name::<Input>("x").unwrap_err();
        assert!(why.contains("says no format") && why.contains("--format"), "{why}");
        let why = of_name::<Input>("x.csv.gz").unwrap_err();
        assert!(why.contains("such files are not read; unpack it first"), "{why}");
    }
}
