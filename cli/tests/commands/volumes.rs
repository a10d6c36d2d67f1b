//! Exports as NIfTI.

#![cfg(feature = "formats")]

use crate::{Shell, int16s, npy};

/// A NIfTI-1 header for `int16` with a scale, a qform and an sform.
fn header(lengths: &[i16]) -> Vec<u8> {
    let mut raw = vec![0; 352];
    let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348_i32.to_le_bytes());
    put(40, &(lengths.len() as i16).to_le_bytes());
    for (axis, length) in lengths.iter().enumerate() {
        put(42 + 2 * axis, &length.to_le_bytes());
        put(80 + 4 * axis, &2_f32.to_le_bytes());
    }
    put(68, &1001_i16.to_le_bytes());
    put(70, &4_i16.to_le_bytes());
    put(72, &16_i16.to_le_bytes());
    put(76, &(-1_f32).to_le_bytes());
    put(108, &352_f32.to_le_bytes());
    put(112, &0.5_f32.to_le_bytes());
    put(116, &3_f32.to_le_bytes());
    put(120, &1_i16.to_le_bytes());
    put(122, &[1]);
    put(123, &[2 + 8]);
    put(136, &10_f32.to_le_bytes());
    put(148, b"a scan");
    put(252, &1_i16.to_le_bytes());
    put(254, &1_i16.to_le_bytes());
    for (place, value) in [5_f32, 6.0, 7.0].iter().enumerate() {
        put(268 + 4 * place, &value.to_le_bytes());
    }
    for (place, value) in [-2_f32, 0.0, 0.0, 90.0, 0.0, 2.0, 0.0, -126.0, 0.0, 0.0, 2.0, -72.0]
        .iter()
        .enumerate()
    {
        put(280 + 4 * place, &value.to_le_bytes());
    }
    put(344, b"n+1\0");
    raw
}

