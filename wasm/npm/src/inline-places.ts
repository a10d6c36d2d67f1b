// Where the engine's files are in the entry point `inline`: in the module itself.
import { parts } from "./contents.js";
import type { Part, WasmFile, WasmSource } from "./engine.js";
import { HyperslabError } from "./errors.js";

/** A file of the engine. Those of browsers without SIMD would double the module. */
export async function wasm(part: Part, file: WasmFile): Promise<Awaited<WasmSource>> {
  if (file !== part) throw new HyperslabError("Unsupported", `this browser has no WebAssembly SIMD, and "hyperslab/inline" contains no ${file}.wasm; import "hyperslab", whose files include it`);
  const packed = Uint8Array.from(atob(parts[part]), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
