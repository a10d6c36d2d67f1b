// Loads the engine when it is first needed, and its parts when they are.
import { onAbort } from "./abort.js";
import start, { codecsLoaded, partNeeds, type InitOutput } from "./core.js";
import { compiled, fileOf, located } from "./compile.js";
import { HyperslabError, type ErrorCode } from "./errors.js";
import { loadBefore } from "./parts.js";
import { wasm as wasmOf } from "./places.js";

/** What WebAssembly can be loaded from. */
export type WasmInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;

/** A source of WebAssembly: a URL, a response, bytes, or a compiled module. */
export type WasmSource = WasmInput | Promise<WasmInput>;

/**
 * The parts of the engine. Each is a file that is loaded when it is first needed. Calls of `write` and `view` also load
 * `more` and `codecs`.
 * - `core` reads arrays.
 * - `write` creates, writes, deletes, consolidates and vacuums.
 * - `view` is for `mount`, `asZarrita` and `respond`.
 * - `codecs` has the filters bzip2, WebP and dictionary, and encryption.
 * - `more` has groups, counts, plans of reads and selections as text.
 * - `describe` says what arrays and groups mean.
 */
export type Part = "core" | "write" | "view" | "codecs" | "more" | "describe";

/** A file of the engine. Browsers with WebAssembly SIMD load `core`, and so on; others load `core-baseline`. */
export type WasmFile = Part | `${Part}-baseline`;

/** The sources of the engine's files, if they are not next to this module. */
export type WasmSources = { readonly [file in WasmFile]?: WasmSource | undefined };

/** Returns where the file of a part is, or the file compiled. @internal */
export type Locate = (part: Part, file: WasmFile) => WasmSource;

let locate: Locate = wasmOf;
let given: WasmSources = {};
let running: Promise<InitOutput> | undefined;
const modules = new Map<Part, Promise<WebAssembly.Module>>();
const parts = new Map<Part, Promise<WebAssembly.Exports>>();

/** Sets where the files are if {@link init} does not say it. @internal */
export function provideWasm(sources: Locate): void {
  locate = sources;
}

/**
 * Loads the engine. Every function of this package does this itself. Call `init` to load it early, or to say where its
 * files are: that of `core`, or several by name. It must then be the first call.
 *
 * Fails with the code `Io` if the file is not there, and with `Unsupported` if the browser is too old.
 */
export async function init(wasm?: WasmSource | WasmSources): Promise<void> {
  if (wasm !== undefined && !running) give(isSources(wasm) ? wasm : { core: wasm });
  running ??= run();
  try {
    await running;
  } catch (error) {
    running = undefined;
    given = {};
    modules.clear();
    throw error;
  }
}

function give(sources: WasmSources): void {
  given = { ...sources };
  // A promise may fail before its file is needed; it is then awaited, and fails again.
  for (const source of Object.values(given)) if (source instanceof Promise) source.catch(() => {});
}

function isSources(wasm: WasmSource | WasmSources): wasm is WasmSources {
  return Object.getPrototypeOf(wasm) === Object.prototype;
}

async function run(): Promise<InitOutput> {
  const exports = await start({ module_or_path: await moduleOf("core") });
  loadBefore(loadPart);
  return exports;
}

/** The size of the engine's memory, which never shrinks, in bytes. @internal */
export async function memoryBytes(): Promise<number> {
  return (await running)?.memory.buffer.byteLength ?? 0;
}

/** Loads a part of the engine and the parts that it needs, once. */
export async function loadPart(part: Exclude<Part, "core">): Promise<WebAssembly.Exports> {
  return remembered(parts, part, async () => {
    await init();
    // The needed parts are loaded first.
    const needs = partNeeds[part];
    const [module, ...exports] = await Promise.all([moduleOf(part), ...needs.map(loadPart)]);
    // The parts use the memory and the functions of the core, and fill in its table.
    const given = Object.fromEntries([["core", await running], ...needs.map((name, i) => [name, exports[i]])]) as WebAssembly.Imports;
    const instance = await WebAssembly.instantiate(module, given).catch((error: unknown) => {
      if (!(error instanceof WebAssembly.LinkError)) throw error;
      throw new HyperslabError("Unsupported", `${fileOf(part)}.wasm and ${fileOf("core")}.wasm are of different releases (${error.message}); copy all files of one release, and reload the page without its cache`, { cause: error });
    });
    if (part === "codecs") codecsLoaded();
    return instance.exports;
  });
}

/** A file of the engine, compiled once for this thread and its workers. @internal */
export async function moduleOf(part: Part): Promise<WebAssembly.Module> {
  return remembered(modules, part, async () => {
    const file = fileOf(part);
    try {
      return await compiled(file, await (given[file] ?? located(file, () => locate(part, file))));
    } catch (error) {
      // A response can be read once, and a promise fails once and for all. The next try takes the package's own file.
      if (typeof given[file] === "object" && !(given[file] instanceof URL)) given = { ...given, [file]: undefined };
      throw error;
    }
  });
}

/** The value of `key`, made once. Made again if it failed. */
async function remembered<K, V>(known: Map<K, Promise<V>>, key: K, make: () => Promise<V>): Promise<V> {
  const value = known.get(key) ?? make();
  known.set(key, value);
  try {
    return await value;
  } catch (error) {
    known.delete(key);
    throw error;
  }
}

/** The running calls. They keep their arrays and stores alive, because the engine does not. */
const underWay = new Set<unknown>();

/**
 * Calls the engine. If there is a signal, the call gets a promise that rejects on abort; the engine then drops the work,
 * and the caller does not wait for a file of the engine that is being loaded.
 */
export async function call<T>(signal: AbortSignal | undefined, work: (aborted?: Promise<never>) => Promise<T>): Promise<T> {
  const begun = async (aborted?: Promise<never>) => {
    await init();
    signal?.throwIfAborted();
    underWay.add(work);
    return work(aborted).finally(() => underWay.delete(work));
  };
  try {
    if (!signal) return await begun();
    signal.throwIfAborted();
    let stop = () => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = onAbort(signal, () => reject(signal.reason));
    });
    return await Promise.race([begun(aborted), aborted]).finally(stop);
  } catch (error) {
    throw toHyperslabError(error);
  }
}

/** Converts an error of the engine to a {@link HyperslabError}. */
export function toHyperslabError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HyperslabError || error.name !== "HyperslabError") return error;
  const { code } = error as Error & { code: ErrorCode };
  // The code says it too.
  const message = code === "NotFound" ? error.message.replace(": not found: ", ": ") : error.message;
  return new HyperslabError(code, message, { cause: error });
}
