// Loads the engine when it is first needed.
import load, { type InitOutput } from "./core.js";
import { HyperslabError, type ErrorCode } from "./errors.js";

type WasmInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;

/** The source of the engine's wasm: a URL, a response, bytes, or a compiled module. */
export type WasmSource = WasmInput | Promise<WasmInput>;

let loading: Promise<InitOutput> | undefined;
let fallback: (() => WasmSource) | undefined;
let source: WasmInput | undefined;

/** Sets the source that is used if {@link init} is called without one. */
export function provideWasm(source: () => WasmSource): void {
  fallback = source;
}

/**
 * Loads the engine. Every function of this package does this itself. Call `init` to load it early, or to load the wasm
 * from elsewhere: a URL, a response, bytes, or a compiled module.
 */
export async function init(wasm?: WasmSource): Promise<void> {
  loading ??= start(wasm ?? fallback?.());
  try {
    await loading;
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

/** The source from which a worker can load the same wasm, as a message can carry it. `undefined` is the default, next to this module. */
export async function wasmSource(): Promise<WasmSource | undefined> {
  await init();
  return source instanceof URL ? source.href : source instanceof Request ? source.url : source;
}

async function start(wasm: WasmSource | undefined): Promise<InitOutput> {
  const input = await wasm;
  // A response can be read only once, but workers need the source too.
  source = input instanceof Response ? await WebAssembly.compile(await input.arrayBuffer()) : input;
  try {
    return await (source === undefined ? load() : load({ module_or_path: source }));
  } catch (error) {
    if (!(error instanceof WebAssembly.CompileError)) throw error;
    const why = "the engine needs WebAssembly SIMD; use Chrome 100, Firefox 97, Safari 16.4 or later";
    throw new HyperslabError("Unsupported", `${why} (${error.message})`, { cause: error });
  }
}

/** The running calls. They keep their arrays and stores alive, because the engine does not. */
const underWay = new Set<unknown>();

/**
 * Calls the engine. If there is a signal, the call gets a promise that rejects on abort; the engine then drops the work.
 */
export async function call<T>(signal: AbortSignal | undefined, work: (aborted?: Promise<never>) => Promise<T>): Promise<T> {
  await init();
  underWay.add(work);
  try {
    if (!signal) return await work();
    signal.throwIfAborted();
    let stop = () => {};
    const aborted = new Promise<never>((_, reject) => {
      const listener = () => reject(signal.reason);
      signal.addEventListener("abort", listener, { once: true });
      stop = () => signal.removeEventListener("abort", listener);
    });
    // The engine may finish without awaiting the promise.
    aborted.catch(() => {});
    return await work(aborted).finally(stop);
  } catch (error) {
    throw toHyperslabError(error);
  } finally {
    underWay.delete(work);
  }
}

/** Converts an error of the engine to a {@link HyperslabError}. */
export function toHyperslabError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HyperslabError || error.name !== "HyperslabError") return error;
  return new HyperslabError((error as Error & { code: ErrorCode }).code, error.message, { cause: error });
}
