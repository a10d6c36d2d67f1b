//! The browser surface of Hyperslab: what the TypeScript of `npm/src` calls. It moves values across
//! the boundary and decides nothing; defaults, option objects and documentation are on the other side.
//!
//! Everything is one thread. JavaScript's promises stay in [`bridge`]: the engine sees plain futures.

mod array;
mod bridge;
mod columns;
mod error;
mod maintain;
mod select;
mod store;
mod view;

pub use array::{RawArray, RawBatches};
pub use bridge::{Backend, JsVfs};
pub use store::{RawStore, parse_listing};
pub use view::RawView;
