//! Tests of a writable mount through a kernel: metadata, new arrays, and commands.
//!
//! Needs FUSE, and a Python with the packages in `tests/requirements.txt`: `HYPERSLAB_PYTHON`, which `cargo xtask test`
//! sets, or `python3`.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hyperslab::blocking::block_on;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::{Array, Context, Datatype, OpenOptions, WriteOptions};
use support::{Mounted, python, succeed};
use tempfile::TempDir;

const EEXIST: i32 = 17;
const EINVAL: i32 = 22;
const EPERM: i32 = 1;
const EROFS: i32 = 30;

struct Setup {
    mounted: Mounted,
    source: PathBuf,
    _folder: TempDir,
}

/// A writable mount of the arrays that `write.py` makes.
fn setup() -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("arrays");
    fs::create_dir(&source).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/write.py");
    succeed(Command::new(python()).arg(script).arg("make").arg(&source));
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &["--writable"]);
    Setup {
        mounted,
        source,
        _folder: folder,
    }
}

impl Setup {
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.mounted.path(name)).unwrap()
    }

    /// Writes a file. Its changes may fail when it is synced.
    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = fs::File::create(self.mounted.path(name))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let listed = fs::read_dir(self.mounted.path(folder)).unwrap();
        listed.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Runs a line of a shell in the mount.
    fn shell(&self, line: &str) {
        succeed(Command::new("sh").args(["-ec", line]).current_dir(&self.mounted.place));
    }

    fn array(&self, name: &str) -> Array {
        let context = Context::local(self.source.join(name));
        block_on(Array::open(&context, "", &OpenOptions::default())).unwrap()
    }

    fn metadata(&self, name: &str, key: &str) -> Option<MetaValue> {
        block_on(self.array(name).metadata()).unwrap().remove(key)
    }

    fn reason(&self) -> String {
        let errors = self.read(".hyperslab/errors");
        errors.lines().next().unwrap_or_default().to_owned()
    }
}

