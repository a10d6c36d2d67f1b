use std::sync::Arc;

use super::*;
use crate::blocking::block_on;
use crate::limits::FOLDER_DEPTH_MAX;
use crate::vfs::MemVfs;

fn store() -> MemVfs {
    let mem = MemVfs::new();
    for (path, bytes) in [
        ("__schema/__1_1_0a", "schema"),
        ("__commits/x.wrt", ""),
        ("__fragments/x/a0.tdb", "data"),
    ] {
        mem.replace(path, bytes);
    }
    mem
}

#[cfg(feature = "test-util")]
#[test]
fn without_a_manifest_it_is_the_store() {
    let vfs = ManifestVfs::new(Arc::new(MemVfs::new()));
    block_on(crate::vfs::conformance::check(&vfs)).unwrap();
}

#[test]
fn lists_everything_and_carries_what_opening_reads() {
    let mem = store();
    let manifest = block_on(write(&mem, "")).unwrap();
    assert_eq!(
        String::from_utf8(manifest.encode().unwrap()).unwrap(),
        r#"{"version":1,"files":{"__commits/x.wrt":{"size":0},"__fragments/x/a0.tdb":{"size":4},"__schema/__1_1_0a":{"size":6}},"inline":{"__fragments/x/a0.tdb":"ZGF0YQ==","__schema/__1_1_0a":"c2NoZW1h"}}"#
    );
}

#[test]
fn answers_without_the_store() {
    let mem = store();
    block_on(write(&mem, "")).unwrap();
    let vfs = ManifestVfs::new(Arc::new(mem.clone()));
    assert_eq!(block_on(vfs.list("__fragments/x")).unwrap().len(), 1);
    for (path, _) in mem.files().iter().filter(|(path, _)| path != MANIFEST) {
        block_on(mem.remove(path)).unwrap();
    }
    assert_eq!(block_on(vfs.read_all("__schema/__1_1_0a")).unwrap(), "schema");
    assert_eq!(block_on(vfs.read("__schema/__1_1_0a", &[2..4])).unwrap(), ["he"]);
    assert_eq!(block_on(vfs.size("__fragments/x/a0.tdb")).unwrap(), 4);
    assert_eq!(block_on(vfs.list("")).unwrap().len(), 3);
    assert_eq!(block_on(vfs.read_all("__fragments/x/a0.tdb")).unwrap(), "data");
}

#[test]
fn the_cells_of_a_large_array_stay_where_they_are() {
    let mem = store();
    mem.replace("__fragments/x/a1.tdb", vec![0; 600 << 10]);
    let manifest = block_on(write(&mem, "")).unwrap();
    assert_eq!(manifest.inline.keys().collect::<Vec<_>>(), ["__schema/__1_1_0a"]);
}

#[test]
fn refresh_updates_a_manifest_after_a_write() {
    let mem = store();
    block_on(write(&mem, "")).unwrap();
    let vfs = ManifestVfs::new(Arc::new(mem.clone()));
    block_on(vfs.put("new", vec![Bytes::from("x")])).unwrap();
    assert!(block_on(vfs.list("")).unwrap().iter().any(|e| e.name == "new"));
    block_on(refresh(&mem, "__fragments/x")).unwrap();
    assert!(!mem.files().iter().any(|(path, _)| path.ends_with("x/__manifest.json")));
    let again = ManifestVfs::new(Arc::new(mem));
    assert!(block_on(again.list("")).unwrap().iter().any(|e| e.name == "new"));
}

#[test]
fn invalidate_shows_files_of_other_programs() {
    let (mem, names) = (store(), |vfs: &ManifestVfs| block_on(vfs.list("")).unwrap().len());
    block_on(write(&mem, "")).unwrap();
    let vfs = ManifestVfs::new(Arc::new(mem.clone()));
    let before = names(&vfs);
    mem.replace("new", b"x".to_vec());
    block_on(refresh(&mem, "")).unwrap();
    assert_eq!(names(&vfs), before);
    block_on(vfs.invalidate()).unwrap();
    assert_eq!(names(&vfs), before + 1);
}

#[test]
fn invalidate_shows_a_new_manifest() {
    let mem = store();
    let vfs = ManifestVfs::new(Arc::new(mem.clone()));
    assert_eq!(block_on(vfs.list("")).unwrap().len(), 3);
    block_on(write(&mem, "")).unwrap();
    mem.replace("unlisted", b"x".to_vec());
    block_on(vfs.invalidate()).unwrap();
    assert_eq!(block_on(vfs.list("")).unwrap().len(), 3);
}

