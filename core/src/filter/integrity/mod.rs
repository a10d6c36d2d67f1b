//! Filters that protect data: checksums and encryption.

pub(super) mod aes_gcm;
pub(super) mod checksum;
