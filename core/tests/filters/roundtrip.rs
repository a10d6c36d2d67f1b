//! Round trips of random cells through random pipelines.

use hyperslab::internals::filter::{
    Nonces, PipelineTarget, TileFormat, check, codes_strings, decode_offsets_tile, decode_tile, decode_var_tile,
    encode_tile, encode_var_tile,
};
use hyperslab::schema::{Filter, Pipeline, Version, WebpFormat};
use hyperslab::{CellCount, Datatype, Key};
use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

pub(crate) fn filters() -> impl Strategy<Value = Filter> {
    let integers = prop_oneof![
        Just(None),
        Just(Some(Datatype::Uint8)),
        Just(Some(Datatype::Int32)),
        Just(Some(Datatype::Int64))
    ];
    let windows = prop_oneof![Just(0_u32), Just(1), Just(7), Just(16), Just(256), Just(u32::MAX)];
    prop_oneof![
        Just(Filter::None),
        prop_oneof![-1..=9, Just(10), Just(i32::MAX)].prop_map(|level| Filter::Gzip { level }),
        prop_oneof![Just(-100), Just(-1), Just(3), Just(7), Just(23), Just(i32::MAX)]
            .prop_map(|level| Filter::Zstd { level }),
        Just(Filter::Lz4 { level: -1 }),
        Just(Filter::Rle { level: -1 }),
        prop_oneof![-1..=9, Just(10), Just(i32::MAX)].prop_map(|level| Filter::Bzip2 { level }),
        integers
            .clone()
            .prop_map(|reinterpret| Filter::DoubleDelta { level: -1, reinterpret }),
        integers.prop_map(|reinterpret| Filter::Delta { level: -1, reinterpret }),
        windows
            .clone()
            .prop_map(|max_window| Filter::BitWidthReduction { max_window }),
        windows.prop_map(|max_window| Filter::PositiveDelta { max_window }),
        Just(Filter::Bitshuffle),
        Just(Filter::Byteshuffle),
        Just(Filter::Md5),
        Just(Filter::Sha256),
        Just(Filter::Dictionary { level: -1 }),
        Just(Filter::Xor),
    ]
}

pub(crate) fn datatypes() -> impl Strategy<Value = Datatype> {
    prop::sample::select(Datatype::ALL)
}

pub(crate) fn versions() -> impl Strategy<Value = Version> {
    prop_oneof![3 => Just(22_u32), 1 => 1..=22_u32].prop_map(|n| Version::new(n).unwrap())
}

/// The bytes of a tile: none, one value, a few, or more than one chunk. Noise, runs, or increasing integers.
fn data(width: usize) -> impl Strategy<Value = Vec<u8>> {
    let count = prop_oneof![1 => Just(0_usize), 2 => Just(1), 10 => 2..400_usize, 1 => Just(65537 / width + 1)];
    let rising = move |n: usize| {
        (0..n as u64)
            .flat_map(|i| (i / 3 % 120).to_le_bytes()[..width].to_vec())
            .collect::<Vec<u8>>()
    };
    count.prop_flat_map(move |n| {
        prop_oneof![
            prop::collection::vec(any::<u8>(), n * width),
            any::<[u8; 8]>().prop_map(move |value| value[..width].repeat(n)),
            Just(rising(n)),
        ]
    })
}

