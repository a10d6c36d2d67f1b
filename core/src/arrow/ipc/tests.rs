use std::io::Cursor;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, StringViewArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::*;

const MIB: u64 = 1 << 20;

fn written(array: ArrayRef, codec: Option<CompressionType>) -> [Vec<u8>; 2] {
    let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let mut file = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options.clone()).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    stream.write(&batch).unwrap();
    [file.into_inner().unwrap(), stream.into_inner().unwrap()]
}

fn rows(bytes: &[u8], bytes_max: u64) -> Result<usize> {
    let mut reader = IpcReader::new(Cursor::new(bytes), bytes_max)?;
    let mut rows = 0;
    while let Some(batch) = reader.next_batch()? {
        rows += batch.rows.num_rows();
    }
    Ok(rows)
}

#[test]
fn the_size_of_decoded_data_is_limited() {
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 1 << 20]));
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        for bytes in written(zeros.clone(), Some(codec)) {
            assert!(bytes.len() < 100_000, "{}", bytes.len());
            assert_eq!(rows(&bytes, 9 * MIB).unwrap(), 1 << 20);
            let error = rows(&bytes, 7 * MIB).unwrap_err();
            assert!(matches!(error, Error::LimitExceeded { .. }), "{error}");
        }
    }
    // A thousand keys of the same long value.
    let long = "x".repeat(100_000);
    let cells = std::iter::repeat_n(Some(long.as_str()), 1000);
    let dictionary: DictionaryArray<Int8Type> = cells.clone().collect();
    let views: StringViewArray = std::iter::repeat_n(Some("a text longer than a view"), 100_000).collect();
    for (array, small, enough) in [
        (Arc::new(dictionary) as ArrayRef, 50 * MIB, 200 * MIB),
        (Arc::new(views), 3 * MIB, 20 * MIB),
    ] {
        for bytes in written(array, None) {
            assert!(rows(&bytes, enough).is_ok());
            assert!(matches!(rows(&bytes, small), Err(Error::LimitExceeded { .. })));
        }
    }
}

#[test]
fn a_truncated_file_is_an_error() {
    let [file, stream] = written(Arc::new(Int64Array::from(vec![1, 2, 3])), None);
    for end in 0..file.len() {
        assert!(rows(&file[..end], MIB).is_err(), "{end}");
    }
    for end in 0..stream.len() {
        // Streams may lack an end marker.
        let read = rows(&stream[..end], MIB);
        assert!(read.as_ref().is_err() || matches!(read, Ok(0 | 3)), "{end}");
    }
    assert_eq!((rows(&file, MIB).unwrap(), rows(&stream, MIB).unwrap()), (3, 3));
}
