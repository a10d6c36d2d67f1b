//! Timed reads, one after another in a newly opened array. The answers are checked first.

use anyhow::Result;
use hyperslab::blocking::block_on;
use hyperslab::{Array, Batch, Query};
use serde_json::json;

use super::Job;
use super::data::{self, Sums};
use super::measure::{Metric, Unit, measure};

/// Times the queries under this name. `want` is their combined answer: the number of cells, and the sum of each column
/// that they read.
pub(super) fn read(job: &Job, name: &'static str, queries: &[Query], want: &Sums) -> Result<()> {
    let mut batch = Batch::default();
    let mut found = Sums::new();
    let array = job.open()?;
    for query in queries {
        block_on(array.read_into(query, &mut batch))?;
        data::add(&mut found, data::sums(&batch)?);
    }
    // Drop its caches; the timed reads below open the array again.
    drop(array);
    let correct = found.iter().all(|(name, sum)| want.get(name) == Some(sum));
    let cells = found.get("cells").copied().unwrap_or(0);
    let params = json!({"queries": queries.len(), "cells": cells / queries.len().max(1) as i64});
    let run = |array: Array| {
        for query in queries {
            block_on(array.read_into(query, &mut batch))?;
        }
        Ok(())
    };
    let metric = Metric::new(name, Unit::Milliseconds, queries.len(), params);
    measure(job, &metric, Some(correct), || job.open(), run)
}
