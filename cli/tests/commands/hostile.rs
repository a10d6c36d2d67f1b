//! Malicious files and arrays.

use crate::failing::check;
use crate::{Shell, int16s, npy};

/// A shell with an array `a` of 12 cells.
fn with_array() -> Shell {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell
}

/// The data file of `a`.
#[cfg(unix)]
fn cells(shell: &Shell) -> std::path::PathBuf {
    let fragments = std::fs::read_dir(shell.path("a/__fragments")).unwrap();
    fragments.last().unwrap().unwrap().path().join("a0.tdb")
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_an_array() {
    use std::os::unix::fs::symlink;
    let shell = with_array();
    let data = cells(&shell);
    // Links within the array are followed, and so is a link to the array itself.
    std::fs::rename(&data, shell.path("a/moved")).unwrap();
    symlink("../../moved", &data).unwrap();
    symlink("a", shell.path("alias")).unwrap();
    let expected = int16s(12);
    for array in ["a", "alias"] {
        let exported = shell.pipe(&format!("export {array} - --format npy"), b"");
        assert_eq!(crate::values(&exported), expected, "{array}");
    }
    // A folder of arrays may have links between them.
    std::fs::create_dir(shell.path("folder")).unwrap();
    std::fs::rename(shell.path("a"), shell.path("folder/a")).unwrap();
    symlink("a", shell.path("folder/again")).unwrap();
    assert!(shell.ok("ls folder").contains("again"));
    std::fs::rename(shell.path("folder/a"), shell.path("a")).unwrap();
    std::fs::remove_file(&data).unwrap();
    // A link to the outside could expose another file as cells.
    shell.file("secret", int16s(12));
    let secret = shell.path("secret");
    for target in [secret.as_path(), "../../../secret".as_ref(), "/dev/zero".as_ref()] {
        symlink(target, &data).unwrap();
        for line in ["export a out.csv", "copy a b", "index a"] {
            check(&shell, line, 1, &["a0.tdb", "points outside", "not followed"]);
        }
        std::fs::remove_file(&data).unwrap();
    }
    std::fs::rename(shell.path("a/moved"), &data).unwrap();
    std::fs::create_dir(shell.path("elsewhere")).unwrap();
    symlink(shell.path("elsewhere"), shell.path("a/outside")).unwrap();
    for line in ["copy a b", "index a"] {
        check(&shell, line, 1, &["outside", "points outside"]);
    }
    // A write would create its files there.
    std::fs::rename(shell.path("a/__meta"), shell.path("kept")).unwrap();
    symlink("../elsewhere", shell.path("a/__meta")).unwrap();
    check(&shell, "meta a set k v", 1, &["points outside"]);
    assert_eq!(std::fs::read_dir(shell.path("elsewhere")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn pipes_in_an_array_are_errors() {
    let shell = with_array();
    let made = std::process::Command::new("mkfifo")
        .arg(shell.path("a/pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    for line in ["copy a b", "index a"] {
        check(&shell, line, 1, &["pipe", "not a regular file"]);
    }
    let data = cells(&shell);
    std::fs::remove_file(&data).unwrap();
    std::fs::rename(shell.path("a/pipe"), data).unwrap();
    check(&shell, "export a out.csv", 1, &["a0.tdb", "not a regular file"]);
}

#[test]
fn names_do_not_steer_the_terminal() {
    let shell = with_array();
    let evil = "k\u{1b}[2J\u{9b}1m\u{202e}x\r\ny";
    shell.ok(&format!("meta a set '{evil}' '{evil}'"));
    let steers = |text: &str| text.chars().any(|c| c != '\n' && c.is_control() || c == '\u{202e}');
    let listed = shell.ok("meta a ls");
    assert!(
        !steers(&listed) && listed.contains("k\\u001b[2J\\u009b1m\\u202ex"),
        "{listed:?}"
    );
    let json = shell.ok("meta a ls --json");
    assert!(!steers(&json), "{json:?}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[evil]["value"], evil, "JSON stays exact");
    // In a pipe, a value is not escaped.
    assert_eq!(shell.ok(&format!("meta a get '{evil}'")), format!("{evil}\n"));
    let (_, error) = shell.fails("meta a get nothing");
    assert!(!steers(&error) && error.contains("\\u001b"), "{error:?}");
    let (_, error) = shell.fails(&format!("info '{evil}'"));
    assert!(!steers(&error) && error.contains("\\u001b"), "{error:?}");
}
