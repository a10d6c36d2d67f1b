//! The browser surface of Hyperslab.
