//! The workloads of the benchmark, from the paper on TileDB, scaled to a small machine.
//!
//! Each workload reads its inputs, queries and expected answers from a folder of data, and is timed inside the process.
//! Answers are checked before they are timed.

mod bare;
mod data;
mod dense;
mod filters;
mod growth;
mod job;
mod limit;
mod make;
mod measure;
mod open;
mod read;
mod schema;
mod sparse;

use anyhow::Result;

pub use job::Job;

/// Runs a job. Returns `false` if its workload or variant is unknown.
///
/// # Errors
/// If the data is missing or the engine fails.
pub fn run(job: &Job) -> Result<bool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads)
        .build_global()?;
    match job.workload.as_str() {
        "make" => make::make(job),
        "dense-load" => dense::load(job),
        "dense-update" => dense::update(job),
        "dense-subarray" => dense::subarray(job),
        "dense-random" => dense::random(job),
        "dense-fragments" => dense::fragments(job),
        "dense-consolidate" => dense::consolidated(job),
        "sparse-load" => sparse::load(job),
        "sparse-subarray" => sparse::subarray(job),
        "sparse-fragments" => sparse::fragments(job),
        "sparse-consolidate" => sparse::consolidated(job),
        "open" => open::open(job),
        "growth" => growth::growth(job),
        "filters" => filters::filters(job),
        _ => Ok(false),
    }
}
