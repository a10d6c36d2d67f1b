//! The filters of chunks.

use anyhow::Context as _;
use hdf5_reader::error::Error;
use hdf5_reader::filters::{FILTER_SHUFFLE, FilterFn};
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use hdf5_reader::{DEFAULT_MAX_CHUNK_BYTES, FilterRegistry};

use crate::codecs;

/// Filters of the HDF5 group's list, by number.
const LZF: u16 = 32000;
const BLOSC: u16 = 32001;
const ZSTD: u16 = 32015;
const BLOSC2: u16 = 32026;

/// The filters of the library, further ones, and the shuffle of HDF5: the bytes of a value are those that the file
/// states. The library takes the size of an element instead, which differs in sequences that old releases of HDF5
/// wrote.
pub(super) fn registry() -> FilterRegistry {
    let mut registry = FilterRegistry::new();
    let filter =
        |filter: &FilterDescription, data: &[u8], bytes: usize| Ok(unshuffled(&filter.client_data, data, bytes));
    registry.register(FILTER_SHUFFLE, Box::new(filter));
    registry.register(LZF, decoder("LZF", codecs::lzf));
    registry.register(BLOSC, decoder("Blosc", codecs::blosc::decompress));
    registry.register(ZSTD, decoder("Zstandard", codecs::zstd));
    registry.register(BLOSC2, decoder("Blosc 2", codecs::blosc2::decompress));
    registry
}

type Decode = fn(&[u8], usize) -> anyhow::Result<Vec<u8>>;

fn decoder(name: &'static str, decode: Decode) -> FilterFn {
    Box::new(move |_, data, _| {
        let decoded = decode(data, DEFAULT_MAX_CHUNK_BYTES).with_context(|| format!("the filter {name} failed"));
        decoded.map_err(|why| Error::DecompressionError(format!("{why:#}")))
    })
}

fn unshuffled(parameters: &[u32], data: &[u8], element_bytes: usize) -> Vec<u8> {
    let stated = parameters.first().and_then(|n| usize::try_from(*n).ok());
    codecs::unshuffled(data, stated.filter(|n| *n > 0).unwrap_or(element_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_states_the_size_of_shuffled_values() {
        assert_eq!(unshuffled(&[2], b"acegbdfh", 4), b"abcdefgh");
        assert_eq!(unshuffled(&[], b"aebfcgdh", 4), b"abcdefgh");
    }
}
