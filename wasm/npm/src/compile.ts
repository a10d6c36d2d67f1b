// Compiles the files of the engine. If a file cannot be had, the error says what to do.
import type { Part, WasmFile, WasmInput, WasmSource } from "./engine.js";
import { HyperslabError, type ErrorCode } from "./errors.js";

/** A module with a function that uses SIMD. It comes from the package `wasm-feature-detect`. */
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

/** The file of a part that this browser can run. */
export const fileOf = (part: Part): WasmFile => (WebAssembly.validate(SIMD) ? part : `${part}-baseline`);

/** Where a file is. Bundles that are no modules do not know their own address. */
export function located(file: WasmFile, locate: () => WasmSource): WasmSource {
  try {
    return locate();
  } catch (error) {
    throw error instanceof TypeError ? missing("Io", file, `${file}.wasm`, "its address is unknown, because the bundle is not an ES module", error) : error;
  }
}

export async function compiled(file: WasmFile, source: WasmInput): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  const isAddress = typeof source === "string" || source instanceof URL || source instanceof Request;
  const found = isAddress ? await fetched(file, source) : source;
  try {
    if (!(found instanceof Response)) return await compile(file, found, "the source given to init", "");
    const type = found.headers.get("Content-Type") ?? "no type";
    if (type.startsWith("application/wasm")) return await WebAssembly.compileStreaming(found);
    return await compile(file, await found.arrayBuffer(), found.url, ` (${type})`);
  } catch (error) {
    if (!(error instanceof WebAssembly.CompileError)) throw error;
    const why = "the engine needs WebAssembly with reference types; use Chrome 100, Firefox 97, Safari 15.4 or later";
    throw new HyperslabError("Unsupported", `${why} (${error.message})`, { cause: error });
  }
}

async function fetched(file: WasmFile, address: string | URL | Request): Promise<Response> {
  const place = address instanceof Request ? address.url : String(address);
  const response = await fetch(address).catch((error: unknown) => {
    throw missing("Io", file, place, `the request failed (${(error as Error).message})`, error);
  });
  if (response.ok) return response;
  throw missing("Io", file, place, `the server answered ${response.status}`);
}

/** Compiles bytes that start as WebAssembly does. Many servers send a page in place of a missing file. */
async function compile(file: WasmFile, source: BufferSource, place: string, type: string): Promise<WebAssembly.Module> {
  const bytes = ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  if (start.startsWith("\0asm")) return WebAssembly.compile(source);
  throw missing("Io", file, place, `expected WebAssembly, but got ${JSON.stringify(start)}${type}`);
}

function missing(code: ErrorCode, file: WasmFile, place: string, what: string, cause?: unknown): HyperslabError {
  const name = file.includes("-") ? `"${file}"` : file;
  const advice = `copy the files dist/*.wasm of the package "hyperslab" to that folder, call init({ ${name}: url }) with the right address, or import "hyperslab/inline", which contains them`;
  return new HyperslabError(code, `${place}: ${what}; ${advice}`, { cause });
}
