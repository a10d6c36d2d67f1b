// Loads the engine, once, when it is first needed.
import load, { type InitOutput } from "./core.js";
import { HyperslabError, type ErrorCode } from "./errors.js";

type WasmInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;

/** Where the engine comes from: a URL, a response, bytes, or a compiled module. */
export type WasmSource = WasmInput | Promise<WasmInput>;

let loading: Promise<InitOutput> | undefined;
let fallback: (() => WasmSource) | undefined;
let source: WasmInput | undefined;

/** Where the engine comes from if nobody calls {@link init} with something else. */
export function provideWasm(source: () => WasmSource): void {
  fallback = source;
}

/**
 * Loads the engine. Every call of this package does so itself; call it to load early, or to say
 * where the wasm is: a URL, a response, bytes, or a compiled module.
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

/** Where another engine comes from, for messages: `undefined` if from beside the modules. */
export async function wasmSource(): Promise<WasmSource | undefined> {
  await init();
  return source instanceof URL ? source.href : source instanceof Request ? source.url : source;
}

async function start(wasm: WasmSource | undefined): Promise<InitOutput> {
  const input = await wasm;
  // A response can be read but once.
  source = input instanceof Response ? await WebAssembly.compile(await input.arrayBuffer()) : input;
  try {
    return await (source === undefined ? load() : load({ module_or_path: source }));
  } catch (error) {
    if (!(error instanceof WebAssembly.CompileError)) throw error;
    const why = "it needs WebAssembly with SIMD, which Chrome 100, Firefox 97, Safari 16.4 and later have";
    throw new HyperslabError("Unsupported", `the engine cannot be compiled here: ${why} (${error.message})`, { cause: error });
  }
}

/** Calls that are under way, and with them the arrays and the stores that they are about: the engine holds no store. */
const underWay = new Set<unknown>();

/**
 * Calls the engine. With a signal the call gets a promise that is rejected on abort, upon which the
 * engine drops what it is doing.
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
    // The engine may be done before it looks at the promise.
    aborted.catch(() => {});
    return await work(aborted).finally(stop);
  } catch (error) {
    throw own(error);
  } finally {
    underWay.delete(work);
  }
}

/** The engine's error objects as this package's class. */
export function own(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HyperslabError || error.name !== "HyperslabError") return error;
  return new HyperslabError((error as Error & { code: ErrorCode }).code, error.message, { cause: error });
}
