// Compiles the files of the engine. If a file cannot be had, the error says what to do.
import type { Locate, Part, WasmInput, WasmSource } from "./engine.js";
import { HyperslabError, type ErrorCode } from "./errors.js";

/** Where a file is. Bundles that are no modules do not know their own address. */
export function located(part: Part, locate: Locate): WasmSource {
  try {
    return locate(part);
  } catch (error) {
    throw error instanceof TypeError ? missing("Io", part, `${part}.wasm`, "its address is unknown, because the bundle is not an ES module", error) : error;
  }
}

export async function compiled(part: Part, source: WasmInput): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  const isAddress = typeof source === "string" || source instanceof URL || source instanceof Request;
  const found = isAddress ? await fetched(part, source) : source;
  try {
    if (!(found instanceof Response)) return await compile(part, found, "the source given to init", "");
    const type = found.headers.get("Content-Type") ?? "no type";
    if (type.startsWith("application/wasm")) return await WebAssembly.compileStreaming(found);
    return await compile(part, await found.arrayBuffer(), found.url, ` (${type})`);
  } catch (error) {
    if (!(error instanceof WebAssembly.CompileError)) throw error;
    const why = "the engine needs WebAssembly SIMD; use Chrome 100, Firefox 97, Safari 16.4 or later";
    throw new HyperslabError("Unsupported", `${why} (${error.message})`, { cause: error });
  }
}

async function fetched(part: Part, address: string | URL | Request): Promise<Response> {
  const place = address instanceof Request ? address.url : String(address);
  const response = await fetch(address).catch((error: unknown) => {
    throw missing("Io", part, place, `the request failed (${(error as Error).message})`, error);
  });
  if (response.ok) return response;
  throw missing("Io", part, place, `the server answered ${response.status}`);
}

/** Compiles bytes that start as WebAssembly does. Many servers send a page in place of a missing file. */
async function compile(part: Part, source: BufferSource, place: string, type: string): Promise<WebAssembly.Module> {
  const bytes = ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  if (start.startsWith("\0asm")) return WebAssembly.compile(source);
  throw missing("Io", part, place, `expected WebAssembly, but got ${JSON.stringify(start)}${type}`);
}

function missing(code: ErrorCode, part: Part, place: string, what: string, cause?: unknown): HyperslabError {
  const advice = `copy the files dist/*.wasm of the package "hyperslab" to that folder, call init({ ${part}: url }) with the right address, or import "hyperslab/inline", which contains them`;
  return new HyperslabError(code, `${place}: ${what}; ${advice}`, { cause });
}
