//! Tests of mounting by mount(8), of mount options, and of unmounting.

#![allow(clippy::unwrap_used, reason = "a failed test should report the line")]

mod support;

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Output};

use support::{Mounted, arrays, is_mounted, is_root, succeed, unmount};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fuse-mount");

fn fuse_mount(words: &[&str], place: &Path) -> Output {
    Command::new(PROGRAM).args(words).arg(place).output().unwrap()
}

/// The line of a mount in the kernel's table.
fn line(place: &Path) -> String {
    let place = place.canonicalize().unwrap();
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut lines = table.lines().filter(|l| l.split(' ').nth(4) == place.to_str());
    lines.next().unwrap().to_owned()
}

#[test]
fn options_set_owner_permissions_and_name() {
    let folder = arrays();
    let source = folder.path().join("arrays/dense");
    let options = [
        "-f",
        "-o",
        "ro,uid=12,gid=34,umask=027,fsname=my\\,arrays",
        "--threads",
        "1",
    ];
    let mounted = Mounted::new(&source, &folder.path().join("mnt"), &options);
    let file = std::fs::metadata(mounted.path("README.md")).unwrap();
    assert_eq!((file.uid(), file.gid(), file.mode() & 0o777), (12, 34, 0o440));
    assert_eq!(std::fs::metadata(mounted.path("slices")).unwrap().mode() & 0o777, 0o550);
    let line = line(&mounted.place);
    assert!(line.contains(" - fuse.fuse-mount my,arrays "), "{line}");
}

/// `mount` needs root, and looks for programs in system folders only. Its helper `mount.fuse3` does not.
#[test]
fn mount_returns_when_the_mount_is_ready() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let place = folder.path().join("mnt");
    std::fs::create_dir(&place).unwrap();
    let path = std::env::var("PATH").unwrap();
    let bin = Path::new(PROGRAM).parent().unwrap().display();
    let mut helper = Command::new("/sbin/mount.fuse3");
    helper.env("PATH", format!("{bin}:{path}"));
    helper.arg(&source).arg(&place).args(["-t", "fuse.fuse-mount"]);
    let mut commands = vec![helper];
    if is_root() {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "fuse"])
            .arg(format!("{PROGRAM}#{}", source.display()));
        mount.arg(&place);
        commands.push(mount);
    }
    for mut command in commands {
        let options = "ro,_netdev,nofail,x-systemd.automount,ttl=0,umask=077,fsname=my\\,arrays";
        succeed(command.args(["-o", options]));
        let file = std::fs::metadata(place.join("dense/README.md")).unwrap();
        assert_eq!(file.mode() & 0o777, 0o400);
        assert!(line(&place).contains(" - fuse.fuse-mount my,arrays "));
        unmount(&place);
    }
}

/// A link of this name is what mount(8) looks for first.
#[test]
fn the_program_is_a_helper_of_mount() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let place = folder.path().join("mnt");
    std::fs::create_dir(&place).unwrap();
    let helper = folder.path().join("mount.fuse-mount");
    std::os::unix::fs::symlink(PROGRAM, &helper).unwrap();
    let run = |words: &[&str]| succeed(Command::new(&helper).arg(&source).arg(&place).args(words));
    run(&["-f", "-o", "rw"]);
    assert!(!is_mounted(&place), "a fake mount mounts nothing");
    run(&["-n", "-v", "-t", "fuse-mount"]);
    assert!(place.join("dense/README.md").exists());
    unmount(&place);
}

#[test]
fn a_mount_in_use_names_its_users_and_can_be_unmounted_lazily() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mut mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    let place = mounted.place.canonicalize().unwrap();
    let mut file = std::fs::File::open(mounted.path("dense/schema.json")).unwrap();
    let refused = fuse_mount(&["-u"], &place);
    assert_eq!(refused.status.code(), Some(1));
    let why = String::from_utf8(refused.stderr).unwrap();
    let user = format!("in use by {} ", std::process::id());
    let what = format!("(open file {}/dense/schema.json)", place.display());
    assert!(
        why.contains(&user) && why.contains(&what) && why.contains("-u -z"),
        "{why}"
    );
    assert!(is_mounted(&place));
    let output = fuse_mount(&["-u", "-z"], &place);
    assert!(output.status.success(), "{output:?}");
    assert!(!is_mounted(&place));
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert!(text.contains("temp"), "{text}");
    drop(file);
    assert_eq!(mounted.end(), 0);
}

#[test]
fn unmounting_ends_the_program_and_refuses_other_folders() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mut mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    let place = mounted.place.clone();
    let refusal = |place: &Path| {
        let output = fuse_mount(&["-u"], place);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let why = refusal(&place.join("dense/slices"));
    assert!(
        why.contains("inside a mount") && why.contains(&format!("-u {}", place.canonicalize().unwrap().display())),
        "{why}"
    );
    let why = refusal(Path::new("/proc"));
    assert!(why.contains("a mount of the type proc"), "{why}");
    let output = fuse_mount(&["--unmount"], &place);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(mounted.end(), 0);
    assert!(refusal(&place).contains("nothing is mounted there"));
}

/// The program was killed, so every access fails.
#[test]
fn a_disconnected_mount_is_unmounted() {
    let folder = arrays();
    let source = folder.path().join("arrays");
    let mut mounted = Mounted::new(&source, &folder.path().join("mnt"), &[]);
    mounted.program.kill().unwrap();
    mounted.program.wait().unwrap();
    assert!(std::fs::read_dir(&mounted.place).is_err());
    let output = fuse_mount(&["-u"], &mounted.place);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_dir(&mounted.place).unwrap().count(), 0);
}

#[test]
fn systemd_is_told_when_the_mount_is_ready_and_when_it_ends() {
    let folder = arrays();
    let place = folder.path().join("mnt");
    std::fs::create_dir(&place).unwrap();
    let address = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&address).unwrap();
    socket
        .set_read_timeout(Some(std::time::Duration::from_secs(60)))
        .unwrap();
    let mut command = Command::new(PROGRAM);
    command
        .arg(folder.path().join("arrays"))
        .arg(&place)
        .env("NOTIFY_SOCKET", &address);
    let program = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut mounted = Mounted { program, place };
    let message = || {
        let mut bytes = [0; 100];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec())
            .unwrap()
            .trim_end()
            .to_owned()
    };
    assert_eq!(message(), "READY=1");
    assert!(mounted.path("dense/README.md").exists());
    mounted.signal("TERM");
    assert_eq!(message(), "STOPPING=1");
    assert_eq!(mounted.end(), 0);
}

#[test]
fn shells_and_man_know_the_options() {
    let folder = tempfile::tempdir().unwrap();
    let output = fuse_mount(&["--man"], folder.path());
    assert!(output.status.success(), "{output:?}");
    let page = std::fs::read_to_string(folder.path().join("fuse-mount.1")).unwrap();
    assert!(page.contains("log\\-file") && page.contains("unmount"), "{page}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = fuse_mount(&["--completions"], Path::new(shell)).stdout;
        assert!(String::from_utf8(script).unwrap().contains("log-file"), "{shell}");
    }
}
