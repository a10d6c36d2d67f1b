//! Coordinate systems that a GeoTIFF defines by parameters, as WKT.

use std::fmt::Write as _;

use super::geo::{GeoKeys, USER_DEFINED, Value, key};

/// A parameter of WKT, and the keys that may hold it, in order of preference. Without any it has the last number.
type Parameter = (&'static str, &'static [u16], f64);

const LATITUDE: &[u16] = &[3081, 3085, 3089];
const LONGITUDE: &[u16] = &[3080, 3084, 3088, 3095];
const EAST: Parameter = ("false_easting", &[3082, 3086, 3090], 0.0);
const NORTH: Parameter = ("false_northing", &[3083, 3087, 3091], 0.0);
const ORIGIN: Parameter = ("latitude_of_origin", LATITUDE, 0.0);
const MERIDIAN: Parameter = ("central_meridian", LONGITUDE, 0.0);
const CENTER_LATITUDE: Parameter = ("latitude_of_center", LATITUDE, 0.0);
const CENTER_LONGITUDE: Parameter = ("longitude_of_center", LONGITUDE, 0.0);
const PARALLEL_1: Parameter = ("standard_parallel_1", &[3078], 0.0);
const PARALLEL_2: Parameter = ("standard_parallel_2", &[3079], 0.0);
const SCALE: Parameter = ("scale_factor", &[3092, 3093], 1.0);

/// The codes of methods, with their names and parameters. A method with two names is told by its parameters.
const METHODS: &[(u64, &str, &[Parameter])] = &[
    (1, "Transverse_Mercator", &[ORIGIN, MERIDIAN, SCALE, EAST, NORTH]),
    (7, "Mercator_2SP", &[PARALLEL_1, MERIDIAN, EAST, NORTH]),
    (7, "Mercator_1SP", &[ORIGIN, MERIDIAN, SCALE, EAST, NORTH]),
    (
        8,
        "Lambert_Conformal_Conic_2SP",
        &[ORIGIN, MERIDIAN, PARALLEL_1, PARALLEL_2, EAST, NORTH],
    ),
    (
        9,
        "Lambert_Conformal_Conic_1SP",
        &[ORIGIN, MERIDIAN, SCALE, EAST, NORTH],
    ),
    (
        10,
        "Lambert_Azimuthal_Equal_Area",
        &[CENTER_LATITUDE, CENTER_LONGITUDE, EAST, NORTH],
    ),
    (
        11,
        "Albers_Conic_Equal_Area",
        &[CENTER_LATITUDE, CENTER_LONGITUDE, PARALLEL_1, PARALLEL_2, EAST, NORTH],
    ),
    (
        12,
        "Azimuthal_Equidistant",
        &[CENTER_LATITUDE, CENTER_LONGITUDE, EAST, NORTH],
    ),
    (
        13,
        "Equidistant_Conic",
        &[CENTER_LATITUDE, CENTER_LONGITUDE, PARALLEL_1, PARALLEL_2, EAST, NORTH],
    ),
    (14, "Stereographic", &[ORIGIN, MERIDIAN, SCALE, EAST, NORTH]),
    (15, "Polar_Stereographic", &[ORIGIN, MERIDIAN, SCALE, EAST, NORTH]),
    (16, "Oblique_Stereographic", &[ORIGIN, MERIDIAN, SCALE, EAST, NORTH]),
    (17, "Equirectangular", &[PARALLEL_1, ORIGIN, MERIDIAN, EAST, NORTH]),
    (18, "Cassini_Soldner", &[ORIGIN, MERIDIAN, EAST, NORTH]),
    (
        20,
        "Miller_Cylindrical",
        &[CENTER_LATITUDE, CENTER_LONGITUDE, EAST, NORTH],
    ),
    (21, "Orthographic", &[ORIGIN, MERIDIAN, EAST, NORTH]),
    (22, "Polyconic", &[ORIGIN, MERIDIAN, EAST, NORTH]),
    (23, "Robinson", &[CENTER_LONGITUDE, EAST, NORTH]),
    (24, "Sinusoidal", &[CENTER_LONGITUDE, EAST, NORTH]),
    (25, "VanDerGrinten", &[MERIDIAN, EAST, NORTH]),
    (26, "New_Zealand_Map_Grid", &[ORIGIN, MERIDIAN, EAST, NORTH]),
    (28, "Cylindrical_Equal_Area", &[PARALLEL_1, MERIDIAN, EAST, NORTH]),
];