/// Another program writes a file and the manifest before each call in turn.
#[cfg(feature = "test-util")]
#[test]
fn of_two_writers_neither_is_left_out() {
    for call in 0.. {
        let mem = store();
        let vfs = crate::vfs::faulty::FaultyVfs::new(Arc::new(mem.clone()), Default::default());
        let other = mem.clone();
        vfs.before(call, move || {
            other.replace("new", b"x".to_vec());
            block_on(write(&other, "")).unwrap();
        });
        block_on(write(&vfs, "")).unwrap();
        if !mem.files().iter().any(|(path, _)| path == "new") {
            assert!(call > 5);
            return;
        }
        let read = ManifestVfs::new(Arc::new(mem));
        let names = block_on(read.list("")).unwrap();
        assert!(names.iter().any(|e| e.name == "new"), "before call {call}");
    }
}

#[test]
fn damage_is_an_error_that_says_what_to_do() {
    let e = Manifest::decode(b"{\"version\":1", "a/__manifest.json").unwrap_err();
    assert!(e.to_string().starts_with("a/__manifest.json: corrupt manifest"), "{e}");
    assert!(e.to_string().contains("hyperslab index"), "{e}");
    let newer = Manifest::decode(br#"{"version":2,"files":{}}"#, "m").unwrap_err();
    assert_eq!(newer.code(), "UnsupportedVersion");
}

#[test]
fn where_the_store_can_list_its_lists_count() {
    let mem = store();
    block_on(write(&mem, "")).unwrap();
    mem.replace("__commits/y.wrt", b"".to_vec());
    mem.replace("__meta/__2_2_0b", b"later".to_vec());
    block_on(mem.remove("__schema/__1_1_0a")).unwrap();
    let names = |vfs: &ManifestVfs, dir: &str| {
        let listed = block_on(vfs.list(dir)).unwrap();
        listed.into_iter().map(|e| e.name).collect::<Vec<_>>().join(" ")
    };
    let checked = ManifestVfs::checked(Arc::new(mem.clone()));
    assert_eq!(names(&checked, ""), "__commits __fragments __meta");
    assert_eq!(names(&checked, "__commits"), "x.wrt y.wrt");
    assert_eq!(names(&checked, "__meta"), "__2_2_0b");
    // Contents that the manifest carries need no further request.
    assert_eq!(block_on(checked.read_all("__schema/__1_1_0a")).unwrap(), "schema");
    let believing = ManifestVfs::new(Arc::new(mem));
    assert_eq!(names(&believing, "__commits"), "x.wrt");
    assert_eq!(names(&believing, "__meta"), "");
}

/// The listing may succeed the next time, and show what the manifest lacks.
#[cfg(feature = "test-util")]
#[test]
fn a_listing_that_fails_once_does_not_make_the_manifest_count() {
    use crate::vfs::faulty::{Fault, FaultyVfs};

    let mem = store();
    block_on(write(&mem, "")).unwrap();
    mem.replace("__commits/y.wrt", b"".to_vec());
    // The manifest is call 0, the listing call 1.
    let fault = Fault {
        at_call: Some(1),
        ..Fault::default()
    };
    let vfs = ManifestVfs::checked(Arc::new(FaultyVfs::new(Arc::new(mem), fault)));
    let error = block_on(vfs.list("__commits")).unwrap_err().to_string();
    assert!(error.contains("may lack recent writes; try again"), "{error}");
    assert_eq!(block_on(vfs.list("__commits")).unwrap().len(), 2);
}

#[test]
fn paths_that_no_store_has_are_refused() {
    let decode = |files: &str| Manifest::decode(format!(r#"{{"version":1,"files":{{{files}}}}}"#).as_bytes(), "m");
    let file = |path: &str| format!(r#""{path}":{{"size":1}}"#);
    let deep = |parts: usize| file(&vec!["d"; parts].join("/"));
    for bad in ["/x", "a//b", "a/", "../x", "a/./b", ""] {
        let error = decode(&file(bad)).unwrap_err();
        assert_eq!(error.code(), "Corrupt", "{bad}");
        assert!(error.to_string().contains("hyperslab index"), "{error}");
    }
    assert!(decode(&deep(FOLDER_DEPTH_MAX + 1)).is_ok());
    for parts in [FOLDER_DEPTH_MAX + 2, 100_000] {
        let error = decode(&deep(parts)).unwrap_err().to_string();
        assert!(error.contains("folders within folders in \"d/d/d\""), "{error}");
    }
    let both = decode(&[file("a"), file("a!"), file("a/b")].join(",")).unwrap_err();
    assert!(both.to_string().contains("\"a\" is both a file and a folder"), "{both}");
    let inline = br#"{"version":1,"files":{},"inline":{"/x":""}}"#;
    assert_eq!(Manifest::decode(inline, "m").unwrap_err().code(), "Corrupt");
    let large = vec![b' '; MANIFEST_BYTES_MAX as usize + 1];
    assert_eq!(Manifest::decode(&large, "m").unwrap_err().code(), "LimitExceeded");
}
