//! The tests of `core` that need no disk and no threads, in a browser. They are compiled from its sources: there,
//! `#[test]` is the attribute of `wasm-bindgen-test`.
#![cfg(target_family = "wasm")]
#![allow(unexpected_cfgs, reason = "some tests are for features of core")]
#![allow(unused_imports, reason = "some imports are for tests that need a disk")]

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[path = "../../core/tests/aggregates/main.rs"]
mod aggregates;
#[path = "../../core/tests/dimensions.rs"]
mod dimensions;
#[path = "../../core/tests/filters/main.rs"]
mod filters;
#[path = "../../core/tests/format.rs"]
mod format;
#[path = "../../core/tests/hostile.rs"]
mod hostile;
#[path = "../../core/tests/labels.rs"]
mod labels;
#[path = "../../core/tests/lifecycle/main.rs"]
mod lifecycle;
#[path = "../../core/tests/messages.rs"]
mod messages;
#[path = "../../core/tests/ranges.rs"]
mod ranges;
#[path = "../../core/tests/read/main.rs"]
mod read;
#[path = "../../core/tests/requests.rs"]
mod requests;
#[path = "../../core/tests/schemas.rs"]
mod schemas;
#[path = "../../core/tests/view/main.rs"]
mod view;
