//! Copies input files from web servers and buckets to the temporary folder, because their readers need to seek.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use hyperslab::vfs::{self, VfsExt as _, open_file_url};
use hyperslab_formats::InputFile;

use crate::formats::{self, ImportFormat};
use crate::output_file::free;
use crate::progress::Progress;
use crate::signals::{Pending, temporary_path};
use crate::{leftovers, sizes};

/// Bytes that are requested at a time.
const PART_BYTES: u64 = 16 << 20;
/// The most characters of a URL's last part that the copy's name keeps.
const NAME_CHARS_MAX: usize = 100;

/// Input files on the local disk. Copies of remote ones are removed when this is dropped, or on a signal.
#[derive(Debug)]
pub(crate) struct Inputs {
    files: Vec<InputFile>,
    _copies: Option<Pending>,
}

impl Inputs {
    /// The files in the order of the arguments.
    pub(crate) fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// The first file; standard input if there is none.
    pub(crate) fn first(&self) -> InputFile {
        self.files.first().cloned().unwrap_or_else(|| InputFile::new("-"))
    }

    /// Downloads the files that `names` are URLs of, unless their format is read where it is.
    ///
    /// # Errors
    /// A file cannot be read, or the disk of the temporary folder has no room for it.
    pub(crate) async fn fetch(names: &[String], asked: Option<ImportFormat>) -> Result<Self> {
        let (mut files, mut copies) = (Vec::new(), None);
        for (number, name) in names.iter().enumerate() {
            let local = vfs::local_path(name).map(Path::to_owned);
            let path = match local {
                Some(path) => path,
                None if stays(name, asked) => PathBuf::from(name),
                None => {
                    let folder = match &copies {
                        Some(folder) => folder,
                        None => copies.insert(temporary_folder()?),
                    };
                    let path = folder.path().join(number.to_string()).join(plain_name(name));
                    let copied = copy(name, &path).await;
                    copied.with_context(|| format!("cannot download {name}"))?;
                    path
                }
            };
            files.push(InputFile {
                name: name.clone(),
                path,
            });
        }
        Ok(Self { files, _copies: copies })
    }
}

/// Whether the reader of a file opens URLs.
fn stays(name: &str, asked: Option<ImportFormat>) -> bool {
    let format = asked.or_else(|| formats::of_name(plain(name)).ok());
    matches!(format, Some(ImportFormat::File(format)) if format.reads_urls())
}

/// A URL without its query.
pub(crate) fn plain(name: &str) -> &str {
    match vfs::local_path(name) {
        Some(_) => name,
        None => name.split(['?', '#']).next().unwrap_or(name),
    }
}

/// A file name that ends as the path of a URL does, because the extension may tell the format.
fn plain_name(url: &str) -> String {
    let last = plain(url).trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let kept: Vec<char> = last.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let end = kept.get(kept.len().saturating_sub(NAME_CHARS_MAX)..).unwrap_or(&kept);
    format!("in-{}", end.iter().collect::<String>())
}

/// A new folder that only this user can read.
fn temporary_folder() -> Result<Pending> {
    let parent = std::env::temp_dir();
    leftovers::remove(&parent);
    let path = temporary_path(&parent.join("in"))?;
    let mut folder = Pending::new(path);
    let made = private_folder(folder.path());
    made.with_context(|| format!("cannot create the folder {}", folder.path().display()))?;
    folder.hold();
    Ok(folder)
}

#[cfg(unix)]
fn private_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> std::io::Result<()> {
    fs::create_dir(path)
}

/// Copies the file at a URL to `path`, whose folder is created.
async fn copy(url: &str, path: &Path) -> Result<()> {
    let (store, file) = open_file_url(url)?;
    let size = store.size(&file).await.map_err(|e| explained(e, url))?;
    if let Some(folder) = path.parent() {
        fs::create_dir(folder)?;
    }
    let mut copy = File::create(path)?;
    let room = free(&copy).unwrap_or(u64::MAX);
    ensure!(
        size <= room,
        "it has {}, and there is room for {} in {}; set the environment variable TMPDIR to a folder on a larger disk",
        sizes::show(size),
        sizes::show(room),
        std::env::temp_dir().display()
    );
    let progress = Progress::new("downloading", Some(size), "bytes");
    let mut start = 0;
    while start < size {
        let end = size.min(start + PART_BYTES);
        for part in store.read(&file, &[start..end]).await? {
            copy.write_all(&part)?;
        }
        progress.add(end - start);
        start = end;
    }
    Ok(copy.flush()?)
}

/// Adds to an error what a folder of files needs.
fn explained(error: hyperslab::Error, url: &str) -> anyhow::Error {
    let is_absent = matches!(error, hyperslab::Error::NotFound { .. });
    if !is_absent {
        return error.into();
    }
    match formats::of_name::<ImportFormat>(plain(url)) {
        Ok(_) => anyhow!("there is no such file; check the address"),
        Err(_) => anyhow!("there is no such file; if it is a folder with a Zarr store, give --format zarr"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_keep_the_extension_of_the_path() {
        assert_eq!(plain_name("https://a.b/c/day%201.nc?token=x/y.tif"), "in-day_201.nc");
        assert_eq!(plain_name("s3://bucket/a.csv.gz"), "in-a.csv.gz");
        assert_eq!(plain_name("https://a.b/"), "in-a.b");
        assert_eq!(plain_name(&format!("https://a.b/{}.nc", "x".repeat(300))).len(), 103);
    }
}
