//! What the checks and the demo need beyond `cargo`, and how to get it.

use std::path::{Path, PathBuf};

use crate::run::{self, Outcome, cargo, command, quiet, root, target};

/// Something a step cannot do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// The Rust target of the browser, and the C compiler that zstd needs there.
    Wasm,
    /// `wasm-bindgen` and its test runner, of the version in Cargo.lock.
    WasmBindgen,
    /// A browser and its driver.
    Browser,
    /// Node with the packages of the viewer and the npm package.
    Node,
    /// A Python with libtiledb, the reference implementation.
    Oracle,
    /// FUSE: the device and the mount helper.
    Fuse,
    /// Azurite, the emulator of Azure's blobs, and the Node that runs it.
    Azurite,
}

/// Every need, in the order in which they are set up.
pub(crate) const ALL: [Need; 7] = [
    Need::Oracle,
    Need::Fuse,
    Need::Wasm,
    Need::Browser,
    Need::Node,
    Need::WasmBindgen,
    Need::Azurite,
];

/// Installs what is missing; gives what could not be had, and why.
pub(crate) fn all(needs: &[Need]) -> Vec<(Need, String)> {
    let mut missing = Vec::new();
    for &need in needs {
        if let Err(why) = provide(need) {
            eprintln!("cannot set up {need:?}: {why}");
            missing.push((need, why));
        }
    }
    missing
}

