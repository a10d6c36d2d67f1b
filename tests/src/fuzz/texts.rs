//! Text from users and servers: JSON, selections, conditions, times, listings.

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::internals::vfs::listing::parse_index;
use hyperslab::internals::view::selection;
use hyperslab::schema::Schema;
use hyperslab::vfs::manifest::Manifest;
use hyperslab::vfs::{MemVfs, check_path, manifest};
use hyperslab::view::parse_time;
use hyperslab::{Condition, schema_json};

use super::samples::Samples;
use super::{Allowance, Target, choices};

pub(super) fn targets(samples: &Samples) -> Vec<Target> {
    let schemas: Arc<Vec<Schema>> = Arc::new(samples.schemas.clone());
    let select = move |input: &[u8]| {
        let Some((choice, text)) = choices::<2>(input) else {
            return Allowance::of(0);
        };
        let schema = Samples::schema(&schemas, choice);
        if let Ok(s) = selection::parse(&String::from_utf8_lossy(text), schema, None) {
            let _ = (s.shape(), s.bounds());
            // A step expands to a list of coordinates, which has a maximum length.
            let listed = s.region(schema).map_or(0, |r| r.0.iter().map(Vec::len).sum());
            let text = s.text(schema);
            let again = selection::parse(&text, schema, None).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(again.text(schema), text);
            let given = allowance(input);
            return Allowance {
                bytes: given.bytes + 2 * listed,
                ..given
            };
        }
        allowance(input)
    };
    vec![
        Target::new("schema-json", json_seeds(samples), json),
        Target::new("filter-list", words(FILTERS), filters),
        Target::new("selection", selection_seeds(samples), select),
        Target::new("condition", words(CONDITIONS), condition),
        Target::new("time", words(TIMES), time),
        Target::new("manifest", manifest_seeds(samples), manifest_file),
        Target::new("listing", words(LISTINGS), listing),
    ]
}

/// Texts are held as strings and as parsed trees, and quoted in errors.
fn allowance(input: &[u8]) -> Allowance {
    Allowance {
        fixed: 1 << 20,
        ..Allowance::of(4 * input.len())
    }
}

fn words(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|s| s.as_bytes().to_vec()).collect()
}

const FILTERS: &[&str] = &["zstd:9", "byteshuffle,gzip", "delta,float-scale:0.5:1:2", "webp:80:rgb"];
const TIMES: &[&str] = &[
    "12",
    "2026-01-01",
    "2026-01-01T10:00:00.007Z",
    "1970-01-01T00:00:00+01:00",
];
const CONDITIONS: &[&str] = &[
    "a > 3 and not (b in ('x', \"y\") or c is not null)",
    "1.5e3 <= d or `e f` = 'it''s' and g not in (1, -2)",
];
const LISTINGS: &[&str] = &[
    r#"[{"name":"a","type":"directory","mtime":"Mon"},{"name":"b","type":"file","size":3}]"#,
    r#"[{"name":"a/","size":0,"is_dir":true}]"#,
    r#"<html><title>Index of /x</title><a href="../">../</a><a href='b%20c'>b</a> 12<a href=d/>d/</a>"#,
];

fn json(bytes: &[u8]) -> Allowance {
    if let Ok(value) = serde_json::from_slice(bytes)
        && let Ok((schema, enumerations)) = schema_json::from_json(&value)
    {
        let text = schema_json::to_json(&schema, &enumerations);
        let (again, _) = schema_json::from_json(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(schema_json::to_json(&again, &enumerations), text);
    }
    Allowance {
        // Fill values that the JSON leaves out.
        fixed: 64 << 20,
        ..allowance(bytes)
    }
}

fn json_seeds(samples: &Samples) -> Vec<Vec<u8>> {
    let text = |s| schema_json::to_json(s, &[]).to_string().into_bytes();
    samples.schemas.iter().map(text).collect()
}

fn filters(bytes: &[u8]) -> Allowance {
    let _ = schema_json::parse_filters(&String::from_utf8_lossy(bytes));
    allowance(bytes)
}

fn selection_seeds(samples: &Samples) -> Vec<Vec<u8>> {
    let schemas = samples.schemas.iter().zip(0_u16..);
    let whole = |(s, choice): (&Schema, u16)| {
        let text = selection::Selection::all(s, None).text(s);
        [&choice.to_le_bytes(), text.as_bytes()].concat()
    };
    let mut all: Vec<_> = schemas.map(whole).collect();
    all.extend(words(&[
        "\0\0a@0:10:2,5",
        "\x01\0a,b@d1=3:7,*",
        "\x02\0'x':'y'",
        "\x03\x002020-01-01:2021-01-01",
    ]));
    all
}

fn condition(bytes: &[u8]) -> Allowance {
    if let Ok(c) = String::from_utf8_lossy(bytes).parse::<Condition>() {
        let _ = (c.fields(), c.negated());
    }
    allowance(bytes)
}

fn time(bytes: &[u8]) -> Allowance {
    let _ = parse_time(&String::from_utf8_lossy(bytes));
    allowance(bytes)
}

fn manifest_file(bytes: &[u8]) -> Allowance {
    if let Ok(m) = Manifest::decode(bytes, "m") {
        assert_eq!(Manifest::decode(&m.encode().unwrap(), "m").unwrap(), m);
    }
    allowance(bytes)
}

fn manifest_seeds(samples: &Samples) -> Vec<Vec<u8>> {
    let build = |files: &[(String, Vec<u8>)]| {
        let store = MemVfs::new();
        for (path, bytes) in files {
            store.replace(path.clone(), bytes.clone());
        }
        block_on(manifest::write(&store, "")).unwrap().encode().unwrap()
    };
    let small = samples.arrays.iter().filter(|a| a.files.len() < 30);
    small.step_by(30).map(|a| build(&a.files)).collect()
}

fn listing(bytes: &[u8]) -> Allowance {
    let text = String::from_utf8_lossy(bytes);
    let _ = (
        parse_index("application/json", &text),
        parse_index("text/html", &text),
        check_path(&text),
    );
    allowance(bytes)
}
