//! The WebAssembly bindings of Hyperslab, which the TypeScript in `npm/src` calls. They only convert values; defaults,
//! option objects and documentation are in TypeScript.
//!
//! Everything runs in one thread. [`bridge`] turns JavaScript's promises into futures that are `Send`.

mod array;
mod bridge;
mod columns;
mod describe;
mod error;
mod evolve;
mod group;
mod maintain;
mod metadata;
mod select;
mod store;
mod view;
mod writer;

pub use array::{RawArray, RawBatches};
pub use bridge::{Backend, JsVfs};
pub use group::RawGroup;
pub use store::{RawStore, codecs_loaded, parse_listing};
pub use view::RawView;
pub use writer::RawWriter;
