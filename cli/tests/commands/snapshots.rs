//! Help pages, errors and warnings exactly as they are printed. To accept changes, set UPDATE_EXPECT=1.

use std::fmt::Write as _;

use expect_test::{ExpectFile, expect_file};

use crate::{Shell, int16s, npy};

/// The output of these command lines, each after its line.
fn transcript(shell: &Shell, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let output = shell.run(line, b"");
        let told = [output.stdout, output.stderr].concat();
        writeln!(
            text,
            "$ hyperslab {line}\n{}",
            String::from_utf8(told).unwrap().trim_end()
        )
        .unwrap();
        if !output.status.success() {
            writeln!(text, "[exit code {}]", output.status.code().unwrap()).unwrap();
        }
        text.push('\n');
    }
    stable(&text, shell)
}

/// Replaces what differs between runs: paths, versions, random names and times.
fn stable(text: &str, shell: &Shell) -> String {
    let text = text.replace(&shell.dir.path().display().to_string(), "/DIR");
    let text = text.replace(&format!("hyperslab {}", env!("CARGO_PKG_VERSION")), "hyperslab VERSION");
    let is_id = |part: &str| part.len() == 32 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        let (word, after) = match rest.get(..32) {
            Some(id) if is_id(id) => ("ID", &rest[32..]),
            _ => rest.split_at(next.len_utf8()),
        };
        out.push_str(word);
        rest = after;
    }
    out
}

fn check(expected: ExpectFile, shell: &Shell, lines: &[&str]) {
    expected.assert_eq(&transcript(shell, lines));
}

#[test]
fn help_pages() {
    let shell = Shell::new();
    let pages = [
        "",
        "create",
        "schema",
        "info",
        "export",
        "write",
        "import",
        "meta",
        "meta ls",
        "meta get",
        "meta set",
        "meta rm",
        "delete",
        "evolve",
        "consolidate",
        "vacuum",
        "group",
        "group create",
        "group add",
        "group rm",
        "group ls",
        "ls",
        "tree",
        "verify",
        "index",
        "snapshot",
        "serve",
        "view",
        "publish",
        "copy",
        "overviews",
        "completions",
    ];
    let lines: Vec<String> = pages
        .map(|page| format!("{page} --help").trim_start().to_owned())
        .to_vec();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(expect_file!["snapshots/help.txt"], &shell, &lines);
}

/// A dense array `a` and a sparse array `points`.
fn arrays() -> Shell {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.file("points.csv", "x,mag,place\n1,4.5,Rome\n7,2.5,Oslo\n");
    shell.ok("import in.npy a --timestamp 1 --filters zstd,sha256");
    shell.ok("import points.csv points --sparse --dims x --domain x=0:9 --timestamp 1");
    shell
}

#[test]
fn wrong_arguments() {
    let shell = arrays();
    check(
        expect_file!["snapshots/wrong_arguments.txt"],
        &shell,
        &[
            "explode a",
            "exprot a",
            "export a",
            "export a out.csv --selct 0:1",
            "export a out.xyz",
            "export a -",
            "export points - --format csv --attrs magg",
            "export a out.csv --at yesterday",
            "export a out.csv --at 2020..2019",
            "export a out.csv --select 0:1,0:1,0:1",
            "export a out.csv --select 9:12,0:1",
            "export a out.csv --select x=0:1",
            "export a out.csv --where 'data >'",
            "export a out.csv --where 'data == \"x\"'",
            "export points out.csv --where 'mag > 4 and plce is null'",
            "export a out.npy --order global",
            "export a out.npy --memory lots",
            "consolidate a --mode all",
            "consolidate a --amplification 0.5",
            "import in.npy b --filters zsdt:5",
            "import in.npy b --tile 1,2,3",
            "import points.csv b --sparse --dims lon",
            "import points.csv b --types mag=flaot32",
            "evolve a",
            "evolve a --add-attr speed:fast",
            "evolve a --expand-domain 0:1",
            "meta a explode",
            "meta set a k v --type int33",
            "serve . --allow-origin nowhere",
            "--key-file in.npy info a",
        ],
    );
}

#[test]
fn failures() {
    let shell = arrays();
    shell.secret("key", [7; 32]);
    shell.secret("other", [8; 32]);
    shell.ok("--key-file key import in.npy hidden --timestamp 1");
    shell.ok("group create g");
    shell.file("short.npy", npy("'<i2'", "(3, 4)", &int16s(5)));
    shell.file("far.csv", "x,mag,place\n99,1,Bern\n");
    shell.file("bad.json", "{");
    shell.file("rough.csv", "x,mag,place\n1,high,Bern\n");
    check(
        expect_file!["snapshots/failures.txt"],
        &shell,
        &[
            "info nowhere",
            "schema g",
            "info in.npy",
            "import in.npy a",
            "import missing.npy b",
            "import short.npy b",
            "import short.npy b --format jpeg",
            "create b --schema bad.json",
            "write points far.csv",
            "write points rough.csv",
            "write a points.csv",
            "export points out.png",
            "export a no/such/folder/out.csv",
            "info hidden",
            "--key-file other info hidden",
            "--key-file key info a",
            "meta get a nothing",
            "meta rm a nothing",
            "group rm g nothing",
            "group add g nowhere",
            "verify g",
            "ls nowhere",
            "copy a a/b",
            "copy nowhere b",
            "copy a http://127.0.0.1:9/b",
            "info s3:/x",
            "delete a --where 'data > 1'",
            "evolve a --drop-attr nothing",
            "overviews points",
            "serve nowhere",
            "info a nowhere points --json --at 1970",
        ],
    );
}

