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
}

impl Format for Input {
    type Opposite = Output;
    const DONE: [&'static str; 2] = ["read", "written"];
}

impl Format for Output {
    type Opposite = Input;
    const DONE: [&'static str; 2] = ["written", "read"];
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
        let why = if F::Opposite::from_str(ending, true).is_ok() {
            format!("{name}: .{ending} files can only be {other}, not {done}")
        } else {
            format!("the ending of {name} says no format")
        };
        format!("{why}; the endings are {}; or give --format", endings::<F>())
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
        assert!(of_name::<Input>("x").unwrap_err().contains("says no format"));
    }
}
