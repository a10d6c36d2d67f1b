//! Imports of damaged files: each ends with an array or an error, never with a panic.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::types::Int16Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::attributes;
use crate::input::{Table, column, read_arrow, read_npy, read_npz};

/// A random number generator with a fixed seed. Its quality does not matter.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n.max(1) as u64).unwrap_or(0)
    }
}

/// Truncates the file, and inserts and overwrites bytes. Prefers values that are extreme as counts and lengths.
fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len() + 1);
        let value = [0, 1, 0x7f, 0x80, 0xff, chance.below(256) as u8][chance.below(6)];
        match chance.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, value),
            2 => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(value);
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|b| *b = value),
        }
    }
}

/// A function that reads files of one format.
type Read = fn(Vec<u8>) -> anyhow::Result<Table>;

/// Runs an import without the write.
fn import(bytes: &[u8], read: Read) {
    let Ok(mut table) = read(bytes.to_vec()) else { return };
    let Ok(fields) = attributes(&mut table) else { return };
    for field in fields {
        if let Some(named) = table.take(|name| name == field.name) {
            let _ = column(named, field);
        }
    }
}

fn survives(seeds: &[Vec<u8>], read: Read, runs: usize) {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    seeds.iter().for_each(|seed| import(seed, read));
    for _ in 0..runs {
        let mut bytes = seeds[chance.below(seeds.len())].clone();
        damage(&mut bytes, &mut chance);
        import(&bytes, read);
    }
}

fn batch() -> RecordBatch {
    let words: DictionaryArray<Int16Type> = [Some("one"), None, Some("three")].into_iter().collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("n", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
        ("t", Arc::new(StringArray::from(vec!["a", "bb", "ccc"]))),
        (
            "v",
            Arc::new(StringViewArray::from(vec!["a", "more than a view can hold", "c"])),
        ),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("w", Arc::new(words)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn damaged_arrow_files_are_errors() {
    let batch = batch();
    let mut seeds = Vec::new();
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let mut file = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options.clone()).unwrap();
        file.write(&batch).unwrap();
        seeds.push(file.into_inner().unwrap());
        let mut stream = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        stream.write(&batch).unwrap();
        seeds.push(stream.into_inner().unwrap());
    }
    survives(&seeds, read_arrow, 4000);
}

#[test]
fn damaged_numpy_files_are_errors() {
    let npy = |header: &str, data: &[u8]| {
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    };
    let plain = npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", &[0; 12]);
    let record = npy(
        "{'descr': [('a', '<i2'), ('a_valid', '|b1'), ('', '|V1'), ('b', '<U2'), ('c', '>f4', (2,))], 'fortran_order': False, 'shape': (2,), }",
        &[1; 40],
    );
    survives(
        &[plain.clone(), record],
        |bytes| read_npy(Box::new(Cursor::new(bytes))),
        2000,
    );
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, bytes) in [
        ("a.npy", &plain),
        ("b.npy", &plain),
        (
            "c.npy",
            &npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", &[0; 24]),
        ),
    ] {
        zip.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut zip, bytes).unwrap();
    }
    survives(
        &[zip.finish().unwrap().into_inner()],
        |bytes| read_npz(Cursor::new(&bytes), bytes.len() as u64),
        2000,
    );
}
