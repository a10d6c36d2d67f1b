use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::blocking::block_on;
use crate::vfs::VfsExt;

#[test]
fn a_location_is_absolute() {
    let location = |root: &str, path: &str| LocalVfs::new(root).location(path);
    assert_eq!(
        location("/data/./x/../arrays/", "a").as_deref(),
        Some("file:///data/arrays/a")
    );
    assert_eq!(location("/data", "").as_deref(), Some("file:///data"));
    let here = std::env::current_dir().unwrap();
    assert_eq!(location("a", "b"), Some(format!("file://{}/a/b", here.display())));
}

#[cfg(feature = "test-util")]
#[test]
fn the_local_disk_passes_the_conformance_suite() {
    let dir = tempfile::tempdir().unwrap();
    block_on(crate::vfs::conformance::check(&LocalVfs::new(dir.path()))).unwrap();
}

#[test]
fn unfinished_files_are_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = LocalVfs::new(dir.path());
    let mut writer = block_on(vfs.create("__schema/__1_1_a")).unwrap();
    block_on(writer.append(Bytes::from_static(b"half"))).unwrap();
    assert_eq!(
        fs::read_dir(dir.path().join("__schema"))
            .map(Iterator::count)
            .unwrap_or(0),
        0
    );
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1 + usize::from(dir.path().join("__schema").exists())
    );
    drop(writer);
    assert!(
        fs::read_dir(dir.path())
            .unwrap()
            .all(|e| e.unwrap().file_name() == "__schema")
    );
}

#[test]
fn a_long_listing_never_misses_both_of_two_files() {
    let dir = tempfile::tempdir().unwrap();
    // Names as long as those of fragments, so that the listing takes several system calls.
    let name = |n: u32| {
        format!(
            "__1_1_{:032x}_22.wrt",
            u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060)
        )
    };
    for n in 0..2000 {
        fs::write(dir.path().join(name(n)), "").unwrap();
    }
    let token = |n: u32| dir.path().join(format!("{}.vac", name(n)));
    fs::write(token(0), "").unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // At least one of them exists at any time.
            for n in 0.. {
                fs::write(token(n + 1), "").unwrap();
                fs::remove_file(token(n)).unwrap();
                if over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let vfs = LocalVfs::new(dir.path());
        let misses = (0..300).filter(|_| {
            let found = vfs.children("").unwrap();
            found.iter().all(|e| !e.name.ends_with(".vac"))
        });
        let misses = misses.count();
        over.store(true, Ordering::Relaxed);
        assert_eq!(misses, 0);
    });
}

#[test]
fn leftovers_of_dead_writers_are_found_and_live_ones_spared() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = LocalVfs::new(dir.path());
    let age = |name: &str| {
        let file = fs::File::options().write(true).open(dir.path().join(name)).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
        file.set_modified(then).unwrap();
    };
    let writer = block_on(vfs.create("array/__meta/__1_1_a")).unwrap();
    let names = fs::read_dir(dir.path().join("array")).unwrap();
    let mut names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let alive = format!("array/{}", names.find(|n| put::is_temporary(n)).unwrap());
    for name in [
        "array/.hyperslab-1-1-1.tmp",
        "array/.hyperslab-1-1-2.tmp",
        "array/.other.tmp",
    ] {
        fs::write(dir.path().join(name), "half").unwrap();
    }
    for old in [&*alive, "array/.hyperslab-1-1-1.tmp", "array/.other.tmp"] {
        age(old);
    }
    assert_eq!(
        block_on(vfs.leftovers("array")).unwrap(),
        ["array/.hyperslab-1-1-1.tmp"]
    );
    drop(writer);
    assert!(block_on(vfs.leftovers("nowhere")).unwrap().is_empty());
}

#[test]
fn a_rewritten_name_is_not_read_through_an_old_handle() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = LocalVfs::new(dir.path());
    for content in ["first", "again"] {
        block_on(vfs.put("a/f", vec![Bytes::from(content)])).unwrap();
        assert_eq!(block_on(vfs.read("a/f", &[0..5])).unwrap(), [content]);
        block_on(vfs.remove_dir("a")).unwrap();
    }
}

#[test]
fn a_file_that_was_read_whole_is_not_kept_open() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = LocalVfs::new(dir.path());
    block_on(vfs.put("f", vec![Bytes::from_static(b"whole")])).unwrap();
    assert_eq!(block_on(vfs.read("f", &[0..5])).unwrap(), ["whole"]);
    assert_eq!(vfs.handles.count(), 0);
    assert_eq!(block_on(vfs.read("f", &[0..2, 3..5])).unwrap(), ["wh", "le"]);
    assert_eq!(vfs.handles.count(), 1);
    assert_eq!(block_on(vfs.read("f", &[0..5])).unwrap(), ["whole"]);
}

