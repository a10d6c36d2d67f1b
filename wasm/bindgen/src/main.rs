//! Generates the JavaScript bindings of the engine's WebAssembly: `hyperslab-bindgen FILE.wasm FOLDER`.
//!
//! Writes `core.js`, `core_bg.wasm` and their TypeScript declarations to the folder.

use anyhow::{Context, bail};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [wasm, folder] = args.as_slice() else {
        bail!("usage: hyperslab-bindgen FILE.wasm FOLDER");
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen
        .input_path(wasm)
        .out_name("core")
        .remove_name_section(true)
        .remove_producers_section(true)
        .typescript(true)
        // The module finds its own WebAssembly next to it.
        .omit_default_module_path(false);
    bindgen
        .web(true)?
        .generate(folder)
        .with_context(|| format!("cannot generate the bindings of {wasm}"))
}
