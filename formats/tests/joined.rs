//! Several files as one.
#![cfg(feature = "netcdf")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use hyperslab_formats::{Format, InputFile, Length, Options, open_along};

use common::{array, cells, file, open};

#[test]
fn files_follow_each_other_along_an_axis() {
    let files = ["climate3.nc", "climate3.nc", "climate3.nc"].map(|n| InputFile::new(file(n)));
    let mut joined = open_along(&files, Format::NetCdf, "time", &Options::default()).unwrap();
    let mut single = open("climate3.nc", Format::NetCdf);
    let paths: Vec<(String, bool)> = single
        .plan()
        .arrays
        .iter()
        .map(|a| (a.path.clone(), a.schema.dimensions[0].name == "time"))
        .collect();
    assert!(
        paths.iter().any(|(_, along)| *along) && paths.iter().any(|(_, along)| !*along),
        "{paths:?}"
    );
    for (path, along) in paths {
        let one = cells(single.as_mut(), &path);
        let mut expected = one.clone();
        if along {
            expected.append(&one);
            expected.append(&one);
            let room =
                |a: &hyperslab_formats::NewArray| a.schema.dimensions[0].domain.clone().unwrap().hi.as_i128().unwrap();
            let Length::Box(lengths) = &array(single.as_ref(), &path).length else {
                panic!()
            };
            let more = i128::from(2 * lengths[0]);
            assert_eq!(
                room(array(joined.as_ref(), &path)),
                room(array(single.as_ref(), &path)) + more,
                "{path}"
            );
        }
        assert_eq!(cells(joined.as_mut(), &path), expected, "{path}");
    }
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let refused = |names: &[&str], axis: &str, why: &str| {
        let files: Vec<_> = names.iter().map(|n| InputFile::new(file(n))).collect();
        let error = open_along(&files, Format::NetCdf, axis, &Options::default())
            .err()
            .unwrap();
        assert!(format!("{error:#}").contains(why), "{error:#}");
    };
    refused(&["climate3.nc"], "day", "no array has the axis 'day'");
    refused(&["climate3.nc", "plain.h5"], "time", "cannot put");
    refused(&[], "time", "there are no files");
}

/// The cells of the files would be labelled with the latitudes of the first one.
#[test]
fn files_with_other_latitudes_are_refused() {
    let mut single = open("climate3.nc", Format::NetCdf);
    let latitudes = cells(single.as_mut(), "lat");
    let first = latitudes.cell(0).iter().rev().copied().collect::<Vec<u8>>();
    let mut bytes = std::fs::read(file("climate3.nc")).unwrap();
    let at = bytes.windows(first.len()).position(|w| w == first).unwrap();
    bytes[at + 1] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    let moved = folder.path().join("moved.nc");
    std::fs::write(&moved, bytes).unwrap();
    let files = [file("climate3.nc"), moved].map(InputFile::new);
    let error = open_along(&files, Format::NetCdf, "time", &Options::default())
        .err()
        .unwrap();
    assert!(
        format!("{error:#}").contains("'lat' is not the same as in the first file"),
        "{error:#}"
    );
}
