//! Turns a panic in a library that reads a damaged file into an error.

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use anyhow::{Result, anyhow};
use hyperslab::Column;

use crate::{Plan, Source};

thread_local! {
    /// Whether this thread runs a library whose panics become errors.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// A source whose panics become errors.
pub(crate) struct Guarded(pub(crate) Box<dyn Source>);

impl Source for Guarded {
    fn plan(&self) -> &Plan {
        self.0.plan()
    }

    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        guarded(|| self.0.read_box(array, ranges))
    }

    fn read_rows(&mut self, array: usize, rows: usize) -> Result<Option<Vec<(String, Column)>>> {
        guarded(|| self.0.read_rows(array, rows))
    }
}

/// Runs `read`, and returns an error if it panics. The panic prints nothing.
///
/// # Errors
/// Those of `read`, or its panic.
pub fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info);
            }
        }));
    });
    GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    done.unwrap_or_else(|why| {
        let why = said(why.as_ref());
        Err(anyhow!(
            "the file is damaged, or has something that is not supported ('{why}'); check it with ncdump, h5dump or gdalinfo"
        ))
    })
}

fn said(why: &(dyn Any + Send)) -> &str {
    let owned = || why.downcast_ref::<String>().map(String::as_str);
    why.downcast_ref::<&str>()
        .copied()
        .or_else(owned)
        .unwrap_or("no reason")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = guarded::<()>(|| panic!("index {} out of range", 7)).unwrap_err();
        assert!(error.to_string().contains("index 7 out of range"), "{error}");
        assert!(matches!(guarded(|| Ok(3)), Ok(3)));
    }
}
