//! Reads a selection of a dataset as bytes, in the byte order of the file.

use anyhow::Result;
use hdf5_reader::{Dataset, Datatype, H5Type, SliceInfo};

use super::types::Layout;

/// The bytes of a selection, element by element in row-major order.
pub(super) fn read(dataset: &Dataset, selection: &SliceInfo, layout: &Layout) -> Result<Vec<u8>> {
    match layout.element_bytes {
        1 => numbers::<1>(dataset, selection),
        2 => numbers::<2>(dataset, selection),
        4 => numbers::<4>(dataset, selection),
        8 => numbers::<8>(dataset, selection),
        16 => numbers::<16>(dataset, selection),
        _ => whole(dataset, selection),
    }
}

fn numbers<const N: usize>(dataset: &Dataset, selection: &SliceInfo) -> Result<Vec<u8>> {
    let array = dataset.read_slice_parallel::<Element<N>>(selection)?;
    let (elements, _) = array.into_raw_vec_and_offset();
    let elements: Vec<[u8; N]> = elements.into_iter().map(|e| e.0).collect();
    Ok(elements.into_flattened())
}

fn whole(dataset: &Dataset, selection: &SliceInfo) -> Result<Vec<u8>> {
    let array = dataset.read_slice_parallel::<Whole>(selection)?;
    let (elements, _) = array.into_raw_vec_and_offset();
    Ok(elements.into_iter().find_map(|e| e.0).map_or_else(Vec::new, |b| *b))
}

/// An element of `N` bytes. The library decodes numbers of known types only; all others are decoded here.
#[derive(Clone)]
#[repr(transparent)]
struct Element<const N: usize>([u8; N]);

impl<const N: usize> H5Type for Element<N> {
    fn hdf5_type() -> Datatype {
        opaque(N)
    }

    fn from_bytes(bytes: &[u8], _: &Datatype) -> hdf5_reader::error::Result<Self> {
        let element = bytes.first_chunk::<N>().copied();
        element.map(Self).ok_or_else(|| short(N, bytes.len()))
    }

    fn element_size(_: &Datatype) -> usize {
        N
    }

    fn decode_vec(raw: &[u8], _: &Datatype, count: usize) -> Option<hdf5_reader::error::Result<Vec<Self>>> {
        let (elements, _) = raw.as_chunks::<N>();
        let elements = elements.get(..count)?;
        Some(Ok(elements.iter().copied().map(Self).collect()))
    }
}

/// An element of any size. The first one of a selection holds the bytes of all.
#[derive(Clone)]
#[expect(clippy::box_collection, reason = "8 bytes for each further element instead of 24")]
struct Whole(Option<Box<Vec<u8>>>);

impl H5Type for Whole {
    fn hdf5_type() -> Datatype {
        opaque(1)
    }

    fn from_bytes(bytes: &[u8], _: &Datatype) -> hdf5_reader::error::Result<Self> {
        Ok(Self(Some(Box::new(bytes.to_vec()))))
    }

    fn element_size(dtype: &Datatype) -> usize {
        hdf5_reader::dtype_element_size(dtype).unwrap_or(0)
    }

    fn decode_vec(raw: &[u8], _: &Datatype, count: usize) -> Option<hdf5_reader::error::Result<Vec<Self>>> {
        let first = Some(Self(Some(Box::new(raw.to_vec()))));
        let others = std::iter::repeat_with(|| Self(None)).take(count.saturating_sub(1));
        Some(Ok(first.into_iter().take(count).chain(others).collect()))
    }
}

fn opaque(size: usize) -> Datatype {
    Datatype::Opaque {
        size: u32::try_from(size).unwrap_or(u32::MAX),
        tag: String::new(),
    }
}

fn short(wanted: usize, found: usize) -> hdf5_reader::error::Error {
    hdf5_reader::error::Error::InvalidData(format!("an element has {found} bytes instead of {wanted}"))
}
