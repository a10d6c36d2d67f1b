// Where the engine's files are: next to this module. In the entry point `inline`, `inline-places` replaces this module.
import type { Part, WasmFile, WasmSource } from "./engine.js";

/** A file of the engine. Bundlers recognise exactly these expressions. */
export const wasm = (_: Part, file: WasmFile): WasmSource => original({
  core: () => new URL("./core.wasm", import.meta.url),
  write: () => new URL("./write.wasm", import.meta.url),
  view: () => new URL("./view.wasm", import.meta.url),
  codecs: () => new URL("./codecs.wasm", import.meta.url),
  more: () => new URL("./more.wasm", import.meta.url),
  describe: () => new URL("./describe.wasm", import.meta.url),
  "core-baseline": () => new URL("./core-baseline.wasm", import.meta.url),
  "write-baseline": () => new URL("./write-baseline.wasm", import.meta.url),
  "view-baseline": () => new URL("./view-baseline.wasm", import.meta.url),
  "codecs-baseline": () => new URL("./codecs-baseline.wasm", import.meta.url),
  "more-baseline": () => new URL("./more-baseline.wasm", import.meta.url),
  "describe-baseline": () => new URL("./describe-baseline.wasm", import.meta.url),
}[file]());

/** Vite's development server moves modules to a folder of its own, without the files that they need. */
export function original(url: string | URL): string {
  return String(url).replace("/node_modules/.vite/deps/", "/node_modules/hyperslab/dist/");
}
