//! Arrays in a bucket, of S3 or Google Cloud Storage, behave as on disk.

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::group::{Group, GroupChange, GroupMember, MemberKind, change_group, create_group};
use hyperslab::vfs::{VfsExt, conformance};
use hyperslab::{Array, OpenOptions, WriteOptions};
use hyperslab_tests::{oracle::Oracle, program};

use crate::bucket::Bucket;
use crate::example;
use crate::sequences::run_sequences;

#[test]
fn a_bucket_is_a_store() {
    for bucket in Bucket::of_each_kind("store") {
        let vfs = bucket.context("deep/prefix").vfs;
        block_on(conformance::check(&*vfs)).unwrap();
        block_on(conformance::check_reading(&*bucket.context("/deep/prefix/").vfs)).unwrap();
    }
}

#[test]
fn the_example_of_object_stores_runs_in_a_bucket() {
    for bucket in Bucket::of_each_kind("example") {
        let mut out = Vec::new();
        example::run(&bucket.context("some"), "prefix", &mut out).unwrap();
        let printed = String::from_utf8(out).unwrap();
        let mut lines = printed.lines();
        assert_eq!(lines.next(), Some("[0, 100, 200, 300, 400, 500, 600, 700, 800, 900]"));
        assert!(lines.any(|name| name == "__commits"), "{printed}");
        assert!(bucket.objects().join("some/prefix/numbers/__schema").is_dir());
    }
}

#[test]
fn large_files_are_uploaded_in_parts() {
    for bucket in Bucket::of_each_kind("large") {
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
}

#[test]
fn parts_of_an_abandoned_upload_are_removed() {
    for bucket in Bucket::of_each_kind("given-up") {
        let vfs = bucket.context("").vfs;
        let give_up = async {
            let mut writer = vfs.create("large").await?;
            writer.append(Bytes::from(vec![7; 20 << 20])).await?;
            writer.abort().await
        };
        block_on(give_up).unwrap();
        let sent: Vec<String> = bucket.requests().into_iter().map(|r| r.kind).collect();
        assert_eq!(
            (sent[0].as_str(), sent.last().unwrap().as_str()),
            ("POST", "DELETE"),
            "{sent:?}"
        );
        assert_eq!(block_on(vfs.read_all("large")).unwrap_err().code(), "NotFound");
    }
}

#[test]
fn folders_with_several_pages_of_files_are_listed_completely() {
    for bucket in Bucket::of_each_kind("listing") {
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
}

#[test]
fn random_operations_give_the_same_cells_in_a_bucket() {
    for bucket in Bucket::of_each_kind("lives") {
        let mut oracle = Oracle::start().unwrap();
        let truth = bucket.objects().with_file_name("truth");
        std::fs::create_dir(&truth).unwrap();
        // The objects are files: libtiledb reads them directly.
        let (ours, theirs) = (bucket.objects().join("lives"), truth.join("lives"));
        run_sequences("buckets", &bucket.context("lives"), &mut oracle, &ours, &theirs);
    }
}

#[test]
fn groups_live_in_a_bucket() {
    for bucket in Bucket::of_each_kind("groups") {
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
}

#[test]
fn nothing_is_created_inside_an_array_in_a_bucket() {
    for bucket in Bucket::of_each_kind("inside") {
        let context = bucket.context("");
        block_on(create_group(&context, "deep/inner/group")).unwrap();
        let mut asked: Vec<String> = bucket.requests().into_iter().map(|r| r.kind).collect();
        asked.sort();
        // The listing of the path, schemas of both kinds in each of three parent folders, and the group marker.
        let expected = ["HEAD", "HEAD", "HEAD", "LIST", "LIST", "LIST", "LIST", "PUT"];
        assert_eq!(asked, expected);
        block_on(context.vfs.put(
            "__schema/__1_1_0123456789abcdef0123456789abcdef",
            vec![Bytes::from("x")],
        ))
        .unwrap();
        for path in ["group", "deep/inner/second"] {
            let error = block_on(create_group(&context, path)).unwrap_err().to_string();
            assert!(error.contains("the path is inside the array"), "{error}");
        }
        let line = ["group", "create", &format!("{}/deep/third", bucket.url())];
        let program = std::process::Command::new(program())
            .args(line)
            .envs(bucket.environment())
            .output();
        let told = String::from_utf8(program.unwrap().stderr).unwrap();
        assert!(told.contains(&format!("inside the array {}, ", bucket.url())), "{told}");
    }
}

#[test]
fn missing_and_forbidden_objects_are_errors() {
    for bucket in Bucket::of_each_kind("missing") {
        let context = bucket.context("");
        let error = block_on(Array::open(&context, "nothing", &OpenOptions::default())).unwrap_err();
        assert_eq!(error.code(), "NotFound", "{error}");
        let mut refused = bucket.context("");
        refused.vfs = bucket.stranger();
        let error = block_on(refused.vfs.read_all("nothing")).unwrap_err();
        assert_eq!(error.code(), "Io", "{error}");
        assert!(error.to_string().contains("403"), "{error}");
    }
}
