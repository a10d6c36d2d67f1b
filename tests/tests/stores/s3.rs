//! Arrays in a bucket live as they do on a disk.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use hyperslab::array::Group;
use hyperslab::blocking::block_on;
use hyperslab::format::group::{GroupMember, MemberKind};
use hyperslab::maintain::{GroupChange, change_group, create_group};
use hyperslab::vfs::conformance;
use hyperslab::{Array, OpenOptions, WriteOptions};
use hyperslab_tests::case::{Case, Op};
use hyperslab_tests::oracle::Oracle;
use hyperslab_tests::{compare, perform};
use serde_json::{Value, json};

use crate::bucket::Bucket;

/// Lives that do not evolve: their times are those of the case, whenever they are lived.
const LIVES: [u64; 3] = [0, 1, 3];

#[test]
fn a_bucket_is_a_store() {
    let bucket = Bucket::start("s3-store");
    let vfs = bucket.context("deep/prefix").vfs;
    block_on(conformance::check(&*vfs)).unwrap();
}

#[test]
fn large_files_go_up_in_parts_and_come_back_whole() {
    let bucket = Bucket::start("s3-large");
    let vfs = bucket.context("").vfs;
    let part = Bytes::from((0..7_u32 << 18).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let write = async {
        let mut writer = vfs.create("large").await?;
        for _ in 0..6 {
            writer.append(part.clone()).await?;
        }
        writer.finish().await
    };
    block_on(write).unwrap();
    let whole = block_on(vfs.read_all("large")).unwrap();
    assert!(whole == part.repeat(6), "{} bytes", whole.len());
    let sent = bucket.requests();
    let puts = sent.iter().filter(|r| r.kind == "PUT").count();
    assert_eq!(puts, 3, "42 MiB in parts of 16: {sent:?}");

    let tail = block_on(vfs.read_tail("large", 5 << 20)).unwrap();
    assert_eq!(tail.0, whole.len() as u64);
    assert!(tail.1 == whole.slice(whole.len() - (5 << 20)..));
}

#[test]
fn folders_of_more_files_than_one_answer_names_are_listed_whole() {
    let bucket = Bucket::start("s3-listing");
    let commits = bucket.objects().join("array/__commits");
    std::fs::create_dir_all(&commits).unwrap();
    for i in 0..2500 {
        std::fs::write(commits.join(format!("{i:04}.wrt")), b"").unwrap();
    }
    let listed = block_on(bucket.context("array").vfs.list("__commits")).unwrap();
    let names: Vec<String> = listed.into_iter().map(|e| e.name).collect();
    assert!((0..2500).map(|i| format!("{i:04}.wrt")).eq(names));
    assert_eq!(bucket.requests().len(), 3, "a thousand names an answer");
}

#[test]
fn the_same_life_gives_the_same_cells_in_a_bucket() {
    let bucket = Bucket::start("s3-lives");
    let mut oracle = Oracle::start().unwrap();
    let mut cells = 0;
    for number in LIVES {
        let case = oracle.ask(&json!({"do": "sequence", "number": number})).unwrap();
        let lived = live(&bucket, &mut oracle, &case).with_context(|| format!("sequence {number}"));
        cells += lived.unwrap();
    }
    println!("buckets: {} lives, {cells} cells compared", LIVES.len());
    assert!(cells > 0, "no cell was compared");
}

/// Lives a life in the bucket and, by libtiledb, on a disk; gives how many cells were compared.
fn live(bucket: &Bucket, oracle: &mut Oracle, case: &Value) -> Result<u64> {
    let name = case["name"].as_str().context("a name")?;
    let truth = bucket.objects().with_file_name("truth").join(name);
    std::fs::create_dir_all(truth.parent().context("a folder")?)?;
    let (context, mut asked) = (bucket.context("lives"), case.clone());
    asked["queries"] = json!([]);
    let parsed: Case = serde_json::from_value(asked.clone())?;
    perform::begin(&context, name, &parsed, 1)?;
    oracle.about("create", &truth, case, &[])?;
    for (number, step) in (1_usize..).zip(case["ops"].as_array().context("a list")?) {
        let op: Op = serde_json::from_value(step.clone())?;
        let seed = perform::seed(name, number);
        perform::step(&context, name, &parsed, &op, seed).with_context(|| format!("step {number}, {}", step["op"]))?;
        oracle.about("perform", &truth, case, &[("op", step)])?;
    }
    let mut answered = Vec::new();
    for query in case["queries"].as_array().context("a list")? {
        let mut query = query.clone();
        query["expect"] = oracle.about("read", &truth, case, &[("query", &query)])?;
        answered.push(query);
    }
    asked["queries"] = answered.into();
    asked["metadata"] = oracle.about("metadata", &truth, case, &[])?;
    let cells = compare::check(&context, name, &serde_json::from_value(asked.clone())?)?;
    // The objects are files: libtiledb reads them where they lie.
    let why = oracle.about("judge", &bucket.objects().join("lives").join(name), &asked, &[])?;
    ensure!(why == "", "libtiledb reads the bucket: {why}");
    Ok(cells)
}

#[test]
fn groups_live_in_a_bucket() {
    let bucket = Bucket::start("s3-groups");
    let context = bucket.context("");
    block_on(create_group(&context, "all")).unwrap();
    block_on(create_group(&context, "all/inner")).unwrap();
    let member = GroupMember {
        kind: MemberKind::Group,
        relative: true,
        uri: "inner".into(),
        name: Some("first".into()),
        deleted: false,
    };
    let options = WriteOptions {
        timestamp_ms: 7,
        seed: [7; 32],
        sync: false,
    };
    block_on(change_group(
        &context,
        "all",
        &[GroupChange::Add(member)],
        None,
        &options,
    ))
    .unwrap();
    let group = block_on(Group::open(&context, "all", &OpenOptions::default())).unwrap();
    let members: Vec<_> = group
        .members
        .iter()
        .map(|m| (m.name.as_deref(), m.uri.as_str()))
        .collect();
    assert_eq!(members, [(Some("first"), "all/inner")]);
    let again = block_on(create_group(&context, "all")).unwrap_err();
    assert_eq!(again.code(), "AlreadyExists");
}

#[test]
fn what_is_missing_or_forbidden_is_said() {
    let bucket = Bucket::start("s3-missing");
    let context = bucket.context("");
    let error = block_on(Array::open(&context, "nothing", &OpenOptions::default())).unwrap_err();
    assert_eq!(error.code(), "NotFound", "{error}");
    let mut refused = bucket.context("");
    refused.vfs = bucket.stranger();
    let error = block_on(refused.vfs.read_all("nothing")).unwrap_err();
    assert_eq!(error.code(), "Io", "{error}");
    assert!(error.to_string().contains("403"), "{error}");
}
