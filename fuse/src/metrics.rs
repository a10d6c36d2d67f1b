//! Counts of requests and failures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::errno::errno_name;

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name is looked up in a folder.
    Lookup,
    /// The attributes of a file or folder.
    Getattr,
    /// The target of a link.
    Readlink,
    /// A file is opened.
    Open,
    /// A part of a file is read.
    Read,
    /// A folder is listed.
    List,
    /// An extended attribute is read, or all are listed.
    Xattr,
    /// Anything that changes a file or folder.
    Write,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Lookup,
        Self::Getattr,
        Self::Readlink,
        Self::Open,
        Self::Read,
        Self::List,
        Self::Xattr,
        Self::Write,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Getattr => "getattr",
            Self::Readlink => "readlink",
            Self::Open => "open",
            Self::Read => "read",
            Self::List => "list",
            Self::Xattr => "xattr",
            Self::Write => "write",
        }
    }
}

/// Upper bounds of the buckets of durations, in microseconds and in seconds.
const BUCKETS: [(u64, &str); 6] = [
    (100, "0.0001"),
    (1_000, "0.001"),
    (10_000, "0.01"),
    (100_000, "0.1"),
    (1_000_000, "1"),
    (10_000_000, "10"),
];

/// Counts since the start.
#[derive(Debug)]
pub struct Metrics {
    started: Instant,
    kinds: [Durations; Kind::ALL.len()],
    /// The number of failures by error number.
    errors: Mutex<BTreeMap<i32, u64>>,
    read_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Durations {
    count: AtomicU64,
    total_us: AtomicU64,
    /// Requests by the first bucket that holds them. Longer requests are in none.
    buckets: [AtomicU64; BUCKETS.len()],
}

/// Values of the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauges {
    /// Files that programs have open.
    pub(crate) open_files: u64,
    /// Inodes that the kernel knows.
    pub(crate) inodes: u64,
    /// Memory of the cache, in bytes.
    pub(crate) cache_bytes: u64,
    /// Memory of the process, in bytes.
    pub(crate) resident_bytes: u64,
}

