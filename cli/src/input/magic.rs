//! Detects files of another format by their first bytes.

use anyhow::{Result, bail};

use crate::formats::Input;

/// Bytes at the start of a file that are inspected.
pub(super) const HEAD_BYTES: u64 = 512;

/// A kind of file, and advice for it. The name of the file replaces `FILE` in the advice.
struct Kind {
    magic: &'static [u8],
    what: &'static str,
    /// The input formats that read such files.
    formats: &'static [Input],
    remedy: &'static str,
}

const fn kind(magic: &'static [u8], what: &'static str, formats: &'static [Input], remedy: &'static str) -> Kind {
    Kind {
        magic,
        what,
        formats,
        remedy,
    }
}

const TO_TABLE: &str = "convert it to Parquet or CSV first, for example with DuckDB or pandas";
const AS_TIFF: &str = "import it with --format tif";
const AS_NETCDF: &str = "import it with --format nc";

/// Text is unpacked while it is read.
const TEXT: &[Input] = &[Input::Csv, Input::Tsv, Input::Jsonl, Input::Geojson];

const KINDS: &[Kind] = &[
    kind(
        b"\x1f\x8b",
        "compressed with gzip",
        TEXT,
        "unpack it first: `gzip -dc < FILE > OUT`",
    ),
    kind(
        b"\x28\xb5\x2f\xfd",
        "compressed with zstd",
        TEXT,
        "unpack it first: `zstd -dc < FILE > OUT`",
    ),
    kind(
        b"\xfd7zXZ\0",
        "compressed with xz",
        &[],
        "unpack it first: `xz -dc < FILE > OUT`",
    ),
    kind(b"\x93NUMPY", "an .npy file", &[Input::Npy], "give --format npy"),
    kind(b"ARROW1\0\0", "an Arrow file", &[Input::Arrow], "give --format arrow"),
    kind(
        b"\xff\xff\xff\xff",
        "an Arrow stream",
        &[Input::Arrow],
        "give --format arrow",
    ),
    kind(
        b"FEA1",
        "a Feather file of version 1",
        &[],
        "read it with pandas and save it again with `df.to_feather(OUT)`",
    ),
    kind(
        b"PK\x03\x04",
        "a zip archive, as .npz and .xlsx files are",
        &[Input::Npz],
        "give --format npz for an .npz, save a spreadsheet as CSV, or unpack an archive with unzip",
    ),
    kind(b"PAR1", "a Parquet file", &[Input::Parquet], "give --format parquet"),
    kind(
        b"PARE",
        "an encrypted Parquet file",
        &[],
        "decrypt it first, for example with pyarrow",
    ),
    kind(b"ORC", "an ORC file", &[], TO_TABLE),
    kind(b"SQLite format 3\0", "an SQLite database", &[], TO_TABLE),
    kind(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an .xls spreadsheet",
        &[],
        "save it as CSV first",
    ),
    kind(b"\x89HDF\r\n\x1a\n", "an HDF5 or NetCDF file", &[], AS_NETCDF),
    kind(b"CDF\x01", "a NetCDF file", &[], AS_NETCDF),
    kind(b"CDF\x02", "a NetCDF file", &[], AS_NETCDF),
    kind(b"CDF\x05", "a NetCDF file", &[], AS_NETCDF),
    kind(b"II*\0", "a TIFF image", &[], AS_TIFF),
    kind(b"MM\0*", "a TIFF image", &[], AS_TIFF),
    kind(b"II+\0", "a TIFF image", &[], AS_TIFF),
    kind(b"MM\0+", "a TIFF image", &[], AS_TIFF),
    kind(b"LASF", "a LAS point cloud", &[], "import it with --format las"),
];

/// Returns an error if the first bytes of a file show that it does not have this format. `name` is the file's name.
pub(super) fn check(head: &[u8], format: Input, name: &str) -> Result<()> {
    if let Some(kind) = KINDS.iter().find(|k| is(head, k.magic)) {
        if !kind.formats.contains(&format) {
            let file = if name == "-" { "FILE" } else { name };
            bail!("it is {}; {}", kind.what, kind.remedy.replace("FILE", file));
        }
    } else if !format.is_text() && is_text(head) {
        bail!("it is text; if it is a table with a header line, give --format csv");
    }
    Ok(())
}

/// Whether a file starts with these bytes. If they are text, a text file does not count: it may have such a column
/// name.
fn is(head: &[u8], magic: &[u8]) -> bool {
    head.starts_with(magic) && !(is_text(magic) && is_text(head))
}

/// Whether bytes are text. The last character may be incomplete.
fn is_text(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => bytes
            .get(..e.valid_up_to())
            .and_then(|b| std::str::from_utf8(b).ok())
            .unwrap_or_default(),
        Err(_) => return false,
    };
    let is_plain = |c: char| !c.is_control() || matches!(c, '\t' | '\r' | '\n');
    !text.is_empty() && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(head: &[u8], format: Input, words: [&str; 2]) {
        let why = check(head, format, "a file").unwrap_err().to_string();
        assert!(words.iter().all(|w| why.contains(w)), "{why}");
    }

    #[test]
    fn files_of_other_formats_are_named_with_advice() {
        refused(b"\x1f\x8b\x08\0", Input::Npy, ["gzip", "`gzip -dc < a file > OUT`"]);
        refused(b"\x28\xb5\x2f\xfd", Input::Arrow, ["zstd", "zstd -dc"]);
        refused(b"\x93NUMPY\x01\0v\0", Input::Csv, [".npy", "--format npy"]);
        refused(b"ARROW1\0\0\xff\xff\xff\xff", Input::Tsv, ["Arrow", "--format arrow"]);
        refused(b"FEA1\0\0", Input::Arrow, ["Feather", "to_feather"]);
        refused(b"PAR1\x15\x04", Input::Arrow, ["Parquet", "--format parquet"]);
        refused(b"PARE\x15\x04", Input::Parquet, ["encrypted Parquet", "decrypt"]);
        refused(b"ORC\x15\x04", Input::Arrow, ["ORC", "DuckDB"]);
        refused(b"\x89HDF\r\n\x1a\n", Input::Npy, ["HDF5", "--format nc"]);
        refused(b"PK\x03\x04\x14", Input::Csv, [".xlsx", "--format npz"]);
        refused(b"a,b\n1,\xc3", Input::Arrow, ["text", "--format csv"]);
        refused(b"a,b\n1,2\n", Input::Npz, ["text", "--format csv"]);
    }

    #[test]
    fn files_of_their_format_and_unknown_ones_are_read() {
        for (head, format) in [
            (&b"ARROW1\0\0"[..], Input::Arrow),
            (b"\xff\xff\xff\xff\x08\0\0\0", Input::Arrow),
            (b"\x93NUMPY\x01\0", Input::Npy),
            (b"PK\x03\x04", Input::Npz),
            (b"PAR1\x15\x04", Input::Parquet),
            (b"\x1f\x8b\x08\0", Input::Csv),
            (b"\x28\xb5\x2f\xfd", Input::Jsonl),
            (b"", Input::Arrow),
            (b"\0\x01", Input::Npy),
            // Names of columns.
            (b"PAR1,ORC\n1,2\n", Input::Csv),
            (b"ORC\n1\n", Input::Csv),
            (b"\xff\xfea\0", Input::Csv),
        ] {
            check(head, format, "in").unwrap();
        }
    }
}