/// The name and the parameters of a projection, by the code of its method.
fn method(code: u64, keys: &GeoKeys) -> Option<(&'static str, &'static [Parameter])> {
    let mut known = METHODS.iter().filter(|(c, ..)| *c == code);
    let parallel = keys.number(3078).is_some();
    let found = known.find(|(_, name, _)| parallel || *name != "Mercator_2SP");
    found.map(|(_, name, parameters)| (*name, *parameters))
}

/// The keys of WKT; `None` if GeoTIFF has none for it.
pub(super) fn keys(wkt: &str) -> Option<GeoKeys> {
    let quoted = |after: &str| wkt.split_once(after)?.1.split_once('"').map(|(name, _)| name);
    let numbers = |after: &str| -> Option<Vec<f64>> {
        let (_, rest) = wkt.split_once(after)?;
        let (_, rest) = rest.split_once("\",")?;
        let (list, _) = rest.split_once([']', '['])?;
        Some(list.split(',').filter_map(|n| n.trim().parse().ok()).collect())
    };
    let mut keys = GeoKeys::default();
    let mut code = |key: u16, value: u64| keys.0.insert(key, Value::Code(value));
    let projected = wkt.starts_with("PROJCS");
    code(key::MODEL_TYPE, if projected { 1 } else { 2 });
    let system = quoted("GEOGCS[\"")?;
    let coded = CODES.iter().find(|c| known(**c).is_some_and(|k| k.0 == system));
    code(key::GEOGRAPHIC, coded.copied().unwrap_or(USER_DEFINED));
    code(2050, coded.map_or(USER_DEFINED, |c| c + 2000));
    code(2056, USER_DEFINED);
    code(2054, 9102);
    let method = if projected {
        let name = quoted("PROJECTION[\"")?;
        let method = METHODS.iter().find(|(_, n, _)| *n == name)?;
        code(key::PROJECTED, USER_DEFINED);
        code(3074, USER_DEFINED);
        code(3075, method.0);
        Some(method)
    } else {
        None
    };
    let mut number = |key: u16, value: f64| keys.0.insert(key, Value::Numbers(vec![value]));
    let ellipsoid = numbers("SPHEROID[\"")?;
    number(2057, *ellipsoid.first()?);
    number(2059, *ellipsoid.get(1)?);
    number(
        2061,
        numbers("PRIMEM[\"").and_then(|n| n.first().copied()).unwrap_or(0.0),
    );
    for (name, places, otherwise) in method.map_or(&[][..], |m| m.2) {
        let value = numbers(&format!("PARAMETER[\"{name}")).and_then(|n| n.first().copied());
        // A polar projection has a key of its own for its meridian.
        let polar = *name == "central_meridian" && method.is_some_and(|m| m.0 == 15);
        number(if polar { 3095 } else { *places.first()? }, value.unwrap_or(*otherwise));
    }
    if projected {
        let metres = wkt.rsplit_once("UNIT[\"")?.1.split_once("\",")?.1;
        let metres: f64 = metres.split([',', ']']).next()?.trim().parse().ok()?;
        let unit = match metres {
            1.0 => 9001,
            0.3048 => 9002,
            m if (m - 1200.0 / 3937.0).abs() < 1e-12 => 9003,
            _ => USER_DEFINED,
        };
        number(3077, metres);
        keys.0.insert(3076, Value::Code(unit));
        let name = quoted("PROJCS[\"")?;
        keys.0.insert(key::CITATION, Value::Text(name.to_owned()));
    }
    let names = [
        ("GCS Name", Some(system)),
        ("Datum", quoted("DATUM[\"")),
        ("Ellipsoid", quoted("SPHEROID[\"")),
        ("Primem", quoted("PRIMEM[\"")),
    ];
    let citation = names
        .iter()
        .map(|(label, name)| format!("{label} = {}|", name.unwrap_or("unknown")))
        .collect();
    keys.0.insert(key::GEOGRAPHIC_CITATION, Value::Text(citation));
    Some(keys)
}