impl Gauges {
    fn all(self) -> [(&'static str, &'static str, u64); 4] {
        [
            ("open_files", "Files that programs have open.", self.open_files),
            ("inodes", "Inodes that the kernel knows.", self.inodes),
            (
                "cache_bytes",
                "Memory of the cache of tiles and files.",
                self.cache_bytes,
            ),
            ("resident_bytes", "Memory of the process.", self.resident_bytes),
        ]
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            kinds: Default::default(),
            errors: Mutex::default(),
            read_bytes: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// Counts an answered request, which failed with the error number `error` if there is one.
    pub fn count(&self, kind: Kind, took: Duration, error: Option<i32>) {
        let outcome = error.map_or("ok".into(), errno_name);
        log::debug!("{}: {outcome} in {took:?}", kind.name());
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(durations) = self.kinds.get(kind as usize) {
            add(&durations.count, 1);
            add(&durations.total_us, us);
            let bucket = BUCKETS.iter().position(|(most, _)| us <= *most);
            if let Some(bucket) = bucket.and_then(|i| durations.buckets.get(i)) {
                add(bucket, 1);
            }
        }
        if let Some(number) = error {
            *self.errors().entry(number).or_default() += 1;
        }
    }

    /// Counts bytes that were read from files.
    pub fn count_read(&self, bytes: usize) {
        add(&self.read_bytes, bytes as u64);
    }

    /// Everything as JSON.
    pub(crate) fn json(&self, gauges: Gauges) -> Value {
        let requests: serde_json::Map<_, _> = self
            .kinds()
            .map(|(kind, d)| {
                let counts = json!({"count": get(&d.count), "seconds": seconds(get(&d.total_us))});
                (kind.name().to_owned(), counts)
            })
            .collect();
        let errors: serde_json::Map<_, _> = self
            .errors()
            .iter()
            .map(|(number, count)| (errno_name(*number).into_owned(), json!(count)))
            .collect();
        let mut all = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "requests": requests,
            "errors": errors,
            "read_bytes": get(&self.read_bytes),
        });
        for (name, _, value) in gauges.all() {
            all[name] = json!(value);
        }
        all
    }

    /// Everything in the text format of Prometheus.
    pub(crate) fn prometheus(&self, gauges: Gauges) -> String {
        let mut text = String::new();
        head(&mut text, "request_seconds", "histogram", "Durations of requests.");
        for (kind, d) in self.kinds() {
            let kind = kind.name();
            let mut sum = 0;
            for ((_, most), bucket) in BUCKETS.iter().zip(&d.buckets) {
                sum += get(bucket);
                line(
                    &mut text,
                    &format!("request_seconds_bucket{{kind=\"{kind}\",le=\"{most}\"}}"),
                    sum,
                );
            }
            let count = get(&d.count);
            line(
                &mut text,
                &format!("request_seconds_bucket{{kind=\"{kind}\",le=\"+Inf\"}}"),
                count,
            );
            line(
                &mut text,
                &format!("request_seconds_sum{{kind=\"{kind}\"}}"),
                seconds(get(&d.total_us)),
            );
            line(&mut text, &format!("request_seconds_count{{kind=\"{kind}\"}}"), count);
        }
        head(&mut text, "errors_total", "counter", "Failed requests by error number.");
        for (number, count) in &*self.errors() {
            line(
                &mut text,
                &format!("errors_total{{errno=\"{}\"}}", errno_name(*number)),
                count,
            );
        }
        head(&mut text, "read_bytes_total", "counter", "Bytes read from files.");
        line(&mut text, "read_bytes_total", get(&self.read_bytes));
        for (name, help, value) in gauges.all() {
            head(&mut text, name, "gauge", help);
            line(&mut text, name, value);
        }
        text
    }

    fn kinds(&self) -> impl Iterator<Item = (Kind, &Durations)> {
        Kind::ALL.into_iter().zip(&self.kinds)
    }

    fn errors(&self) -> std::sync::MutexGuard<'_, BTreeMap<i32, u64>> {
        // Code under the lock does not panic, so the data is consistent.
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP fuse_mount_{name} {help}\n# TYPE fuse_mount_{name} {kind}");
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "fuse_mount_{name} {value}");
}

// Counters are independent of each other, so no order is needed.
fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn seconds(us: u64) -> f64 {
    Duration::from_micros(us).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUGES: Gauges = Gauges {
        open_files: 3,
        inodes: 4,
        cache_bytes: 6,
        resident_bytes: 5,
    };

    #[test]
    fn requests_are_counted_by_kind_duration_and_error() {
        let metrics = Metrics::default();
        metrics.count(Kind::Read, Duration::from_micros(100), None);
        metrics.count(Kind::Read, Duration::from_millis(1500), Some(5));
        metrics.count(Kind::Lookup, Duration::from_secs(60), Some(2));
        metrics.count_read(77);
        let json = metrics.json(GAUGES);
        assert_eq!(json["requests"]["read"], json!({"count": 2, "seconds": 1.5001}));
        assert_eq!(json["errors"], json!({"EIO": 1, "ENOENT": 1}));
        assert_eq!((&json["read_bytes"], &json["inodes"]), (&json!(77), &json!(4)));
        let text = metrics.prometheus(GAUGES);
        for line in [
            "# TYPE fuse_mount_request_seconds histogram",
            "fuse_mount_request_seconds_bucket{kind=\"read\",le=\"0.0001\"} 1",
            "fuse_mount_request_seconds_bucket{kind=\"read\",le=\"1\"} 1",
            "fuse_mount_request_seconds_bucket{kind=\"read\",le=\"10\"} 2",
            "fuse_mount_request_seconds_bucket{kind=\"lookup\",le=\"10\"} 0",
            "fuse_mount_request_seconds_bucket{kind=\"lookup\",le=\"+Inf\"} 1",
            "fuse_mount_request_seconds_sum{kind=\"read\"} 1.5001",
            "fuse_mount_errors_total{errno=\"EIO\"} 1",
            "fuse_mount_read_bytes_total 77",
            "fuse_mount_open_files 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