#[test]
fn many_files_do_not_exhaust_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = LocalVfs::new(dir.path());
    for i in 0..300 {
        let path = format!("f{i}");
        block_on(vfs.put(&path, vec![Bytes::from(path.clone())])).unwrap();
        assert_eq!(block_on(vfs.read(&path, &[0..1])).unwrap(), ["f"]);
    }
    assert!(
        (64..=128).contains(&vfs.handles.count()),
        "{} open",
        vfs.handles.count()
    );
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    /// A folder `root` with a file and links, next to a folder outside the store.
    fn tree(dir: &Path) -> LocalVfs {
        fs::create_dir_all(dir.join("root/inner")).unwrap();
        fs::create_dir_all(dir.join("other/sub")).unwrap();
        fs::write(dir.join("root/inner/f"), "inside").unwrap();
        fs::write(dir.join("other/secret"), "secret").unwrap();
        let link = |target: &Path, name: &str| symlink(target, dir.join("root").join(name)).unwrap();
        link(&dir.join("other"), "folder");
        link("../other".as_ref(), "relative");
        link(&dir.join("other/secret"), "file");
        link("/dev/zero".as_ref(), "zero");
        link("/nowhere/at/all".as_ref(), "nowhere");
        link(&dir.join("root/inner"), "absolute");
        link("inner/f".as_ref(), "short");
        LocalVfs::new(dir.join("root"))
    }

    #[track_caller]
    fn refused<T>(outcome: Result<T>) {
        let Err(error) = outcome else {
            panic!("a link was followed")
        };
        assert!(error.to_string().contains("points outside "), "{error}");
    }

    #[test]
    fn links_that_lead_out_are_refused_by_every_method() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = tree(dir.path());
        for file in ["file", "zero", "folder/secret", "relative/secret"] {
            refused(block_on(vfs.read(file, &[0..1])));
            refused(block_on(vfs.read_all(file)));
            refused(block_on(vfs.read_tail(file, 1)));
            refused(block_on(vfs.size(file)));
            refused(vfs.open(file).map(drop));
            // A batch keeps the root open.
            let batch = ["inner/f".to_owned(), file.to_owned()];
            let mut tails = block_on(vfs.read_tails(&batch, 1));
            refused(tails.pop().unwrap());
            assert!(tails.pop().unwrap().is_ok());
            refused(block_on(vfs.read_files(&[(file.into(), vec![0..1])])));
        }
        let some = || vec![Bytes::from_static(b"changed")];
        for folder in ["folder", "relative"] {
            refused(block_on(vfs.list(folder)));
            refused(block_on(vfs.list(&join(folder, "sub"))));
            for name in [join(folder, "new"), join(folder, "sub/new")] {
                refused(block_on(vfs.put(&name, some())));
                refused(block_on(vfs.put(&name, Vec::new())));
                refused(block_on(vfs.overwrite(&name, some())));
                refused(block_on(vfs.create(&name)).map(drop));
                refused(block_on(vfs.create_dir(&name)));
            }
            refused(block_on(vfs.remove(&join(folder, "secret"))));
            refused(block_on(vfs.remove_dir(&join(folder, "sub"))));
            refused(block_on(vfs.leftovers(folder)));
            refused(block_on(vfs.sync(folder)));
        }
        assert_eq!(fs::read(dir.path().join("other/secret")).unwrap(), b"secret");
        assert_eq!(fs::read_dir(dir.path().join("other")).unwrap().count(), 2);
        assert_eq!(fs::read_dir(dir.path().join("other/sub")).unwrap().count(), 0);
        // Removing a link does not remove its target.
        block_on(vfs.remove("file")).unwrap();
        block_on(vfs.remove_dir("folder")).unwrap();
        assert!(dir.path().join("other/secret").exists());
    }

    #[test]
    fn links_that_stay_inside_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = tree(dir.path());
        symlink("root", dir.path().join("alias")).unwrap();
        let alias = LocalVfs::new(dir.path().join("alias"));
        for vfs in [&vfs, &alias] {
            for name in ["inner/f", "absolute/f", "short"] {
                assert_eq!(block_on(vfs.read_all(name)).unwrap(), "inside", "{name}");
                assert_eq!(block_on(vfs.size(name)).unwrap(), 6, "{name}");
            }
        }
        block_on(vfs.put("absolute/new/g", vec!["new".into()])).unwrap();
        assert_eq!(block_on(alias.read_all("inner/new/g")).unwrap(), "new");
        let names = |dir: &str| -> Vec<_> {
            let entries = block_on(alias.list(dir)).unwrap();
            entries.into_iter().map(|e| (e.name, e.kind)).collect()
        };
        let (file, folder) = (EntryKind::File(None), EntryKind::Dir);
        assert_eq!(names("absolute"), [("f".into(), file), ("new".into(), folder)]);
        let expected = [
            ("absolute", folder),
            ("file", file),
            ("folder", folder),
            ("inner", folder),
            ("relative", folder),
            ("short", file),
            ("zero", file),
        ];
        assert_eq!(names(""), expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let vfs = LocalVfs::new(dir.path());
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let outcomes = [
            block_on(vfs.read("pipe", &[0..1])).map(drop),
            block_on(vfs.read_all("pipe")).map(drop),
            block_on(vfs.size("pipe")).map(drop),
            vfs.open("pipe").map(drop),
        ];
        for outcome in outcomes {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
        }
        block_on(vfs.sync("")).unwrap();
    }
}
