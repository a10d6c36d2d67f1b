use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter_map(|c| (c as char).to_digit(16))
        .map(|d| d as u8)
        .collect();
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}

/// Decodes and encodes a pipeline of one filter.
#[track_caller]
fn check(stored: &str, filter: Filter) {
    let bytes = hex(&format!("00000100 01000000 {stored}"));
    let pipeline = Pipeline::decode(&mut Reader::new(&bytes), Version::CURRENT).unwrap();
    assert_eq!(pipeline.filters, [filter]);
    let mut w = Writer::new();
    pipeline.encode(&mut w);
    assert_eq!(w.into_bytes(), bytes);
}

#[test]
fn filters_are_stored_like_libtiledb() {
    check("00 00000000", Filter::None);
    check("01 05000000 01 01000000", Filter::Gzip { level: 1 });
    check("02 05000000 02 FFFFFFFF", Filter::Zstd { level: -1 });
    check(
        "06 06000000 06 FFFFFFFF 11",
        Filter::DoubleDelta {
            level: -1,
            reinterpret: None,
        },
    );
    check("0E 05000000 07 FFFFFFFF", Filter::Dictionary { level: -1 });
    check(
        "13 06000000 08 FFFFFFFF 11",
        Filter::Delta {
            level: -1,
            reinterpret: None,
        },
    );
    check(
        "13 06000000 08 FFFFFFFF 01",
        Filter::Delta {
            level: -1,
            reinterpret: Some(Datatype::Int64),
        },
    );
    check("07 04000000 00010000", Filter::BitWidthReduction { max_window: 256 });
    check("0B 00000000", Filter::Aes256Gcm);
    let scale = Filter::FloatScale {
        scale: 0.25,
        offset: 1.0,
        byte_width: 2,
    };
    check("0F 18000000 000000000000D03F 000000000000F03F 0200000000000000", scale);
    let webp = Filter::Webp {
        quality: 100.0,
        format: WebpFormat::Rgba,
        lossless: true,
        y_extent: 2,
        x_extent: 8,
    };
    check("12 0C000000 0000C842 03 01 0200 0800 0000", webp);
}

#[test]
fn unknown_filters_survive() {
    check(
        "63 03000000 010203",
        Filter::Unknown {
            id: 0x63,
            options: vec![1, 2, 3],
        },
    );
    check(
        "11 00000000",
        Filter::Unknown {
            id: 17,
            options: vec![],
        },
    );
    check(
        "02 05000000 09 FFFFFFFF",
        Filter::Unknown {
            id: 2,
            options: vec![9, 255, 255, 255, 255],
        },
    );
}

#[test]
fn double_delta_has_a_reinterpret_type_since_version_20() {
    let (old, new) = (
        hex("00000100 01000000 06 05000000 06 FFFFFFFF"),
        Version::new(20).unwrap(),
    );
    assert!(Pipeline::decode(&mut Reader::new(&old), Version::new(19).unwrap()).is_ok());
    let e = Pipeline::decode(&mut Reader::new(&old), new).unwrap_err();
    assert_eq!(
        e.to_string(),
        "reinterpret datatype at byte 18: needs 1 bytes, 0 are left"
    );
}

#[test]
fn the_filter_count_is_checked_against_the_bytes() {
    let bytes = hex("00000100 FF030000 00 00000000");
    assert!(Pipeline::decode(&mut Reader::new(&bytes), Version::CURRENT).is_err());
}

#[test]
fn bit_width_reduction_may_change_signed_integers_far_apart() {
    let reduced = Filter::BitWidthReduction { max_window: 256 };
    let check = |filters: &[Filter], integers, lo, hi, expect| {
        let keeps = Pipeline::new(filters.to_vec()).keeps(integers, lo, hi);
        assert_eq!(keeps, expect, "{filters:?} {integers:?} {lo} {hi}");
    };
    let alone = [Filter::Md5, reduced.clone(), Filter::Gzip { level: 1 }];
    check(&alone, Physical::I16, -1, i16::MAX.into(), false);
    check(&alone, Physical::I16, -1, 32766, true);
    check(&alone, Physical::I64, i64::MIN.into(), i64::MAX.into(), false);
    check(&alone, Physical::U64, 0, u64::MAX.into(), true);
    check(&[Filter::Byteshuffle, reduced], Physical::U8, 0, 1, false);
    check(
        &[Filter::Byteshuffle],
        Physical::I32,
        i32::MIN.into(),
        i32::MAX.into(),
        true,
    );
}

#[test]
fn types_are_handed_on_only_if_another_filter_follows() {
    let scale = Filter::FloatScale {
        scale: 0.5,
        offset: 0.0,
        byte_width: 2,
    };
    let check = |filters: &[Filter], expect| {
        assert_eq!(Pipeline::new(filters.to_vec()).hands_on_types(), expect, "{filters:?}");
    };
    check(&[], false);
    check(&[Filter::Byteshuffle, scale.clone()], false);
    check(&[scale, Filter::Byteshuffle], true);
    check(&[Filter::Xor, Filter::Md5], true);
    check(&[Filter::Byteshuffle, Filter::Md5], false);
}