#[test]
fn damage() {
    let shell = arrays();
    let fragment = |array: &str| {
        let fragments = std::fs::read_dir(shell.path(&format!("{array}/__fragments"))).unwrap();
        fragments.map(|f| f.unwrap().path()).next().unwrap()
    };
    let change = |file: std::path::PathBuf, change: fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(&file).unwrap();
        change(&mut bytes);
        std::fs::write(file, bytes).unwrap();
    };
    change(fragment("a").join("a0.tdb"), |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    });
    std::fs::remove_file(fragment("points").join("a0.tdb")).unwrap();
    shell.ok("import in.npy newer --timestamp 1");
    for folder in ["__fragments", "__commits"] {
        let entries = std::fs::read_dir(shell.path(&format!("newer/{folder}"))).unwrap();
        let path = entries.map(|f| f.unwrap().path()).next().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().replace("_22", "_99");
        std::fs::rename(&path, path.with_file_name(name)).unwrap();
    }
    shell.ok("import in.npy torn --timestamp 1");
    change(fragment("torn").join("__fragment_metadata.tdb"), Vec::clear);
    check(
        expect_file!["snapshots/damage.txt"],
        &shell,
        &[
            "export a out.csv",
            "verify a",
            "verify a --json",
            "export points out.csv",
            "info newer",
            "info torn",
            "verify torn a points",
        ],
    );
}

#[test]
fn warnings() {
    let shell = Shell::new();
    shell.file("times.csv", "v\n2020-01-01T00:00:00+02:00\n");
    shell.file("zeros.csv", "v\n007\n");
    shell.file("odd.csv", "v\n1\n2\nn/a?\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    shell.file("row.csv", "row,v\n5,1\n6,2\n");
    check(
        expect_file!["snapshots/warnings.txt"],
        &shell,
        &[
            "import times.csv a --timestamp 5",
            "import zeros.csv b --timestamp 5",
            "import odd.csv c --timestamp 5",
            "import row.csv d --timestamp 5",
            "export a - --format csv --at 1",
        ],
    );
}

#[test]
fn json_and_dry_runs() {
    let shell = arrays();
    shell.ok("write a in.npy --timestamp 2");
    shell.ok("group create g");
    shell.ok("group add g a --timestamp 5");
    shell.ok("meta set a units kelvin --timestamp 5");
    let before = (
        shell.ok("info a points --json"),
        shell.ok("meta ls a"),
        shell.ok("group ls g"),
    );
    check(
        expect_file!["snapshots/json_and_dry_runs.txt"],
        &shell,
        &[
            "consolidate a --dry-run",
            "consolidate a --dry-run --json",
            "consolidate points --dry-run",
            "evolve points --add-attr depth:float32 --dry-run --timestamp 9",
            "evolve points --add-attr mag:float32 --dry-run --timestamp 9",
            "meta get a units --json",
            "meta set a units celsius --dry-run",
            "meta rm a units --dry-run",
            "meta rm a unit --dry-run",
            "group rm g a --dry-run",
            "group rm g b --dry-run",
            "delete points --where 'mag < 3' --dry-run --json",
            "vacuum a --dry-run --json",
            "copy a b --dry-run",
            "copy a b --dry-run --json",
            "verify a --json",
            "schema a points --at 1970",
            "ls a g",
        ],
    );
    let after = (
        shell.ok("info a points --json"),
        shell.ok("meta ls a"),
        shell.ok("group ls g"),
    );
    assert_eq!(before, after, "a dry run changes something");
    assert!(!shell.path("b").exists());
    shell.file("schema.json", shell.ok("schema a"));
    check(
        expect_file!["snapshots/json.txt"],
        &shell,
        &[
            "delete points --where 'mag < 3' --json --timestamp 9",
            "copy a b --json",
            "index b --json",
            "consolidate a --json",
            "vacuum a --json",
            "import in.npy c --timestamp 1 --json",
            "create d --schema schema.json --timestamp 1 --json",
            "write d in.npy --timestamp 2 --json",
            "evolve d --add-attr speed:float32 --timestamp 3 --json",
            "overviews c --factors 2 --json",
        ],
    );
}

/// Neither a pipe nor NO_COLOR gets colours.
#[test]
fn errors_have_colours_only_on_request() {
    let shell = Shell::new();
    let told = |name: &str| {
        let output = shell.command("info nowhere").env(name, "1").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(told("CLICOLOR_FORCE").starts_with("\u{1b}[1;31merror:\u{1b}[0m cannot open nowhere\n"));
    assert!(told("NO_COLOR").starts_with("error: cannot open nowhere\n"));
    assert!(shell.fails("info nowhere").1.starts_with("error: cannot open nowhere"));
}

#[test]
fn shells_and_man_know_every_command() {
    let shell = Shell::new();
    for (name, words) in [
        ("bash", "complete -F _hyperslab"),
        ("zsh", "#compdef hyperslab"),
        ("fish", "complete -c hyperslab"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let script = shell.ok(&format!("completions {name}"));
        assert!(script.contains(words) && script.contains("consolidate"), "{name}");
    }
    shell.ok("man pages");
    let page = String::from_utf8(shell.bytes("pages/hyperslab-export.1")).unwrap();
    assert!(
        page.contains(".TH hyperslab") && page.contains("strong.arrow"),
        "{page}"
    );
    assert!(shell.path("pages/hyperslab.1").exists() && shell.path("pages/hyperslab-group-add.1").exists());
}
