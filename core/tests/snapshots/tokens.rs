//! Tokens: what they weigh, what reading through one requests, and which are refused.

use hyperslab::blocking::block_on;
use hyperslab::internals::format::envelope;
use hyperslab::internals::format::snapshot_token::KIND;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete, vacuum};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::vfs::VfsExt;
use hyperslab::{Array, Condition, Error, Key, Query, SnapshotOptions, Window};

use super::{at, bands, create, recorded, rows};

/// Opens `token` on a store that records its calls, and checks that it received none.
macro_rules! opened {
    ($files:expr, $token:expr) => {{
        let (store, context) = recorded($files);
        let array = block_on(Array::from_snapshot(&context, "a", $token, None)).unwrap();
        assert_eq!(store.calls(), [], "opening takes no request");
        (store, array)
    }};
}

fn token(array: &Array) -> Vec<u8> {
    block_on(array.snapshot(&SnapshotOptions::default())).unwrap()
}

#[test]
fn reading_a_thousand_fragments_takes_no_listing_and_no_metadata() {
    for dense in [true, false] {
        for consolidated in [false, true] {
            let (files, mut array) = bands(dense, if consolidated { 50 } else { 1000 });
            if consolidated {
                block_on(consolidate(
                    &array,
                    &ConsolidateOptions::new(Mode::FragmentMetadata),
                    &at(2),
                ))
                .unwrap();
                array = block_on(array.at(Window::ALL)).unwrap();
            }
            let (store, same) = opened!(&files, &token(&array));
            let condition: Condition = "v != 7".parse().unwrap();
            for condition in [None, Some(condition)] {
                let query = Query {
                    condition,
                    ..Query::default()
                };
                assert_eq!(rows(&same, &query), rows(&array, &query), "dense: {dense}");
            }
            let calls = store.calls();
            assert!(calls.len() >= same.fragments().len());
            for call in calls {
                let is_data = call.path.contains("/__fragments/") && !call.path.ends_with("/__fragment_metadata.tdb");
                assert!(is_data && call.method != "list", "{call:?}");
            }
        }
    }
}

/// `HYPERSLAB_FRAGMENTS=10000 cargo test --test snapshots weigh -- --nocapture` prints the weight for more fragments.
#[test]
fn tokens_weigh_less_than_a_kibibyte_a_fragment() {
    let more = std::env::var("HYPERSLAB_FRAGMENTS").ok().map(|n| n.parse().unwrap());
    for fragments in [10, 1000].into_iter().chain(more) {
        for dense in [true, false] {
            let (files, array) = bands(dense, fragments);
            let weigh = |index_bytes_max| block_on(array.snapshot(&SnapshotOptions { index_bytes_max })).unwrap();
            let (bare, whole) = (weigh(0), token(&array));
            let each = |token: &[u8]| token.len() as u64 / fragments;
            println!(
                "{fragments} fragments, dense: {dense}: {} bytes a fragment, {} with indexes",
                each(&bare),
                each(&whole)
            );
            assert!(
                each(&whole) < 1024 && bare.len() < whole.len(),
                "{} {}",
                bare.len(),
                whole.len()
            );
            // Indexes that were left out are read when they are needed.
            let (store, same) = opened!(&files, &bare);
            assert_eq!(rows(&same, &Query::default()), rows(&array, &Query::default()));
            assert!(
                store
                    .calls()
                    .iter()
                    .any(|c| c.path.ends_with("/__fragment_metadata.tdb"))
            );
            let read = block_on(same.snapshot(&SnapshotOptions::default())).unwrap();
            assert_eq!(read, whole, "a snapshot of a snapshot is the same");
        }
    }
}

#[test]
fn deletes_metadata_enumerations_and_windows_travel() {
    let (files, array) = bands(false, 6);
    let entry = Entry {
        key: "units".into(),
        value: Some(MetaValue::text("kelvin")),
    };
    block_on(array.write_metadata(&[entry], &at(1_700_000_000_500))).unwrap();
    block_on(delete(
        &array,
        &"v == 3 or x == 5".parse().unwrap(),
        &at(1_700_000_002_500),
    ))
    .unwrap();
    let array = block_on(array.at(Window::ALL)).unwrap();
    let mut merge = ConsolidateOptions::new(Mode::Fragments);
    merge.steps.amplification = 1e9;
    block_on(consolidate(&array, &merge, &at(1_700_000_009_000))).unwrap();
    for end_ms in [1_700_000_000_000, 1_700_000_002_000, 1_700_000_002_500, u64::MAX] {
        let array = block_on(array.at(Window::at(end_ms))).unwrap();
        let (store, same) = opened!(&files, &token(&array));
        assert_eq!(
            (same.times(), same.delete_times()),
            (array.times(), array.delete_times())
        );
        assert_eq!(block_on(same.metadata()).unwrap(), block_on(array.metadata()).unwrap());
        assert_eq!(store.calls(), [], "metadata is in the token");
        assert_eq!(rows(&same, &Query::default()), rows(&array, &Query::default()));
        assert!(
            !store
                .calls()
                .iter()
                .any(|c| c.path.ends_with("/__fragment_metadata.tdb"))
        );
        let later = block_on(same.at(Window::ALL)).unwrap();
        assert_eq!(later.fragments().len(), 1, "the consolidated fragment");
    }
}