/// Whether a valid pipeline may refuse some values: decreasing values, or remainders that are not a whole value after a
/// filter that changes lengths.
fn may_refuse(p: &Pipeline) -> bool {
    let cuts = |f: &Filter| matches!(f, Filter::PositiveDelta { .. });
    let needs_whole = |f: &Filter| {
        matches!(
            f,
            Filter::Rle { .. } | Filter::Delta { .. } | Filter::DoubleDelta { .. } | Filter::Xor
        )
    };
    p.filters.iter().any(cuts) || p.filters.iter().skip(1).any(needs_whole)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn fixed_cells(
        (datatype, data) in datatypes().prop_flat_map(|t| (Just(t), data(t.size()))),
        filters in prop::collection::vec(filters(), 0..4),
        version in versions(),
        encrypted in any::<bool>(),
    ) {
        let p = Pipeline::new(filters);
        prop_assume!(check(&p, datatype, CellCount::ONE, PipelineTarget::Attribute).is_ok());
        let key = Key([9; 32]);
        let f = TileFormat { version, writer: version, key: encrypted.then_some(&key), ..TileFormat::new(datatype, CellCount::ONE) };
        match encode_tile(&data, &p, &f, &Nonces::new([1; 32])) {
            Ok(tile) => {
                prop_assert_eq!(&decode_tile(&tile, &p, &f, data.len() as u64).unwrap(), &data);
                let mut into = vec![0xaa; data.len()];
                super::by_chunks(&tile, &p, &f, &mut into).unwrap();
                prop_assert_eq!(&into, &data);
                prop_assert!(decode_tile(&tile, &p, &f, data.len() as u64 + 1).is_err());
                if data.len().is_multiple_of(8) {
                    let offsets = decode_offsets_tile(&tile, &p, &f, data.len() as u64 / 8).unwrap();
                    prop_assert_eq!(bytemuck::cast_slice::<u64, u8>(&offsets), &data[..]);
                }
            }
            Err(e) => prop_assert!(may_refuse(&p), "{e}"),
        }
    }

    #[test]
    fn variable_cells(
        cells in prop::collection::vec(prop_oneof![8 => "[ab]{0,3}", 1 => "[a-z]{0,300}", 1 => Just("long".repeat(9000))], 0..60),
        datatype in prop::sample::select(vec![Datatype::StringAscii, Datatype::StringUtf8, Datatype::Char, Datatype::Blob]),
        filters in prop::collection::vec(filters(), 0..3),
        version in versions(),
        encrypted in any::<bool>(),
    ) {
        let p = Pipeline::new(filters);
        prop_assume!(check(&p, datatype, CellCount::Var, PipelineTarget::Attribute).is_ok());
        let key = Key([9; 32]);
        let f = TileFormat { version, writer: version, key: encrypted.then_some(&key), ..TileFormat::new(datatype, CellCount::Var) };
        let data = cells.concat().into_bytes();
        let mut offsets = vec![0];
        offsets.extend(cells.iter().scan(0, |end, cell| { *end += cell.len() as u64; Some(*end) }));
        match encode_var_tile(&data, &offsets, &p, &f, &Nonces::new([1; 32])) {
            Ok(tile) => {
                let (bytes, starts) = decode_var_tile(&tile, &p, &f, data.len() as u64, cells.len() as u64).unwrap();
                prop_assert_eq!(bytes, data);
                prop_assert_eq!(starts.is_some(), codes_strings(&p, &f));
                if let Some(starts) = starts {
                    prop_assert_eq!(&starts[..], &offsets[..cells.len()]);
                }
            }
            Err(e) => prop_assert!(may_refuse(&p) || p.filters.contains(&Filter::Dictionary { level: -1 }), "{e}"),
        }
    }

    #[test]
    fn cells_of_several_values(n in 1..20_u32, cells in 0..3000_usize, seed in any::<u32>()) {
        let data: Vec<u8> = (0..cells as u32 * n).flat_map(|i| (i.wrapping_mul(seed) >> 30).to_le_bytes()).collect();
        let f = TileFormat::new(Datatype::Uint32, CellCount::Fixed(n));
        let p = Pipeline::new(vec![Filter::Rle { level: -1 }, Filter::Zstd { level: -1 }]);
        let tile = encode_tile(&data, &p, &f, &Nonces::none()).unwrap();
        prop_assert_eq!(decode_tile(&tile, &p, &f, data.len() as u64).unwrap(), data);
    }

    #[test]
    fn scaled_floats_round_trip_approximately(values in prop::collection::vec(-1000.0..1000.0_f64, 0..300), byte_width in prop::sample::select(vec![4_u64, 8])) {
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let f = TileFormat::new(Datatype::Float64, CellCount::ONE);
        let p = Pipeline::new(vec![Filter::FloatScale { scale: 0.001, offset: 5.0, byte_width }]);
        let tile = encode_tile(&data, &p, &f, &Nonces::none()).unwrap();
        let back = decode_tile(&tile, &p, &f, data.len() as u64).unwrap();
        for (value, back) in values.iter().zip(back.as_chunks().0) {
            prop_assert!((value - f64::from_le_bytes(*back)).abs() <= 0.000_501);
        }
    }

    #[test]
    fn images(rows in 1..20_u16, columns in 1..20_u16, seed in any::<u64>(), format in prop::sample::select(vec![WebpFormat::Rgb, WebpFormat::Bgr, WebpFormat::Rgba, WebpFormat::Bgra])) {
        let x_extent = columns * format.depth() as u16;
        let data: Vec<u8> = (0..u64::from(rows) * u64::from(x_extent)).map(|i| (seed.rotate_left(i as u32 % 64) ^ i) as u8).collect();
        let f = TileFormat::new(Datatype::Uint8, CellCount::ONE);
        let p = Pipeline::new(vec![Filter::Webp { quality: 100.0, format, lossless: true, y_extent: rows, x_extent }, Filter::Md5]);
        let tile = encode_tile(&data, &p, &f, &Nonces::none()).unwrap();
        prop_assert_eq!(decode_tile(&tile, &p, &f, data.len() as u64).unwrap(), data);
    }
}