fn number(result: io::Result<()>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

#[test]
fn metadata_files_can_be_written_and_removed() {
    let setup = setup();
    // The old contents come back, although the kernel has seen others under the same inode.
    for text in ["K", "m", "K", "two\nlines"] {
        setup.write("grid/metadata/units", text).unwrap();
        assert_eq!(setup.read("grid/metadata/units"), text);
        assert_eq!(setup.metadata("grid", "units"), Some(MetaValue::text(text)));
    }
    setup.shell("echo kelvin > grid/metadata/units; echo -n s >> grid/metadata/units; test \"$(cat grid/metadata/units)\" = kelvins");
    // Appends go to the end of what was written, whatever size the kernel knows.
    setup.shell("echo one > grid/metadata/log; { echo two; stat grid/metadata/log > /dev/null; echo three; } >> grid/metadata/log");
    assert_eq!(setup.read("grid/metadata/log"), "onetwo\nthree");
    // A program that reads what it changes.
    setup.shell(
        "exec 3<>grid/metadata/log; test \"$(head -c 3 <&3)\" = one; echo ' and' >&3; exec 3>&-; rm grid/metadata/log",
    );
    // Two programs write whole values.
    setup.shell("exec 3>grid/metadata/two 4>grid/metadata/two; printf aaa >&3; printf b >&4; exec 3>&- 4>&-; rm grid/metadata/two");
    setup.shell("{ echo a; echo b; } > grid/metadata/lines; cp -p grid/metadata/lines grid/metadata/copy");
    assert_eq!(setup.read("grid/metadata/copy"), "a\nb");
    assert!(setup.read("grid/metadata.json").contains("kelvins"));
    assert_eq!(setup.names("grid/metadata"), ["copy", "lines", "units"]);
    for key in ["lines", "units"] {
        fs::remove_file(setup.mounted.path(&format!("grid/metadata/{key}"))).unwrap();
    }
    assert_eq!(setup.names("grid/metadata"), ["copy"]);
    assert_eq!(setup.metadata("grid", "units"), None);
    let entry = Entry {
        key: "latin".into(),
        value: Some(MetaValue::bytes(Datatype::StringUtf8, b"caf\xe9")),
    };
    let options = WriteOptions {
        timestamp_ms: 1000,
        seed: [1; 32],
        sync: true,
    };
    block_on(setup.array("grid").write_metadata(&[entry], &options)).unwrap();
    setup.write("grid/metadata/a%2Fb", "slash").unwrap();
    let append = fs::OpenOptions::new()
        .append(true)
        .open(setup.mounted.path("grid/metadata/latin"));
    assert_eq!(number(append.map(drop)), EINVAL);
    assert!(setup.reason().contains("not UTF-8"), "{}", setup.reason());
    setup.write("grid/metadata/latin", "coffee").unwrap();
    assert_eq!(setup.metadata("grid", "a/b"), Some(MetaValue::text("slash")));
    for name in [".units.AbCdEf", "units~"] {
        assert_eq!(
            number(setup.write(&format!("grid/metadata/{name}"), "x")),
            EPERM,
            "{name}"
        );
    }
}

#[test]
fn numbers_in_metadata_keep_their_type() {
    let setup = setup();
    let two = [1.5_f64.to_le_bytes(), 2.5_f64.to_le_bytes()].concat();
    let entry = Entry {
        key: "scale".into(),
        value: Some(MetaValue::bytes(Datatype::Float64, &two)),
    };
    let options = WriteOptions {
        timestamp_ms: 1000,
        seed: [1; 32],
        sync: true,
    };
    block_on(setup.array("grid").write_metadata(&[entry], &options)).unwrap();
    // The mount shows what others write after its time to live.
    let path = setup.mounted.path("grid/metadata/scale");
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the key is not shown");
        std::thread::sleep(Duration::from_millis(20));
    }
    let shown = setup.read("grid/metadata/scale").replace("2.5", "-7");
    setup.write("grid/metadata/scale", &shown).unwrap();
    let bytes = [1.5_f64.to_le_bytes(), (-7_f64).to_le_bytes()].concat();
    assert_eq!(
        setup.metadata("grid", "scale"),
        Some(MetaValue::bytes(Datatype::Float64, &bytes))
    );
    assert_eq!(number(setup.write("grid/metadata/scale", "wide")), EINVAL);
    assert!(setup.reason().contains("float64"), "{}", setup.reason());
    assert_eq!(
        setup.metadata("grid", "scale"),
        Some(MetaValue::bytes(Datatype::Float64, &bytes))
    );
}

#[test]
fn a_new_folder_becomes_an_array_with_its_schema() {
    let setup = setup();
    fs::create_dir(setup.mounted.path("new")).unwrap();
    assert!(setup.names("new").is_empty() && setup.names("").contains(&"new".to_owned()));
    assert!(
        !setup.source.join("new").exists(),
        "nothing is stored before there is a schema"
    );
    assert_eq!(number(setup.write("new/schema.json", "{\"type\": \"dense\"}")), EINVAL);
    let why = "new/schema.json\tan array needs at least one dimension";
    assert!(setup.reason().contains(why), "{}", setup.reason());
    assert_eq!(number(setup.write("new/schema.json", "dense")), EINVAL);
    let why = "new/schema.json\tthe schema is not JSON";
    assert!(setup.reason().contains(why), "{}", setup.reason());
    assert_eq!(number(setup.write("new/other.txt", "x")), EPERM);
    setup.shell("cd new; cp ../grid/schema.json .; test -d put; cmp schema.json ../grid/schema.json");
    assert_eq!(setup.array("new").schema(), setup.array("grid").schema());
    setup.shell("cp grid/put/README.md /dev/null; { echo a; seq 24; } > new/put/all.csv; test $(wc -l < new/slices/all.csv) = 25");
    // Folders in new folders.
    setup.shell("mkdir -p deep/er; cat grid/schema.json > deep/er/schema.json; test -e deep/er/zarr/zarr.json");
    assert_eq!(setup.array("deep/er").schema(), setup.array("grid").schema());
    setup.shell("mkdir gone; rmdir gone; test ! -e gone");
    setup.shell("mkdir -p outer/inner");
    assert_eq!(number(setup.write("outer/schema.json", "{}")), EPERM);
    for (name, expect) in [("grid/new", EROFS), ("__new", EINVAL), (".new", EINVAL)] {
        assert_eq!(number(fs::create_dir(setup.mounted.path(name))), expect, "{name}");
    }
    assert_eq!(number(fs::remove_dir(setup.mounted.path("grid"))), EROFS);
    assert_eq!(number(fs::create_dir(setup.mounted.path("grid"))), EEXIST);
}

