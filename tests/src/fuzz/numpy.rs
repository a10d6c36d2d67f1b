//! Imports of .npy and .npz files.

use std::io::{Cursor, Write as _};

use hyperslab_cli::fuzz::import_numpy;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Allowance, Target};

pub(super) fn targets() -> Vec<Target> {
    let run = |zipped: bool| {
        move |bytes: &[u8]| {
            // Most inputs are damaged.
            let _ = import_numpy(bytes, zipped);
            Allowance {
                bytes: bytes.len(),
                // Deflate packs a thousand equal bytes into one, and the cells are copied.
                fixed: 64 << 20,
            }
        }
    };
    let checked = |seeds: Vec<Vec<u8>>, zipped| {
        for seed in &seeds {
            import_numpy(seed, zipped).unwrap();
        }
        seeds
    };
    vec![
        Target::new("npy", checked(arrays(), false), run(false)),
        Target::new("npz", checked(archives(), true), run(true)),
    ]
}

/// An array with each kind of header.
fn arrays() -> Vec<Vec<u8>> {
    let headers = [
        ("'<i2'", "True", "(2, 3)", 12),
        ("'>f8'", "False", "(4,)", 32),
        ("'|b1'", "False", "(2, 2, 2)", 8),
        ("'<U3'", "False", "(2,)", 24),
        ("'|S4'", "False", "(3,)", 12),
        ("'<M8[ms]'", "False", "(2,)", 16),
        ("'<c16'", "False", "(1, 2)", 32),
        (
            "[('a', '<i2'), ('a_valid', '|b1'), ('', '|V1'), ('b', '<U2'), ('c', '>f4', (2,))]",
            "False",
            "(2,)",
            40,
        ),
    ];
    let array = |(descr, fortran, shape, bytes): (&str, &str, &str, usize)| {
        npy(
            &format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"),
            bytes,
        )
    };
    headers.map(array).to_vec()
}

/// An array of this many bytes, all of which are 1.
fn npy(header: &str, bytes: usize) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &vec![1; bytes]].concat()
}

fn archives() -> Vec<Vec<u8>> {
    let all = arrays();
    let named: [&[(&str, &[u8])]; 3] = [
        &[("a.npy", &all[0]), ("b.npy", &all[0])],
        &[("v.npy", &all[0]), ("list.npy", &all[1]), ("flags.npy", &all[3])],
        &[("record.npy", &all[7]), ("notes.txt", b"no array")],
    ];
    let mut archives = Vec::new();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for members in named {
            let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
            for (name, bytes) in members {
                let options = SimpleFileOptions::default().compression_method(method);
                zip.start_file(*name, options).unwrap();
                zip.write_all(bytes).unwrap();
            }
            archives.push(zip.finish().unwrap().into_inner());
        }
    }
    archives
}
