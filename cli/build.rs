//! Packs the built viewer into a zip file, which the program embeds (feature `viewer`).

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "viewer")]
    viewer::pack()?;
    Ok(())
}

#[cfg(feature = "viewer")]
mod viewer {
    use std::error::Error;
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    /// The folder of the built viewer. If it does not exist, the zip file is empty, so that checks of all features need
    /// no build of the viewer.
    const VIEWER: &str = "../web-demo/dist";

    /// Writes `viewer.zip` to the folder of generated files.
    pub(super) fn pack() -> Result<(), Box<dyn Error>> {
        println!("cargo::rerun-if-changed={VIEWER}");
        let to = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
        let mut zip = ZipWriter::new(File::create(to.join("viewer.zip"))?);
        if Path::new(VIEWER).is_dir() {
            add(&mut zip, Path::new(VIEWER), "")?;
        }
        zip.finish()?;
        Ok(())
    }

    /// Adds the files of a folder in the order of their names, without times, so that a build can be repeated.
    fn add(zip: &mut ZipWriter<File>, folder: &Path, prefix: &str) -> Result<(), Box<dyn Error>> {
        let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                add(zip, &entry.path(), &format!("{name}/"))?;
            } else {
                zip.start_file(name, SimpleFileOptions::default())?;
                io::copy(&mut File::open(entry.path())?, zip)?;
            }
        }
        Ok(())
    }
}
