//! Times a job and prints the results.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::Job;

/// The name of the engine in the output.
const PEER: &str = "hyperslab";
/// The name of the lower bound from memory to memory.
pub(super) const LIMIT: &str = "limit";
/// The name of the lower bound with files.
pub(super) const FILES: &str = "files";

/// One measurement of a job.
#[derive(Debug)]
pub(super) struct Metric {
    /// The engine or lower bound that is measured.
    pub(super) peer: &'static str,
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    /// Operations per run. Times are reported per operation.
    pub(super) per: usize,
    /// Additional fields of the output.
    pub(super) params: Value,
}

impl Metric {
    pub(super) const fn new(name: &'static str, unit: Unit, per: usize, params: Value) -> Self {
        Self {
            peer: PEER,
            name,
            unit,
            per,
            params,
        }
    }
}

/// A unit of time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
        }
    }

    const fn of_seconds(self, seconds: f64) -> f64 {
        match self {
            Self::Seconds => seconds,
            Self::Milliseconds => seconds * 1e3,
        }
    }
}

/// Runs the job's own command and `setup` untimed, then times `run` with the result of `setup`, as often as the job
/// says. `correct` is the result of an earlier check.
pub(super) fn measure<T>(
    job: &Job,
    metric: &Metric,
    correct: Option<bool>,
    mut setup: impl FnMut() -> Result<T>,
    mut run: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let began = Instant::now();
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    let scale = |seconds: f64| metric.unit.of_seconds(seconds) / metric.per as f64;
    let mut held = 0;
    for k in 0..job.warmup + job.runs {
        job.prepare()?;
        let ready = setup()?;
        forget_peak();
        held = memory_kb("VmRSS:").unwrap_or(0);
        let (cpu, wall) = (cpu_time()?, Instant::now());
        run(ready)?;
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_time()?.saturating_sub(cpu));
        if k >= job.warmup || wall > 3.0 {
            walls.push(scale(wall));
            cpus.push(scale(cpu.as_secs_f64()));
        }
        if walls.len() == job.runs || (!walls.is_empty() && began.elapsed().as_secs_f64() > job.seconds) {
            break;
        }
    }
    let mut params = json!({
        "config": "default",
        "threads": job.threads,
        "values": walls,
        "cpu": median(&cpus),
        "memory_before_kb": held,
        "memory_peak_kb": memory_kb("VmHWM:"),
    });
    if let (Some(all), Value::Object(more)) = (params.as_object_mut(), &metric.params) {
        all.extend(more.clone());
        all.extend(correct.map(|ok| ("check_ok".to_owned(), json!(ok))));
    }
    println!(
        "{}",
        json!({
            "workload": job.workload,
            "variant": job.variant,
            "peer": metric.peer,
            "metric": metric.name,
            "unit": metric.unit.name(),
            "median": median(&walls),
            "min": walls.iter().copied().reduce(f64::min),
            "runs": walls.len(),
            "params": params,
        })
    );
    Ok(())
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (lower, upper) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[lower] + sorted[upper]) / 2.0)
}

/// Processor time of all threads since the start.
fn cpu_time() -> Result<Duration> {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).context("the clock runs backwards")
}

/// Resets the peak of memory, if the system supports that.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn memory_kb(what: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with(what))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
