// A pool worker: it has its own engine, and the page reads files for it.
import { RawStore } from "./core.js";
import { init, memoryBytes, provideWasm, type Part } from "./engine.js";
import { failure, thrown, type Message, type Port, type StoreFacts } from "./messages.js";

type Callable = Record<string, (...args: unknown[]) => unknown> & { free?(): void };
type Call = Extract<Message, { type: "call" }>;
type Ask = Extract<Message, { type: "ask" }>;

/** Returns a handler of the page's messages. It sends results to `port`. */
export function serve(port: Port): (message: Message) => void {
  const asks = new PageRequests(port);
  const stores = new Map<number, RawStore>();
  const objects = new Map<number, Callable>();
  const aborts = new Map<number, () => void>();
  const files = new Files(port);
  provideWasm((part) => files.get(part));

  const storeOf = ({ number, url, believesManifest, tileCacheBytes }: StoreFacts): RawStore => {
    const store = stores.get(number) ?? new RawStore(asks.bridge(number) as never, url, believesManifest, tileCacheBytes);
    stores.set(number, store);
    return store;
  };

  const perform = async ({ id, on, method, args, keep, room }: Call): Promise<unknown> => {
    await init();
    const object = typeof on === "number" ? objects.get(on) : (storeOf(on) as unknown as Callable);
    if (!object) throw failure("the worker no longer has this object; open the array again");
    const aborted = new Promise<never>((_, reject) => aborts.set(id, () => reject(new DOMException("aborted", "AbortError"))));
    aborted.catch(() => {});
    const found = (await object[method]?.(...args, ...(room === undefined ? [] : [new Uint8Array(room)]), aborted)) as Callable;
    if (keep === undefined) return found;
    objects.set(keep, found);
    const say = (name: string) => found[name]?.() as string;
    return method === "open" ? Object.fromEntries(["attrs", "dims", "fragments", "nonEmptyDomain", "schema", "times"].map((name) => [name, say(name)])) : undefined;
  };

  return (message) => {
    switch (message.type) {
      case "wasm":
        files.got(message);
        break;
      case "call":
        void perform(message)
          .then(
            async (value) => port.post({ type: "done", id: message.id, value, memory: await memoryBytes() }, buffers(value)),
            (error: unknown) => port.post({ type: "done", id: message.id, error: failure(error) }),
          )
          .finally(() => aborts.delete(message.id));
        break;
      case "abort":
        aborts.get(message.id)?.();
        break;
      case "free":
        for (const kept of [objects, stores] as Map<number, { free?(): void }>[]) {
          kept.get(message.object)?.free?.();
          kept.delete(message.object);
        }
        break;
      case "done":
        asks.done(message);
    }
  };
}

interface Waiting { promise: Promise<WebAssembly.Module>; resolve(module: WebAssembly.Module): void; reject(error: Error): void }

/** The files of the engine, which the page compiles. It sends the core without being asked. */
class Files {
  private readonly waiting = new Map<Part, Waiting>();

  constructor(private readonly port: Port) {
    this.wait("core");
  }

  async get(part: Part): Promise<WebAssembly.Module> {
    let waiting = this.waiting.get(part);
    if (!waiting) {
      waiting = this.wait(part);
      this.port.post({ type: "part", part });
    }
    return waiting.promise;
  }

  got({ part, module, error }: Extract<Message, { type: "wasm" }>): void {
    const waiting = this.waiting.get(part);
    if (module) waiting?.resolve(module);
    else {
      this.waiting.delete(part);
      waiting?.reject(thrown(error ?? failure("the page sent no module")));
    }
  }

  private wait(part: Part): Waiting {
    const waiting = {} as Waiting;
    waiting.promise = new Promise((resolve, reject) => Object.assign(waiting, { resolve, reject }));
    this.waiting.set(part, waiting);
    return waiting;
  }
}

/** The requests of this worker to the page. */
class PageRequests {
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private next = 0;

  constructor(private readonly port: Port) {}

  /** A store with the methods of `Bridge`, which the page runs. */
  bridge(store: number): object {
    const ask = (method: Ask["method"]) => async (...args: unknown[]) => {
      const signal = args.at(-1) instanceof AbortSignal ? (args.pop() as AbortSignal) : undefined;
      const id = (this.next += 1);
      const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
      signal?.addEventListener("abort", () => this.port.post({ type: "drop", id }), { once: true });
      this.port.post({ type: "ask", id, store, method, args });
      return answer;
    };
    const methods = ["read", "readAll", "size", "list", "put", "remove", "begin", "append", "end"] as const;
    return Object.fromEntries(methods.map((method) => [method, ask(method)]));
  }

  done({ id, value, error }: Extract<Message, { type: "done" }>): void {
    const call = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) call?.reject(thrown(error));
    else call?.resolve(value);
  }
}

/** The buffers of a result, which are transferred without a copy. */
function buffers(value: unknown): ArrayBuffer[] {
  const views = value instanceof Uint8Array ? [value] : columnsOf(value).flatMap(({ data, offsets, validity }) => [data, offsets, validity]);
  return [...new Set(views.flatMap((view) => (ArrayBuffer.isView(view) ? [view.buffer as ArrayBuffer] : [])))];
}

interface Parts { data?: unknown; offsets?: unknown; validity?: unknown }

function columnsOf(value: unknown): Parts[] {
  if (typeof value !== "object" || value === null) return [];
  return "columns" in value ? (value.columns as Parts[]) : [value];
}

// In Node, `worker-node` calls `serve`.
if ("WorkerGlobalScope" in globalThis) {
  const handle = serve({ post: (message, transfer = []) => globalThis.postMessage(message, { transfer: [...transfer] }) });
  globalThis.addEventListener("message", (event) => handle((event as MessageEvent<Message>).data));
}
