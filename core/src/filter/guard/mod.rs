//! Filters that watch over bytes: checksums and encryption.

pub(super) mod aes_gcm;
pub(super) mod checksum;
