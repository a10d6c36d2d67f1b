//! The options of a writable mount.

use anyhow::{Result, bail};
use hyperslab_cli::sizes;

use crate::filesystem::FileSystem;
use crate::writing::Writing;

/// The options of a writable mount.
#[derive(Debug, Clone, clap::Args)]
pub struct WriteArgs {
    /// Add a folder put/ to each array, which takes new cells as files
    #[arg(long)]
    pub writable: bool,
    /// With --writable: the limit for files that are not complete yet. They are in the folder for temporary files (TMPDIR)
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = sizes::parse)]
    pub staging_size: u64,
}

impl WriteArgs {
    /// Returns an error if the source cannot be written to.
    ///
    /// # Errors
    /// The mount shows a past time, or the source is read over HTTP.
    pub fn check(&self, source: &str, is_past: bool) -> Result<()> {
        if !self.writable {
            return Ok(());
        }
        if is_past {
            bail!("--writable cannot be used with --at: a past time does not change; omit one of them");
        }
        if source.starts_with("http:") || source.starts_with("https:") {
            bail!(
                "--writable cannot be used with HTTP, which has no writes; mount the store by its s3:, gs: or az: URL"
            );
        }
        Ok(())
    }

    /// The file system with the folders, if the mount is writable.
    pub fn apply(&self, files: FileSystem) -> FileSystem {
        if !self.writable {
            return files;
        }
        files.writable(&Writing {
            staging_folder: std::env::temp_dir(),
            staging_bytes_max: self.staging_size,
        })
    }
}
