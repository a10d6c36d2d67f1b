//! Progress bars: shown on a terminal, hidden in a pipe.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::show;

static QUIET: AtomicBool = AtomicBool::new(false);
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Disables all further bars.
pub(crate) fn silence() {
    QUIET.store(true, Ordering::Relaxed);
}

/// A progress bar. It disappears when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Starts a bar for `total` units, or for an unknown number of them.
    pub(crate) fn new(what: &'static str, total: Option<u64>, unit: &str) -> Self {
        // indicatif hides the bar if there is no terminal.
        let target = if QUIET.load(Ordering::Relaxed) {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(total, target).with_message(what);
        let (number, whole) = if unit == "bytes" {
            ("binary_bytes", "binary_total_bytes")
        } else {
            ("human_pos", "human_len")
        };
        let template = match total {
            Some(_) => format!("{{msg}} {{wide_bar:.cyan/dim}} {{{number}}}/{{{whole}}} {unit} {{eta}}"),
            None => format!("{{msg}} {{spinner}} {{{number}}} {unit} {{elapsed}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self(bar)
    }

    /// Prints a line on standard error, above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.0.suspend(|| show::complaint(line));
    }

    /// Adds `n` completed units.
    pub(crate) fn add(&self, n: u64) {
        self.0.inc(n);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Removes the bar from the terminal, so that a message has its own line.
pub(crate) fn clear() {
    if let Some(bar) = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}
