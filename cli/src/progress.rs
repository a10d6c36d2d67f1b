//! Progress bars: shown on a terminal, hidden in a pipe.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{show, sizes};

static QUIET: AtomicBool = AtomicBool::new(false);
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);
/// Whether the current bar counts the bytes that are written to the store.
static COUNTS_WRITES: AtomicBool = AtomicBool::new(false);

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
        let template = match (total, unit) {
            (Some(_), "bytes") => "{msg} {wide_bar:.cyan/dim} {amount} {left}".to_owned(),
            (Some(_), _) => format!("{{msg}} {{wide_bar:.cyan/dim}} {{human_pos}}/{{human_len}} {unit} {{left}}"),
            (None, _) => format!("{{msg}} {{spinner}} {{human_pos}} {unit} {{elapsed}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            // A bar has no way to report that it cannot be formatted.
            let amount = |state: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&sizes::part(state.pos(), state.len().unwrap_or_default()));
            };
            let left = |state: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&time_left(state.eta().as_secs()));
            };
            bar.set_style(style.with_key("amount", amount).with_key("left", left));
        }
        COUNTS_WRITES.store(false, Ordering::Relaxed);
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self(bar)
    }

    /// Starts a bar for about `total` bytes that are written to the store.
    pub(crate) fn of_writes(what: &'static str, total: u64) -> Self {
        let progress = Self::new(what, Some(total), "bytes");
        COUNTS_WRITES.store(true, Ordering::Relaxed);
        progress
    }

    /// Prints a line on standard error, above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.0.suspend(|| show::styled(line));
    }

    /// Adds `n` completed units.
    pub(crate) fn add(&self, n: u64) {
        self.0.inc(n);
    }
}

/// Counts bytes that were written to the store, if the current bar is about these.
pub(crate) fn written(bytes: u64) {
    if COUNTS_WRITES.load(Ordering::Relaxed)
        && let Some(bar) = &*CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
    {
        bar.inc(bytes);
    }
}

/// The time that is left, in its largest unit.
fn time_left(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s left"),
        60..3600 => format!("{} min left", seconds / 60),
        _ => format!("{} h left", seconds / 3600),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_has_one_unit() {
        assert_eq!(
            [1, 59, 60, 3599, 3600].map(time_left),
            ["1 s left", "59 s left", "1 min left", "59 min left", "1 h left"]
        );
    }
}