#[test]
fn gzip_accepts_incompressible_bytes() {
    let f = TileFormat::new(Datatype::Uint8, CellCount::ONE);
    let mut state = 88_172_645_463_325_252_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Each of these bytes takes nine bits in the fixed code.
        144 + (state >> 32) as u8 % 112
    })
    .take(200_000)
    .collect();
    for level in -1..=9 {
        for n in [1, 1000, 65_536, noise.len()] {
            let p = Pipeline::new(vec![Filter::Gzip { level }]);
            let tile = encode_tile(&noise[..n], &p, &f, &Nonces::none()).unwrap();
            assert_eq!(decode_tile(&tile, &p, &f, n as u64).unwrap(), noise[..n]);
        }
    }
}

#[test]
fn scaled_values_out_of_range_are_clamped() {
    let f = TileFormat::new(Datatype::Float32, CellCount::ONE);
    let p = Pipeline::new(vec![Filter::FloatScale {
        scale: 1.0,
        offset: 0.0,
        byte_width: 1,
    }]);
    let data: Vec<u8> = [1e9_f32, -1e9, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
    let tile = encode_tile(&data, &p, &f, &Nonces::none()).unwrap();
    assert!(tile.ends_with(&[127, 128, 3]));
}

#[test]
fn an_empty_tile_has_no_chunks() {
    let f = TileFormat::new(Datatype::Int32, CellCount::ONE);
    let p = Pipeline::new(vec![Filter::DoubleDelta {
        level: -1,
        reinterpret: None,
    }]);
    assert_eq!(encode_tile(&[], &p, &f, &Nonces::none()).unwrap(), [0; 8]);
    let var = TileFormat {
        cell: CellCount::Var,
        ..f
    };
    assert_eq!(
        encode_var_tile(&[], &[0, 0, 0], &p, &var, &Nonces::none()).unwrap(),
        [0; 8]
    );
    // Older writers store one empty chunk, encoded by the filters.
    let mut tile: Vec<u8> = [1_u32, 0, 0, 9, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    tile.extend([0; 9]);
    assert!(decode_tile(&tile, &p, &f, 0).unwrap().is_empty());
}

#[test]
fn encoded_strings_are_packed_as_bytes_after_another_filter() {
    let f = TileFormat::new(Datatype::StringUtf8, CellCount::Var);
    let rle = || Filter::Rle { level: -1 };
    let read = |filters: Vec<Filter>| {
        let p = Pipeline::new(filters);
        let created = check(&p, f.datatype, f.cell, PipelineTarget::Attribute);
        let tile = encode_var_tile(b"aaaab", &[0, 2, 4, 5], &p, &f, &Nonces::none()).ok()?;
        created.unwrap();
        Some(decode_var_tile(&tile, &p, &f, 5, 3).unwrap())
    };
    let expected = Some((b"aaaab".to_vec(), Some(vec![0, 2, 4])));
    assert_eq!(read(vec![rle(), Filter::Xor, rle()]), expected);
    // libtiledb cannot read these.
    assert_eq!(read(vec![rle(), Filter::Gzip { level: 1 }, rle()]), None);
    assert_eq!(read(vec![Filter::Xor, rle()]), None);
}

#[test]
fn partial_values_are_refused_with_a_hint() {
    let f = TileFormat::new(Datatype::Int64, CellCount::ONE);
    let reinterpret = None;
    for filter in [
        Filter::Xor,
        Filter::Delta { level: -1, reinterpret },
        Filter::DoubleDelta { level: -1, reinterpret },
        Filter::FloatScale {
            scale: 1.0,
            offset: 0.0,
            byte_width: 8,
        },
    ] {
        let p = Pipeline::new(vec![Filter::Gzip { level: 6 }, filter]);
        let packed = |cells: usize| encode_tile(&vec![1; 8 * cells], &p, &f, &Nonces::none());
        let refused: Vec<String> = (1..60).filter_map(|n| Some(packed(n).err()?.to_string())).collect();
        assert!(
            refused.iter().all(|e| e.contains("put this filter before others")),
            "{refused:?}"
        );
        assert!(!refused.is_empty());
    }
}

#[test]
fn offsets_that_do_not_fit_the_data_are_refused() {
    let f = TileFormat::new(Datatype::StringAscii, CellCount::Var);
    let p = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    for offsets in [&[0, 2, 1, 3][..], &[0, 4], &[1, 3], &[0, 2]] {
        assert!(
            encode_var_tile(b"abc", offsets, &p, &f, &Nonces::none()).is_err(),
            "{offsets:?}"
        );
    }
}