#[test]
fn an_array_of_another_program_replaces_a_new_folder() {
    let setup = setup();
    fs::create_dir(setup.mounted.path("new")).unwrap();
    succeed(
        Command::new("cp")
            .arg("-r")
            .args([setup.source.join("grid"), setup.source.join("new")]),
    );
    let start = Instant::now();
    while !setup.mounted.path("new/schema.json").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the array is not shown");
        std::thread::sleep(Duration::from_millis(20));
    }
    let new = setup.names("").into_iter().filter(|name| name == "new");
    assert_eq!(new.count(), 1);
    setup.write("new/metadata/units", "K").unwrap();
    assert_eq!(setup.metadata("new", "units"), Some(MetaValue::text("K")));
    assert_eq!(setup.metadata("grid", "units"), None);
}

#[test]
fn removing_an_array_removes_its_metadata_alone() {
    let setup = setup();
    setup.shell("{ echo a; seq 24; } > grid/put/all.csv; echo K > grid/metadata/units; mkdir new");
    let cells = setup.read("grid/slices/all.csv");
    let before = setup.array("grid").fragments().len();
    assert!(
        !Command::new("rm")
            .arg("-rf")
            .arg(setup.mounted.path("grid"))
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(setup.metadata("grid", "units"), None);
    assert_eq!(setup.array("grid").fragments().len(), before);
    assert_eq!(setup.read("grid/slices/all.csv"), cells);
}

#[test]
fn commands_consolidate_and_vacuum() {
    let setup = setup();
    for first in 0..3 {
        setup.shell(&format!("{{ echo a; seq {first} {}; }} > grid/put/all.csv", first + 23));
    }
    let cells = setup.read("grid/slices/all.csv");
    assert_eq!(setup.names("grid/fragments").len(), 3);
    setup.shell("echo consolidate grid > .hyperslab/run");
    assert_eq!(setup.array("grid").fragments().len(), 1);
    let run = setup.read(".hyperslab/run");
    assert!(run.contains("\nconsolidate grid\n__"), "{run}");
    setup.write(".hyperslab/run", "vacuum grid").unwrap();
    let stored = fs::read_dir(setup.source.join("grid/__fragments")).unwrap().count();
    assert_eq!((stored, setup.names("grid/fragments").len()), (1, 1));
    assert_eq!(setup.read("grid/slices/all.csv"), cells);
    setup
        .write(".hyperslab/run", "consolidate --mode array-meta grid")
        .unwrap();
    for (command, why) in [
        ("vacuum nothing", "no array 'nothing'"),
        ("clean grid", "unknown command"),
        ("vacuum --mode all grid", "unknown mode"),
    ] {
        assert_eq!(number(setup.write(".hyperslab/run", command)), EINVAL, "{command}");
        assert!(setup.reason().contains(why), "{}", setup.reason());
    }
}

#[test]
fn a_read_only_mount_takes_no_changes() {
    let setup = setup();
    setup.write("grid/metadata/units", "K").unwrap();
    let place = setup.mounted.place.with_file_name("other");
    let other = Mounted::new(&setup.source, &place, &[]);
    for result in [
        fs::write(other.path("grid/metadata/units"), "m"),
        fs::write(other.path("grid/metadata/new"), "m"),
        fs::remove_file(other.path("grid/metadata/units")),
        fs::create_dir(other.path("new")),
        fs::write(other.path(".hyperslab/run"), "vacuum grid"),
    ] {
        assert_eq!(number(result), EROFS);
    }
}
