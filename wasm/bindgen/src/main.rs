//! Generates the JavaScript bindings of the engine's WebAssembly, and splits it:
//! `hyperslab-bindgen FOLDER WEIGHTS.csv FILE.wasm [BASELINE.wasm]`.
//!
//! The files must be linked with `--emit-relocs`. The optional second one is the same engine for browsers without
//! WebAssembly SIMD. Writes `core.js`, its TypeScript declarations, and the core and the parts of the engines to the
//! folder. `core.js` also has the tables of the parts. The CSV file gets the size of each part's code.

mod links;
mod parts;
mod same;
mod split;
mod weights;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use links::Links;
use parts::{Owners, Part};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, table, wasm, baseline @ ..] = args.as_slice() else {
        bail!("usage: hyperslab-bindgen FOLDER WEIGHTS.csv FILE.wasm [BASELINE.wasm]")
    };
    let engine = Engine::read(wasm)?;
    let weights = weights::table(&engine.links, &engine.owners, &engine.parts);
    fs::write(table, weights).with_context(|| format!("cannot write {table}"))?;
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    let (code, types) = parts::tables();
    write(folder, "core.js", (engine.js.clone() + &code).as_bytes())?;
    write(folder, "core.d.ts", (engine.ts.clone() + &types).as_bytes())?;
    engine.write(folder, "", &HashMap::new())?;
    if let Some(path) = baseline.first() {
        let baseline = Engine::read(path)?;
        let renamed = same::renamed(&baseline.js, &engine.js)?;
        baseline.write(folder, "-baseline", &renamed)?;
    }
    Ok(())
}

/// A linked engine and its bindings.
struct Engine {
    wasm: Vec<u8>,
    js: String,
    ts: String,
    links: Links,
    owners: Owners,
    parts: Vec<Part>,
}

impl Engine {
    /// Reads a linked engine, and generates its bindings.
    fn read(path: &str) -> anyhow::Result<Self> {
        let linked = fs::read(path).with_context(|| format!("cannot read {path}"))?;
        let links = Links::read(&linked)?;
        let parts = parts::parts(&links)?;
        let owners = Owners::new(&links, &parts);
        let mut output = wasm_bindgen_cli_support::Bindgen::new()
            .input_bytes("core", linked)
            // Splitting finds functions by their mangled names.
            .demangle(false)
            .remove_producers_section(true)
            .typescript(true)
            // The npm package locates the files.
            .omit_default_module_path(true)
            .web(true)?
            .generate_output()
            .with_context(|| format!("cannot generate the bindings of {path}"))?;
        Ok(Self {
            wasm: output.wasm_mut().emit_wasm(),
            js: output.js().to_owned(),
            ts: output.ts().unwrap_or_default().to_owned(),
            links,
            owners,
            parts,
        })
    }

    /// Writes the core and the parts. `suffix` ends their names; `renamed` has new names of exports.
    fn write(&self, folder: &Path, suffix: &str, renamed: &HashMap<String, String>) -> anyhow::Result<()> {
        let split = split::split(&self.wasm, &self.owners, &self.parts, renamed)?;
        write(folder, &format!("core{suffix}.wasm"), &split.core)?;
        for (part, bytes) in self.parts.iter().zip(&split.parts) {
            write(folder, &format!("{}{suffix}.wasm", part.name), bytes)?;
        }
        Ok(())
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
