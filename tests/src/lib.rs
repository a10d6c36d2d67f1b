//! Shared by the tests of the whole engine: arrays described as plain data. The Python scripts perform the same
//! descriptions with libtiledb.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

pub mod aggregates;
pub mod bench;
pub mod case;
pub mod compare;
pub mod conventions;
pub mod fuzz;
pub mod golden;
pub mod hex;
pub mod metadata;
pub mod oracle;
pub mod perform;
pub mod report;

use std::path::PathBuf;

/// The folder of this package.
pub fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of build outputs.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| here().join("../target"), PathBuf::from)
}

/// A folder for thousands of small arrays. It is in memory if the system has such a place, because libtiledb syncs
/// every file to disk.
pub fn scratch(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let target = target();
    if !memory.is_dir() {
        return target.join("interop").join(name);
    }
    // Different checkouts must not share a folder.
    let text = target.canonicalize().unwrap_or(target).to_string_lossy().into_owned();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    });
    memory.join(format!("hyperslab-interop-{hash:016x}")).join(name)
}

/// The program `hyperslab`, rebuilt if it is out of date.
///
/// # Panics
/// If the build fails.
pub fn program() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let build = || build(&["--package", "hyperslab-cli"]).join("hyperslab");
    BUILT.get_or_init(build).clone()
}

/// The folder of the programs `hyperslab` and `fuse-mount`, rebuilt if they are out of date.
///
/// # Panics
/// If the build fails.
pub fn programs() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let build = || build(&["--package", "hyperslab-cli", "--package", "hyperslab-fuse"]);
    BUILT.get_or_init(build).clone()
}

/// Builds packages, and returns the folder of their programs.
fn build(packages: &[&str]) -> PathBuf {
    let mut cargo = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet"]).args(packages);
    // Tests run under cargo, whose package variables would make every build script run again.
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("CARGO_PKG_") || n == "CARGO_MANIFEST_DIR") {
        cargo.env_remove(name);
    }
    let status = cargo.current_dir(here().join("..")).status().unwrap();
    assert!(status.success(), "the programs are built: {status}");
    target().join("debug")
}

/// A new empty folder below [`scratch`].
///
/// # Panics
/// If it cannot be created.
pub fn fresh(name: &str) -> PathBuf {
    let folder = scratch(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The Python with libtiledb: `HYPERSLAB_PYTHON`, or the one installed by `cargo xtask setup`.
///
/// # Panics
/// If there is none, because a test that needs it must not pass without it.
pub fn python() -> PathBuf {
    let path = std::env::var_os("HYPERSLAB_PYTHON").map_or_else(|| target().join("oracle/bin/python"), PathBuf::from);
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask setup`, or name a Python that has tiledb in HYPERSLAB_PYTHON",
        path.display()
    );
    path
}

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
