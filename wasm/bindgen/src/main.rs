//! Generates the JavaScript bindings of the engine's WebAssembly, and splits it: `hyperslab-bindgen FILE.wasm FOLDER`.
//!
//! Writes `core.js`, its TypeScript declarations, `core.wasm` and the parts of the engine to the folder. `core.js` also has
//! the tables of the parts. The file must be linked with `--emit-relocs`. The optional third argument is a CSV file to write the size of each part's code to.

mod links;
mod parts;
mod split;
mod weights;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use links::Links;
use parts::Owners;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (wasm, folder, table) = match args.as_slice() {
        [wasm, folder] => (wasm, folder, None),
        [wasm, folder, table] => (wasm, folder, Some(table)),
        _ => bail!("usage: hyperslab-bindgen FILE.wasm FOLDER [WEIGHTS.csv]"),
    };
    let linked = fs::read(wasm).with_context(|| format!("cannot read {wasm}"))?;
    let links = Links::read(&linked)?;
    let parts = parts::parts(&links)?;
    let owners = Owners::new(&links, &parts);
    if let Some(table) = table {
        fs::write(table, weights::table(&links, &owners, &parts)).with_context(|| format!("cannot write {table}"))?;
    }
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
        .with_context(|| format!("cannot generate the bindings of {wasm}"))?;
    let split = split::split(&output.wasm_mut().emit_wasm(), &owners, &parts)?;
    let folder = Path::new(folder);
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    fs::create_dir_all(folder)?;
    let (code, types) = parts::tables();
    write("core.js", (output.js().to_owned() + &code).as_bytes())?;
    write(
        "core.d.ts",
        (output.ts().unwrap_or_default().to_owned() + &types).as_bytes(),
    )?;
    write("core.wasm", &split.core)?;
    for (part, bytes) in parts.iter().zip(&split.parts) {
        write(&format!("{}.wasm", part.name), bytes)?;
    }
    Ok(())
}