fn float(file: &[u8], at: usize) -> f32 {
    f32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

fn short(file: &[u8], at: usize) -> i16 {
    i16::from_le_bytes(file[at..at + 2].try_into().unwrap())
}

#[test]
fn an_imported_volume_is_exported_as_it_was() {
    for lengths in [
        &[3, 2, 2, 2][..],
        &[4, 3],
        &[3, 1, 2, 1],
        &[3, 2, 1, 2, 3],
        &[3, 2, 1, 1, 2, 3, 2],
    ] {
        let shell = Shell::new();
        let cells: i16 = lengths.iter().product();
        let mut file = header(lengths);
        // An extension of 16 bytes.
        file[348] = 1;
        file[108..112].copy_from_slice(&368_f32.to_le_bytes());
        file.extend([16_u8, 0, 0, 0, 6, 0, 0, 0, b'h', b'e', b'l', b'l', b'o', 0, 0, 0]);
        file.extend(int16s(cells));
        shell.file("in.nii", &file);
        shell.ok("import in.nii a");
        shell.ok("export a out.nii");
        shell.ok("export a out.nii.gz");
        shell.ok("import out.nii.gz b");
        assert!(std::fs::read(shell.path("out.nii")).unwrap() == file, "{lengths:?}");
        assert!(shell.pipe("export b - --format nii", b"") == file, "{lengths:?}");
        let packed = std::fs::read(shell.path("out.nii.gz")).unwrap();
        assert_eq!(packed[..2], [0x1f, 0x8b]);
    }
}

#[test]
fn a_part_of_a_volume_keeps_its_place() {
    let shell = Shell::new();
    let mut file = header(&[4, 3, 3, 2]);
    file.extend(int16s(72));
    shell.file("in.nii", &file);
    shell.ok("import in.nii a");
    let part = shell.pipe("export a - --format nii --select T=@1,Z=@1:3,Y=@2,X=@1:4:2", b"");
    assert_eq!(
        (0..8).map(|n| short(&part, 40 + 2 * n)).collect::<Vec<_>>(),
        [4, 2, 1, 2, 1, 0, 0, 0]
    );
    // The voxel sizes, then the places of the first voxel in both systems.
    assert_eq!(
        (1..5).map(|n| float(&part, 76 + 4 * n)).collect::<Vec<_>>(),
        [4.0, 2.0, 2.0, 2.0]
    );
    assert_eq!([268, 272, 276].map(|at| float(&part, at)), [7.0, 10.0, 5.0]);
    let srow: Vec<f32> = (0..12).map(|n| float(&part, 280 + 4 * n)).collect();
    assert_eq!(
        srow,
        [-4.0, 0.0, 0.0, 88.0, 0.0, 2.0, 0.0, -122.0, 0.0, 0.0, 2.0, -70.0]
    );
    assert_eq!(float(&part, 136), 12.0);
    assert_eq!(
        (short(&part, 74), short(&part, 120), part[122]),
        (0, 0, 0),
        "the order of slices"
    );
    assert_eq!(
        (0..4).map(|n| short(&part, 352 + 2 * n)).collect::<Vec<_>>(),
        [57, 59, 69, 71]
    );
    assert_eq!(part.len(), 360);
}

#[test]
fn unpacked_voxels_have_no_scale() {
    let shell = Shell::new();
    let mut file = header(&[2, 2]);
    file.extend(int16s(4));
    shell.file("in.nii", &file);
    shell.ok("import in.nii a --unpack");
    let made = shell.pipe("export a - --format nii", b"");
    assert_eq!((short(&made, 70), short(&made, 72)), (64, 64));
    assert_eq!([112, 116].map(|at| float(&made, at)), [1.0, 0.0]);
    assert_eq!(made[352..360], 3_f64.to_le_bytes());
    assert_eq!(made.len(), 384);
}

#[test]
fn other_arrays_have_plain_headers() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(2, 3, 4)", &int16s(24)));
    shell.ok("import in.npy a --dims p,q,r");
    let made = shell.pipe("export a - --format nii", b"");
    assert_eq!(
        (0..4).map(|n| short(&made, 40 + 2 * n)).collect::<Vec<_>>(),
        [3, 4, 3, 2]
    );
    assert_eq!(made[352..], int16s(24));
    // The names say which axis is which: the first one of the array is the fastest one of the file.
    shell.ok("import in.npy turned --dims X,Y,Z");
    let made = shell.pipe("export turned - --format nii", b"");
    assert_eq!(
        (0..4).map(|n| short(&made, 40 + 2 * n)).collect::<Vec<_>>(),
        [3, 2, 3, 4]
    );
    assert_eq!(
        (0..3).map(|n| short(&made, 352 + 2 * n)).collect::<Vec<_>>(),
        [0, 12, 4]
    );
    shell.ok("import in.npy mixed --dims Y,X,T");
    let made = shell.pipe("export mixed - --format nii", b"");
    assert_eq!(
        (0..5).map(|n| short(&made, 40 + 2 * n)).collect::<Vec<_>>(),
        [4, 3, 2, 1, 4]
    );
    assert_eq!(
        (0..7).map(|n| short(&made, 352 + 2 * n)).collect::<Vec<_>>(),
        [0, 4, 8, 12, 16, 20, 1]
    );
    // Version 2 has room for long axes.
    shell.file("long.npy", npy("'|i1'", "(40000,)", &[7; 40000]));
    shell.ok("import long.npy long --dims p");
    let made = shell.pipe("export long - --format nii", b"");
    assert_eq!((made.len(), &made[4..12]), (40544, b"n+2\0\r\n\x1a\n".as_slice()));
    shell.file("long.nii", &made);
    shell.ok("import long.nii again");
    assert!(shell.pipe("export again - --format nii", b"") == made);
}

#[test]
fn what_a_volume_cannot_hold_is_an_error() {
    let shell = Shell::new();
    shell.file("t.csv", "x,s\n1,a\n2,b\n");
    shell.ok("import t.csv sparse --sparse --dims x");
    shell.ok("import t.csv dense --dims x");
    shell.file("in.npy", npy("'<i2'", "(1, 1, 1, 1, 1, 1, 1, 2)", &int16s(2)));
    shell.ok("import in.npy deep --dims a,b,c,d,e,f,g,h");
    for (line, why) in [
        ("export sparse o.nii", "a NIfTI file has the cells of a dense array"),
        ("export dense o.nii", "export to .npy"),
        ("export deep o.nii", "at most seven axes; select single coordinates"),
        (
            "export deep o.nii --select 'a=0,h={1,0}'",
            "give a range instead of a list",
        ),
        ("export deep o.nii --order col", "leave the option out"),
    ] {
        let error = shell.fails(line).1;
        assert!(error.contains(why), "{line}: {error}");
    }
    shell.ok("export deep o.nii --select a=0");
}
