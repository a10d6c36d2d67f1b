//! The command line of a benchmark, and access to its array.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::blocking::block_on;
use hyperslab::schema::Schema;
use hyperslab::{Array, Context, CreateOptions, OpenOptions, WriteOptions};

/// One workload on one array.
#[derive(Debug, Clone)]
pub struct Job {
    /// The name of the workload.
    pub workload: String,
    /// Codec, set of queries or number of fragments, depending on the workload.
    pub variant: String,
    /// The array's folder.
    pub array: PathBuf,
    /// The folder of inputs and queries.
    pub data: PathBuf,
    /// The maximum number of timed runs.
    pub runs: usize,
    /// The number of runs before those.
    pub warmup: usize,
    /// No run starts after this time.
    pub seconds: f64,
    /// The number of compute threads.
    pub threads: usize,
    /// A shell command to run before each run, untimed.
    pub prepare: Option<String>,
    /// Whether to measure the lower bound too, if it is known.
    pub limit: bool,
}

impl Job {
    /// Parses the arguments.
    ///
    /// # Errors
    /// If arguments are missing or are not numbers.
    pub fn from_args(args: impl Iterator<Item = String>) -> Result<Self> {
        let mut places = Vec::new();
        let mut job = Self {
            workload: String::new(),
            variant: String::new(),
            array: PathBuf::new(),
            data: PathBuf::new(),
            runs: 5,
            warmup: 1,
            seconds: 8.0,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            prepare: None,
            limit: false,
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--json" | "--engine-only" => {}
                "--limit" => job.limit = true,
                "--data" => job.data = value()?.into(),
                "--runs" => job.runs = value()?.parse()?,
                "--warmup" => job.warmup = value()?.parse()?,
                "--seconds" => job.seconds = value()?.parse()?,
                "--threads" => job.threads = value()?.parse()?,
                "--prepare" => job.prepare = Some(value()?),
                _ if arg.starts_with("--") => bail!("no option {arg}"),
                _ => places.push(arg),
            }
        }
        let [workload, variant, array] = <[String; 3]>::try_from(places)
            .map_err(|_| anyhow::anyhow!("give a workload, a variant and the folder of an array"))?;
        Ok(Self {
            workload,
            variant,
            array: array.into(),
            ..job
        })
    }

    /// The parts of the variant.
    pub(super) fn parts(&self) -> Vec<&str> {
        self.variant.split('/').collect()
    }

    /// Runs the command that comes before each run.
    pub(super) fn prepare(&self) -> Result<()> {
        if let Some(command) = &self.prepare {
            let status = std::process::Command::new("sh").args(["-c", command]).status()?;
            ensure!(status.success(), "{command}: {status}");
        }
        Ok(())
    }

    /// A context without caches, and the array's name in it.
    pub(super) fn context(&self) -> Result<(Context, String)> {
        let folder = self.array.parent().context("the array has no folder")?;
        let name = self.array.file_name().context("the array has no name")?;
        Ok((Context::local(folder), name.to_string_lossy().into_owned()))
    }

    /// Opens the array.
    pub(super) fn open(&self) -> Result<Array> {
        let (context, name) = self.context()?;
        Ok(block_on(Array::open(&context, &name, &OpenOptions::default()))?)
    }

    /// Creates the array.
    pub(super) fn create(&self, schema: &Schema) -> Result<()> {
        let (context, name) = self.context()?;
        let w = written(0)?;
        let options = CreateOptions {
            timestamp_ms: w.timestamp_ms,
            seed: w.seed,
            key: None,
        };
        Ok(block_on(hyperslab::Array::create(
            &context,
            &name,
            schema,
            &[],
            &options,
        ))?)
    }

    /// Removes the array if it exists.
    pub(super) fn remove(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.array) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}

/// Options of a durable write with the current time, number `n` of this process. Of several writes in one millisecond,
/// the later one wins.
pub(super) fn written(n: u32) -> Result<WriteOptions> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut seed = [0; 32];
    let process = std::process::id();
    seed[..4].copy_from_slice(&n.to_be_bytes());
    seed[4..8].copy_from_slice(&process.to_le_bytes());
    seed[8..24].copy_from_slice(&now.as_nanos().to_le_bytes());
    Ok(WriteOptions {
        timestamp_ms: u64::try_from(now.as_millis())?,
        seed,
        sync: true,
    })
}
