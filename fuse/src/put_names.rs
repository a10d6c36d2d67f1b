//! The names of files in `put/`.

use hyperslab::blocking::block_on;
use hyperslab::view::View;
use hyperslab_cli::put::Destination;

use crate::errno::{FsError, Refusal};
use crate::put_state::Folder;

/// The cells that a name selects; `None` for a temporary name.
pub(crate) fn destination(view: &View, folder: &Folder, name: &str) -> Result<Option<Destination>, FsError> {
    if is_temporary(name) {
        return Ok(None);
    }
    let array = folder.array(view)?;
    let parsed = block_on(Destination::of(name, &array));
    Ok(Some(parsed.map_err(|e| Refusal::of_write(&e))?))
}

/// Whether programs use such a name before they rename the file, or for files of their own: `.x.npy.AbCdEf` (rsync),
/// `x.csv~`, `4913` and `.x.csv.swp` (editors), `x.npy.part`, `tmp_x.csv` (databases).
pub(crate) fn is_temporary(name: &str) -> bool {
    const ENDINGS: [&str; 10] = [
        "part",
        "partial",
        "tmp",
        "temp",
        "new",
        "bak",
        "crdownload",
        "download",
        "swp",
        "filepart",
    ];
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    name.starts_with(['.', '#'])
        || name.ends_with(['~', '#'])
        || name.to_ascii_lowercase().starts_with("tmp")
        || ending.is_none_or(|e| ENDINGS.contains(&e.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_unfinished_files_are_temporary() {
        for name in [
            ".all.npy.AbCdEf",
            "all.npy.part",
            "all.csv~",
            "4913",
            ".all.csv.swp",
            "tmp_all.csv",
            "#all.csv#",
        ] {
            assert!(is_temporary(name), "{name}");
        }
        for name in ["all.npy", "0:10,5:20.csv", "1.5:2.5.arrow", "all.parquet"] {
            assert!(!is_temporary(name), "{name}");
        }
    }
}