/// The WKT of the keys; `None` if it does not follow from them.
pub(super) fn of(keys: &GeoKeys) -> Option<String> {
    let citations = [key::CITATION, key::PROJECTED_CITATION, key::GEOGRAPHIC_CITATION];
    let given = citations.iter().filter_map(|k| keys.text(*k));
    if let Some((_, wkt)) = given.filter_map(|text| text.split_once("ESRI PE String = ")).next() {
        return Some(wkt.to_owned());
    }
    match keys.code(key::MODEL_TYPE)? {
        1 => projected(keys),
        2 => geographic(keys),
        _ => None,
    }
}

fn projected(keys: &GeoKeys) -> Option<String> {
    let base = geographic(keys)?;
    let name = [key::PROJECTED_CITATION, key::CITATION]
        .iter()
        .find_map(|k| keys.text(*k));
    let mut wkt = format!("PROJCS[{},{base},", quoted(name.unwrap_or("unnamed")));
    match utm(keys.code(3074)) {
        Some((zone, south)) => {
            let north = if south { 10_000_000 } else { 0 };
            let meridian = i64::from(zone) * 6 - 183;
            let _ = write!(
                wkt,
                "PROJECTION[\"Transverse_Mercator\"],PARAMETER[\"latitude_of_origin\",0],\
                 PARAMETER[\"central_meridian\",{meridian}],PARAMETER[\"scale_factor\",0.9996],\
                 PARAMETER[\"false_easting\",500000],PARAMETER[\"false_northing\",{north}],"
            );
        }
        None => {
            let (name, parameters) = method(keys.code(3075)?, keys)?;
            let _ = write!(wkt, "PROJECTION[\"{name}\"],");
            for (name, places, otherwise) in parameters {
                let value = places.iter().find_map(|k| keys.number(*k)).unwrap_or(*otherwise);
                let _ = write!(wkt, "PARAMETER[\"{name}\",{value}],");
            }
        }
    }
    let (unit, metres) = match (keys.code(3076), keys.number(3077)) {
        (Some(9002), _) => ("foot".to_owned(), 0.3048),
        (Some(9003), _) => ("US survey foot".to_owned(), 1200.0 / 3937.0),
        (Some(9001) | None, None) | (Some(9001), _) => ("metre".to_owned(), 1.0),
        (_, Some(size)) => ("unknown".to_owned(), size),
        _ => return None,
    };
    // At a pole, both axes point away from it.
    let [east, north] = match (keys.code(3075), keys.number(3081)) {
        (Some(15), Some(latitude)) if latitude > 0.0 => ["SOUTH"; 2],
        (Some(15), _) => ["NORTH"; 2],
        _ => ["EAST", "NORTH"],
    };
    let _ = write!(
        wkt,
        "UNIT[\"{unit}\",{metres}],AXIS[\"Easting\",{east}],AXIS[\"Northing\",{north}]]"
    );
    Some(wkt)
}

/// The zone of a code for a UTM projection, and whether it is in the south.
fn utm(code: Option<u64>) -> Option<(u8, bool)> {
    match code? {
        code @ 16001..=16060 => Some(((code - 16000) as u8, false)),
        code @ 16101..=16160 => Some(((code - 16100) as u8, true)),
        _ => None,
    }
}