/// The command `setup`.
///
/// # Errors
/// Names everything that could not be installed.
pub(crate) fn run() -> Outcome {
    let missing = all(&ALL);
    if missing.is_empty() {
        println!("everything is there");
        return Ok(());
    }
    Err(format!(
        "could not set up {}",
        missing
            .iter()
            .map(|(n, _)| format!("{n:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

fn provide(need: Need) -> Outcome {
    match need {
        Need::Wasm => {
            wasm_target()?;
            have_or_install("clang", "clang")
        }
        Need::WasmBindgen => wasm_bindgen(),
        Need::Browser => {
            if have("chromium") || have("chromium-browser") || have("google-chrome") {
                return have_or_install("chromedriver", "chromium-driver");
            }
            apt(&["chromium", "chromium-driver"])
        }
        Need::Node => {
            have_or_install("npm", "npm")?;
            for folder in ["wasm/npm", "web-demo"] {
                node_packages(&root().join(folder))?;
            }
            Ok(())
        }
        Need::Azurite => {
            have_or_install("npm", "npm")?;
            node_packages(&root().join("tests/azurite"))
        }
        Need::Oracle => oracle(),
        Need::Fuse => {
            have_or_install("fusermount3", "fuse3")?;
            if Path::new("/dev/fuse").exists() {
                Ok(())
            } else {
                Err("there is no /dev/fuse here".into())
            }
        }
    }
}

fn have(program: &str) -> bool {
    quiet(command("sh").args(["-c", &format!("command -v {program}")])).is_ok()
}

fn have_or_install(program: &str, package: &str) -> Outcome {
    if have(program) { Ok(()) } else { apt(&[package]) }
}

fn apt(packages: &[&str]) -> Outcome {
    let by_hand = format!("install {} by hand", packages.join(" "));
    if !have("apt-get") {
        return Err(format!("there is no apt-get: {by_hand}"));
    }
    if quiet(command("id").arg("-u"))?.trim() != "0" {
        return Err(format!("apt-get needs root: {by_hand}"));
    }
    let install = || {
        let mut c = command("apt-get");
        c.env("DEBIAN_FRONTEND", "noninteractive")
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages);
        run::run(&mut c)
    };
    // The lists of a fresh image are empty: one update, one more try.
    install()
        .or_else(|_| run::run(command("apt-get").arg("update")).and_then(|()| install()))
        .map_err(|e| format!("{e}: {by_hand}"))
}

fn wasm_target() -> Outcome {
    let sysroot = quiet(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim())
        .join("lib/rustlib/wasm32-unknown-unknown/lib")
        .exists()
    {
        return Ok(());
    }
    run::run(command("rustup").args(["target", "add", "wasm32-unknown-unknown"]))
}

/// The version of a package in Cargo.lock.
fn locked(package: &str) -> Outcome<String> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line == format!("name = \"{package}\"")
            && let Some(version) = lines.next().and_then(|l| l.strip_prefix("version = \""))
        {
            return Ok(version.trim_end_matches('"').to_owned());
        }
    }
    Err(format!("{package} is not in Cargo.lock"))
}

fn wasm_bindgen() -> Outcome {
    let version = locked("wasm-bindgen")?;
    let tools = target().join("tools");
    if quiet(command("wasm-bindgen").arg("--version")).is_ok_and(|v| v.split_whitespace().nth(1) == Some(&version)) {
        return Ok(());
    }
    let install = |lock: &[&str]| {
        let mut c = cargo(&["install", "wasm-bindgen-cli", "--version", &version, "--root"]);
        // A quick build: the tool runs for seconds, and its own optimised build would take minutes.
        c.arg(&tools)
            .args(lock)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        c.env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_TARGET_DIR", tools.join("build"))
            .env_remove("RUSTFLAGS");
        run::run(&mut c)
    };
    // A mirror of the registry may lack the very versions the tool was locked to.
    install(&["--locked"]).or_else(|_| install(&[]))?;
    // The tool is installed; what it was built from is not needed again.
    std::fs::remove_dir_all(tools.join("build")).map_err(|e| e.to_string())
}

fn node_packages(folder: &Path) -> Outcome {
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/.package-lock.json");
    let time = |p: &Path| p.metadata().and_then(|m| m.modified()).ok();
    if !lock.exists() || time(&stamp) >= time(&lock) {
        return Ok(());
    }
    run::run(
        command("npm")
            .args(["ci", "--no-audit", "--no-fund"])
            .current_dir(folder),
    )
}

/// The Python of the reference implementation: `HYPERSLAB_PYTHON`, or the one in the target folder.
pub(crate) fn python() -> PathBuf {
    std::env::var_os("HYPERSLAB_PYTHON").map_or_else(|| target().join("oracle/bin/python"), PathBuf::from)
}

fn oracle() -> Outcome {
    if std::env::var_os("HYPERSLAB_PYTHON").is_some() {
        return quiet(command(&python().to_string_lossy()).args(["-c", "import tiledb, numpy"])).map(drop);
    }
    venv("oracle", "tests/requirements.txt").map(drop)
}

/// The Python of the benchmark's rivals: `HYPERSLAB_BENCH_PYTHON`, or one of its own in the target folder.
///
/// # Errors
/// It could not be made, or its packages could not be installed.
pub(crate) fn bench_python() -> Outcome<PathBuf> {
    match std::env::var_os("HYPERSLAB_BENCH_PYTHON") {
        Some(python) => Ok(python.into()),
        None => venv("bench-python", "tests/bench/requirements.txt"),
    }
}

/// A Python in the target folder with the packages that `list` names.
fn venv(name: &str, list: &str) -> Outcome<PathBuf> {
    let list = root().join(list);
    let wanted = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let venv = target().join(name);
    let (stamp, python) = (venv.join("requirements.txt"), venv.join("bin/python"));
    if std::fs::read_to_string(&stamp).is_ok_and(|s| s == wanted) && python.exists() {
        return Ok(python);
    }
    let make = || quiet(command("python3").args(["-m", "venv", "--clear"]).arg(&venv)).map(drop);
    // Debian ships Python without its own venv.
    make().or_else(|_| apt(&["python3", "python3-venv"]).and_then(|()| make()))?;
    run::run(
        command(&python.to_string_lossy())
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&list),
    )?;
    std::fs::write(&stamp, wanted).map_err(|e| e.to_string())?;
    Ok(python)
}