#[test]
fn a_vacuumed_fragment_is_named_by_the_read() {
    for dense in [true, false] {
        let (files, array) = bands(dense, 3);
        let token = token(&array);
        let mut merge = ConsolidateOptions::new(Mode::Fragments);
        merge.steps.amplification = 1e9;
        block_on(consolidate(&array, &merge, &at(1_700_000_009_000))).unwrap();
        let array = block_on(array.at(Window::ALL)).unwrap();
        block_on(vacuum(&array, Mode::Fragments, false, &at(1_700_000_009_001))).unwrap();
        let (_, same) = opened!(&files, &token);
        let error = block_on(same.read(&Query::default())).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
        let text = error.to_string();
        assert!(same.fragments().iter().any(|f| text.contains(&f.name)), "{text}");
        assert!(
            text.contains("vacuumed") && text.contains("take the snapshot again"),
            "{text}"
        );
    }
}

#[test]
fn tokens_of_other_arrays_and_releases_are_refused() {
    let (files, array) = bands(true, 2);
    let (_, context) = recorded(&files);
    let token = token(&array);
    let open = |path: &str, token: &[u8], key| block_on(Array::from_snapshot(&context, path, token, key));
    let error = open("b", &token, None).unwrap_err().to_string();
    assert!(
        error.contains("b: the snapshot token belongs to another array, a;"),
        "{error}"
    );
    // The same array, seen from the folder above.
    assert!(open("folder/a", &token, None).is_ok());
    let error = open("a", b"{\"files\": {}}", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "a: the snapshot token cannot be used: snapshot token at byte 0: this is not a snapshot token; take the \
         snapshot again with `hyperslab snapshot`"
    );
    let body = envelope::open(KIND, &token).unwrap();
    let newer = envelope::Kind {
        version: KIND.version + 1,
        ..KIND
    };
    let error = open("a", &envelope::seal(newer, &body).unwrap(), None).unwrap_err();
    assert!(
        matches!(error, Error::Unsupported(_)) && error.to_string().contains("2 is newer than 1"),
        "{error}"
    );
    let error = open("a", &token, Some(Key([1; 32]))).unwrap_err();
    assert!(matches!(error, Error::Key { wanted: false, .. }), "{error}");
    let split = block_on(array.plan_splits(&Query::default(), 64)).unwrap().remove(0);
    let (_, other) = bands(true, 3);
    let error = other.part(&split).unwrap_err().to_string();
    assert!(error.contains("another snapshot"), "{error}");
}

#[test]
fn damaged_tokens_are_refused_and_forged_ones_do_no_harm() {
    let (files, array) = bands(false, 3);
    let (_, context) = recorded(&files);
    let token = token(&array);
    let open = |token: &[u8]| block_on(Array::from_snapshot(&context, "a", token, None));
    for at in 0..token.len() {
        let mut bad = token.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(open(&bad).is_err(), "byte {at}");
        let error = open(&token[..at]).unwrap_err().to_string();
        assert!(error.contains("take the snapshot again"), "cut at {at}: {error}");
    }
    // Below a valid checksum, anything may stand.
    let body = envelope::open(KIND, &token).unwrap();
    let (mut refused, mut random) = (0, 1_u64);
    for at in (0..body.len()).step_by(11) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut bad = body.clone();
        bad[at] ^= (random >> 56) as u8 | 1;
        match open(&envelope::seal(KIND, &bad).unwrap()) {
            Ok(array) => drop(block_on(array.read(&Query::default()))),
            Err(_) => refused += 1,
        }
        assert!(
            open(&envelope::seal(KIND, &body[..at]).unwrap()).is_err(),
            "cut at {at}"
        );
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn encrypted_arrays_stay_encrypted() {
    let (files, array) = bands(true, 1);
    let schema = (**array.schema()).clone();
    let key = Key([9; 32]);
    let context = array.context().clone();
    let options = hyperslab::CreateOptions {
        timestamp_ms: 1,
        seed: [4; 32],
        key: Some(key.clone()),
    };
    block_on(Array::create(&context, "secret", &schema, &[], &options)).unwrap();
    let options = hyperslab::OpenOptions {
        key: Some(key.clone()),
        ..hyperslab::OpenOptions::default()
    };
    let secret = block_on(Array::open(&context, "secret", &options)).unwrap();
    block_on(secret.write(super::band(true, 0), &at(10))).unwrap();
    let secret = block_on(secret.at(Window::ALL)).unwrap();
    let token = token(&secret);
    let body = envelope::open(KIND, &token).unwrap();
    let schemas = block_on(context.vfs.list("secret/__schema")).unwrap();
    let schema = schemas.iter().find(|e| e.name.starts_with("__1_1_")).unwrap();
    let stored = block_on(context.vfs.read_all(&format!("secret/__schema/{}", schema.name))).unwrap();
    assert!(
        body.windows(stored.len()).any(|w| w == stored),
        "the schema is in the token as it is stored"
    );
    let (_, context) = recorded(&files);
    let without = block_on(Array::from_snapshot(&context, "secret", &token, None));
    assert!(matches!(without, Err(Error::Key { wanted: true, .. })));
    let same = block_on(Array::from_snapshot(&context, "secret", &token, Some(key))).unwrap();
    assert_eq!(rows(&same, &Query::default()), rows(&secret, &Query::default()));
}

#[test]
fn empty_arrays_have_tokens_and_no_splits_if_sparse() {
    for dense in [true, false] {
        let (files, array) = bands(dense, 1);
        let schema = (**array.schema()).clone();
        let empty = create(&files, "empty", &schema);
        let (_, context) = recorded(&files);
        let same = block_on(Array::from_snapshot(&context, "empty", &token(&empty), None)).unwrap();
        assert_eq!(same.fragments().len(), 0);
        let splits = block_on(same.plan_splits(&Query::default(), 1 << 20)).unwrap();
        assert_eq!(splits.len(), usize::from(dense), "a dense array has fill values");
    }
}