fn geographic(keys: &GeoKeys) -> Option<String> {
    let code = keys.epsg(key::GEOGRAPHIC);
    // The codes of these datums are those of the systems and 2000.
    let datum_code = keys.epsg(2050).and_then(|code| code.checked_sub(2000));
    let known = code.or(datum_code).and_then(known);
    let parts = keys.text(key::GEOGRAPHIC_CITATION).unwrap_or("");
    let part = |label: &str| {
        let mut named = parts.split('|').filter_map(|p| p.split_once('='));
        named
            .find(|(name, _)| name.trim() == label)
            .map(|(_, value)| value.trim())
    };
    let plain = (!parts.is_empty() && !parts.contains('=')).then_some(parts);
    let given = part("GCS Name").or(plain).filter(|name| *name != "unknown");
    let name = given.or(known.map(|k| k.0)).unwrap_or("unknown");
    let datum = part("Datum").or(known.map(|k| k.1)).unwrap_or("unknown");
    let (ellipsoid, radius, flattening) = ellipsoid(keys, known.map(|k| k.2))?;
    let ellipsoid = part("Ellipsoid").unwrap_or(ellipsoid);
    let meridian = keys.number(2061).unwrap_or(0.0);
    let (unit, radians) = match keys.code(2054) {
        Some(9101) => ("radian", 1.0),
        Some(9105) => ("grad", std::f64::consts::PI / 200.0),
        _ => ("degree", 0.017_453_292_519_943_3),
    };
    let prime = part("Primem").unwrap_or(if meridian == 0.0 { "Greenwich" } else { "unknown" });
    let mut wkt = format!(
        "GEOGCS[{},DATUM[{},SPHEROID[{},{radius},{flattening}]],PRIMEM[{},{meridian}],UNIT[\"{unit}\",{radians}]",
        quoted(name),
        quoted(datum),
        quoted(ellipsoid),
        quoted(prime)
    );
    if let Some(code) = code {
        let _ = write!(wkt, ",AUTHORITY[\"EPSG\",\"{code}\"]");
    }
    wkt.push(']');
    Some(wkt)
}

/// The name, the larger radius in metres and the inverse flattening.
fn ellipsoid(keys: &GeoKeys, known: Option<u64>) -> Option<(&'static str, f64, f64)> {
    let table = |code| {
        Some(match code {
            7001 => ("Airy 1830", 6_377_563.396, 299.324_964_6),
            7004 => ("Bessel 1841", 6_377_397.155, 299.152_812_8),
            7008 => ("Clarke 1866", 6_378_206.4, 294.978_698_213_898),
            7012 => ("Clarke 1880 (RGS)", 6_378_249.145, 293.465),
            7019 => ("GRS 1980", 6_378_137.0, 298.257_222_101),
            7022 => ("International 1924", 6_378_388.0, 297.0),
            7024 => ("Krassowsky 1940", 6_378_245.0, 298.3),
            7030 => ("WGS 84", 6_378_137.0, 298.257_223_563),
            7043 => ("WGS 72", 6_378_135.0, 298.26),
            _ => return None,
        })
    };
    let coded = keys.code(2056).or(known).and_then(table);
    let Some(radius) = keys.number(2057) else {
        return coded;
    };
    let flattening = match (keys.number(2059), keys.number(2058)) {
        (Some(inverse), _) => inverse,
        // A sphere has 0.
        (None, Some(minor)) if minor == radius => 0.0,
        (None, Some(minor)) => radius / (radius - minor),
        (None, None) => coded?.2,
    };
    Some((coded.map_or("unknown", |c| c.0), radius, flattening))
}

/// The codes that [`known`] has.
const CODES: [u64; 6] = [4258, 4267, 4269, 4283, 4322, 4326];

/// The name, the datum and the ellipsoid of often used geographic systems.
fn known(code: u64) -> Option<(&'static str, &'static str, u64)> {
    Some(match code {
        4258 => ("ETRS89", "European_Terrestrial_Reference_System_1989", 7019),
        4267 => ("NAD27", "North_American_Datum_1927", 7008),
        4269 => ("NAD83", "North_American_Datum_1983", 7019),
        4283 => ("GDA94", "Geocentric_Datum_of_Australia_1994", 7019),
        4322 => ("WGS 72", "World_Geodetic_System_1972", 7043),
        4326 => ("WGS 84", "WGS_1984", 7030),
        _ => return None,
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "'"))
}
