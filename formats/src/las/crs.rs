//! Coordinate systems in LAS files: well-known text, or the keys of GeoTIFF.

use las::{Header, Vlr};

use crate::text::decode;
use crate::tiff::crs_of_keys;

/// The owner of the records, and their numbers: keys, their doubles, their text.
const OWNER: &str = "LASF_Projection";
const KEYS: u16 = 34735;
const DOUBLES: u16 = 34736;
const TEXT: u16 = 34737;

/// The coordinate system of a file, as WKT or `EPSG:` and a code. Adds notes for the user.
pub(super) fn read(header: &Header, notes: &mut Vec<String>) -> Option<String> {
    let wkt = header.get_wkt_crs_bytes().map(decode);
    let wkt = wkt.map(|text| text.trim_end_matches('\0').trim().to_owned());
    if let Some(wkt) = wkt.filter(|text| !text.is_empty()) {
        return Some(wkt);
    }
    let data = |number: u16| {
        let own = |v: &&Vlr| v.user_id == OWNER && v.record_id == number;
        header.all_vlrs().find(own).map_or(&[][..], |v| v.data.as_slice())
    };
    let list = data(KEYS).as_chunks::<2>().0.iter();
    let list: Vec<u64> = list.map(|b| u64::from(u16::from_le_bytes(*b))).collect();
    let doubles = data(DOUBLES).as_chunks::<8>().0.iter();
    let doubles: Vec<f64> = doubles.map(|b| f64::from_le_bytes(*b)).collect();
    let (crs, why) = crs_of_keys(&list, &doubles, &decode(data(TEXT)));
    notes.extend(why);
    crs
}

/// The record for a coordinate system, and whether it is WKT; `None` if the text is neither WKT nor `EPSG:` and a code.
pub(super) fn record(text: &str) -> Option<(Vlr, bool)> {
    let record = |record_id, data| Vlr {
        user_id: OWNER.to_owned(),
        record_id,
        description: String::new(),
        data,
    };
    if text.contains('[') {
        let mut data = text.as_bytes().to_vec();
        data.push(0);
        return Some((record(2112, data), true));
    }
    let code = text.strip_prefix("EPSG:")?;
    let (horizontal, vertical) = code.split_once('+').map_or((code, None), |(h, v)| (h, Some(v)));
    let horizontal: u16 = horizontal.parse().ok()?;
    // The registry has its geographic systems in this range.
    let geographic = (4000..5000).contains(&horizontal);
    let mut keys = vec![
        [1024, 0, 1, if geographic { 2 } else { 1 }],
        [if geographic { 2048 } else { 3072 }, 0, 1, horizontal],
    ];
    if let Some(vertical) = vertical {
        keys.push([4096, 0, 1, vertical.parse().ok()?]);
    }
    let count = u16::try_from(keys.len()).ok()?;
    let list = [[1, 1, 0, count]].into_iter().chain(keys).flatten();
    Some((record(KEYS, list.flat_map(u16::to_le_bytes).collect()), false))
}
