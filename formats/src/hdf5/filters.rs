//! The filters of chunks.

use hdf5_reader::FilterRegistry;
use hdf5_reader::filters::{FILTER_SHUFFLE, shuffle};
use hdf5_reader::messages::filter_pipeline::FilterDescription;

/// The filters of the library, but with the shuffle of HDF5: the bytes of a value are those that the file states. The
/// library takes the size of an element instead, which differs in sequences that old releases of HDF5 wrote.
pub(super) fn registry() -> FilterRegistry {
    let mut registry = FilterRegistry::new();
    let filter =
        |filter: &FilterDescription, data: &[u8], bytes: usize| Ok(unshuffled(&filter.client_data, data, bytes));
    registry.register(FILTER_SHUFFLE, Box::new(filter));
    registry
}

fn unshuffled(parameters: &[u32], data: &[u8], element_bytes: usize) -> Vec<u8> {
    let stated = parameters.first().and_then(|n| usize::try_from(*n).ok());
    shuffle::unshuffle(data, stated.filter(|n| *n > 0).unwrap_or(element_bytes))
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
