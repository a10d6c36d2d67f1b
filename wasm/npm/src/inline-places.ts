// Where the engine's files are in the entry point `inline`: in the module itself.
import { parts } from "./contents.js";
import type { Part, WasmSource } from "./engine.js";

/** A file of the engine. */
export async function wasm(part: Part): Promise<Awaited<WasmSource>> {
  const packed = Uint8Array.from(atob(parts[part]), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
