/**
 * Reads arrays in workers, so that the page stays responsive and several processors decode at a time.
 *
 * @module hyperslab/pool
 */
import { check } from "./arguments.js";
import { believesManifest, urlOf, type Pooled } from "./array.js";
import { Bridge } from "./bridge.js";
import { moduleOf, type Part } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { failure, thrown, type Engine, type EngineArray, type EngineBatches, type EngineView, type EngineWriter, type Facts, type Message, type Port, type StoreFacts } from "./messages.js";
import { SingleFlight } from "./ranges.js";
import { pageWorker } from "./spawn.js";
import type { Store } from "./store.js";

type Call = Extract<Message, { type: "call" }>;
type Ask = Extract<Message, { type: "ask" }>;
type Spawn = (hear: (message: Message) => void, fail: (error: unknown) => void, script: string | URL | undefined) => Port;

let spawn: Spawn = (hear, fail, script) => {
  const worker = pageWorker(fail, script);
  worker.onmessage = ({ data }) => hear(data as Message);
  return {
    post: (message, transfer = []) => worker.postMessage(message, [...transfer]),
    close: () => worker.terminate(),
  };
};

/** Sets how an entry point starts workers. @internal */
export function provideWorkers(start: Spawn): void {
  spawn = start;
}

/** The options of a {@link Pool}. */
export interface PoolOptions {
  /** The number of workers. Default: one per processor, at most four. */
  workers?: number;
  /** The address of the workers' script, `hyperslab/worker`, if your bundler does not find it. */
  worker?: string | URL;
  /**
   * The memory of a worker, in bytes, above which it is stopped once it has no calls, to give the memory back. The next
   * call starts it again. Default: 256 MiB.
   */
  memoryBytes?: number;
}

/**
 * Workers that read arrays: `open(source, { pool })`. Each has its own engine. The page sends the requests and caches
 * the responses. Concurrent calls are spread over the workers. They start when they are first needed.
 *
 * @example
 * ```js
 * import { get, open } from "hyperslab";
 * import { Pool } from "hyperslab/pool";
 *
 * const pool = new Pool();
 * const elevation = await open("https://example.org/arrays/elevation", { pool });
 * console.log((await get(elevation, "0:8,0:8")).shape);
 * pool.close();
 * ```
 *
 * ```text
 * [ 8, 8 ]
 * ```
 */
export class Pool implements Pooled {
  /** @internal */
  readonly workers: readonly WorkerHandle[];
  private readonly stores = new WeakMap<Store, RemoteStore>();
  /** Returns a new number for an object or a store. @internal */
  readonly number = (() => { let last = 0; return () => (last += 1); })();
  private closed = false;

  /** Fails with the code `InvalidArgument` if `workers` is not a positive integer. */
  constructor(options: PoolOptions = {}) {
    check<PoolOptions>({ options }, { workers: 1, worker: 1, memoryBytes: 1 });
    const { workers = Math.min(globalThis.navigator?.hardwareConcurrency ?? 4, 4), worker, memoryBytes = 2 ** 28 } = options;
    if (!(Number.isInteger(workers) && workers > 0)) throw new HyperslabError("InvalidArgument", `workers must be a positive integer, not ${workers}`);
    this.workers = Array.from({ length: workers }, () => new WorkerHandle(worker, memoryBytes));
  }

  /** Stops the workers. Running calls fail with the code `Cancelled`. */
  close(): void {
    this.closed = true;
    for (const worker of this.workers) worker.stop(new HyperslabError("Cancelled", "the pool was closed"));
  }

  /** @internal */
  engine(store: Store, tileCacheBytes: number): Engine {
    const engine = this.stores.get(store) ?? new RemoteStore(this, store, this.number(), tileCacheBytes);
    this.stores.set(store, engine);
    return engine;
  }

  /** Every worker. @internal */
  all(): readonly WorkerHandle[] {
    if (this.closed) throw new HyperslabError("Cancelled", "the pool was closed; open the array with a new one");
    return this.workers;
  }

  /** The worker with the fewest calls. @internal */
  free(): WorkerHandle {
    return this.all().reduce((best, worker) => (worker.load < best.load ? worker : best));
  }
}

/** A worker, seen from the page. It is started when it is first needed, and again after a failure. */
class WorkerHandle {
  private port: Promise<Port> | undefined;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  private readonly asked = new Map<number, AbortController>();
  private readonly bridges = new Map<number, PageStore>();
  private next = 0;

  constructor(private readonly script: string | URL | undefined, private readonly memoryBytes: number) {}

  /** The objects that cannot be made again, such as running queries. */
  readonly held = new Set<number>();

  /** The worker's objects by number, from when they are requested on. */
  readonly has = new Map<number, Promise<unknown>>();

  /** Calls that wait until the worker has their object. */
  private coming = 0;

  /** The number of running and waiting calls. */
  get load(): number {
    return this.waiting.size + this.coming;
  }

  /** Waits for the object of a call. The call already counts as load, so that others use another worker. */
  async ready(needed: Promise<unknown>): Promise<void> {
    this.coming += 1;
    try {
      await needed;
    } finally {
      this.coming -= 1;
    }
  }

  /** Calls the worker. If `on` is a store, `bridge` serves its reads. */
  async call(call: Omit<Call, "type" | "id">, given?: unknown, bridge?: PageStore): Promise<unknown> {
    const aborted = given as Promise<never> | null | undefined;
    const id = (this.next += 1);
    if (bridge && typeof call.on === "object") this.bridges.set(call.on.number, bridge);
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    const send = async () => {
      this.port ??= this.start().catch((error: unknown) => {
        this.stop(error);
        throw error;
      });
      const port = await this.port;
      port.busy?.(true);
      if (this.waiting.has(id)) port.post({ type: "call", id, ...call });
      aborted?.catch(() => port.post({ type: "abort", id }));
    };
    send().catch((error: unknown) => this.done(id, () => ({ error })));
    return aborted ? Promise.race([answer, aborted]) : answer;
  }

  /** Forgets an object or a store. */
  forget(object: number): void {
    this.held.delete(object);
    if (this.has.delete(object) || this.bridges.delete(object)) void this.port?.then((port) => port.post({ type: "free", object }), () => {});
  }

  /** Stops the worker, to give back its memory. The next call starts it again and makes the objects that it needs. */
  private restart(): void {
    void this.port?.then((port) => port.close?.(), () => {});
    this.port = undefined;
    this.has.clear();
  }

  /** Stops the worker. Running calls fail with `error`. */
  stop(error: unknown): void {
    this.restart();
    this.held.clear();
    for (const controller of this.asked.values()) controller.abort();
    for (const id of [...this.waiting.keys()]) this.done(id, () => ({ error }));
  }

  private async start(): Promise<Port> {
    const module = await moduleOf("core");
    let heard = false;
    const failed = (error: unknown) => {
      const what = heard ? "try again with smaller reads" : "give the address of the package's worker.js: new Pool({ worker: url })";
      this.stop(new HyperslabError("Io", `a worker failed: ${failure(error).message}; ${what}`));
    };
    const hear = (message: Message) => {
      heard = true;
      this.hear(message);
    };
    const port = spawn(hear, failed, this.script);
    port.post({ type: "wasm", part: "core", module });
    return port;
  }

  private hear(message: Message): void {
    if (message.type === "done") {
      this.done(message.id, () => (message.error ? { error: thrown(message.error) } : { value: message.value }));
      if (this.load === 0 && this.held.size === 0 && (message.memory ?? 0) > this.memoryBytes) this.restart();
    }
    else if (message.type === "ask") void this.answer(message);
    else if (message.type === "part") void this.give(message.part);
    else if (message.type === "drop") this.asked.get(message.id)?.abort();
  }

  private done(id: number, result: () => { value?: unknown; error?: unknown }): void {
    const call = this.waiting.get(id);
    this.waiting.delete(id);
    if (this.waiting.size === 0) void this.port?.then((port) => port.busy?.(false), () => {});
    const { value, error } = result();
    if (error === undefined) call?.resolve(value);
    else call?.reject(error);
  }

  /** Gives the worker a file of the engine. */
  private async give(part: Part): Promise<void> {
    const port = await this.port;
    try {
      port?.post({ type: "wasm", part, module: await moduleOf(part) });
    } catch (error) {
      port?.post({ type: "wasm", part, error: failure(error) });
    }
  }

  private async answer({ id, store, method, args }: Ask): Promise<void> {
    const port = await this.port;
    const controller = new AbortController();
    this.asked.set(id, controller);
    try {
      const value = await this.bridges.get(store)?.ask(method, args, controller.signal);
      // Transfers a copy, because transferring a view would take its whole buffer. Node's Buffers are views.
      const own = value instanceof Uint8Array ? new Uint8Array(value) : value;
      port?.post({ type: "done", id, value: own }, own instanceof Uint8Array ? [own.buffer as ArrayBuffer] : []);
    } catch (error) {
      port?.post({ type: "done", id, error: failure(error) });
    } finally {
      this.asked.delete(id);
    }
  }
}

/** The page's side of a store that workers read. While they open an array, they share one read of each file, so that they all see the same. */
class PageStore {
  private readonly bridge: Bridge;
  private round: SingleFlight<unknown> | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.bridge = new Bridge(store);
  }

  /** Runs `work` after all earlier rounds. */
  async inOneRound<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.turn.then(async () => {
      this.round = new SingleFlight(true);
      return work().finally(() => (this.round = undefined));
    });
    this.turn = mine.catch(() => {});
    return mine;
  }

  async ask(method: Ask["method"], args: unknown[], signal: AbortSignal): Promise<unknown> {
    const call = (signal: AbortSignal) => (this.bridge[method] as (...args: unknown[]) => Promise<unknown>).call(this.bridge, ...args, signal);
    if (method === "put" || method === "remove") {
      // Later reads must not get an older result.
      return call(signal).finally(() => (this.round &&= new SingleFlight(true)));
    }
    // Only files that opening reads, which have names like these, are shared; data files are not.
    const described = method !== "read" || /(^|\/)__[^/]*$/.test(args[0] as string);
    return this.round && described ? this.round.join(JSON.stringify([method, args]), signal, call) : call(signal);
  }
}

/** The engine of a store, in the workers. */
class RemoteStore implements Engine {
  private readonly facts: StoreFacts;
  private readonly bridge: PageStore;

  constructor(readonly pool: Pool, store: Store, number: number, tileCacheBytes: number) {
    this.facts = { number, url: urlOf(store), believesManifest: believesManifest(store), tileCacheBytes: Math.ceil(tileCacheBytes / pool.all().length) };
    this.bridge = new PageStore(store);
    gone.register(this, [pool.workers, number]);
  }

  async open(...args: Parameters<Engine["open"]>): Promise<EngineArray> {
    const aborted = args[4];
    const [path, start, end, key] = args;
    const made = this.toMake("open", [path, start, end, key]);
    const facts = await this.bridge.inOneRound(() => Promise.all(this.pool.all().map((worker) => this.make(worker, made, aborted))));
    return this.array(made, facts[0] as Facts);
  }

  async view(...args: Parameters<Engine["view"]>): Promise<EngineView> {
    return this.viewOf(this.toMake("view", args));
  }

  private viewOf(made: Made): EngineView {
    const call = (method: string) => (async (...given: unknown[]) => {
      const aborted = given.at(-1) instanceof Promise || given.at(-1) === undefined ? given.pop() : undefined;
      return this.call(this.pool.free(), made, { method, args: given }, aborted);
    }) as never;
    return { list: call("list"), read: call("read"), stat: call("stat") };
  }

  private array(made: Made, facts: Facts): EngineArray {
    const any = (method: string, args: unknown[], aborted?: unknown) => this.call(this.pool.free(), made, { method, args }, aborted) as Promise<never>;
    return {
      attrs: () => facts.attrs,
      dims: () => facts.dims,
      fragments: () => facts.fragments,
      nonEmptyDomain: () => facts.nonEmptyDomain,
      schema: () => facts.schema,
      times: () => facts.times,
      at: async (start, end, aborted) => this.open(made.args[0] as string, start, end, made.args[3] as Uint8Array, aborted),
      consolidate: async (...args) => any("consolidate", args),
      count: async (ranges, condition, aborted) => any("count", [ranges, condition], aborted),
      countDeleted: async (...args) => any("countDeleted", args),
      deleteCells: async (...args) => any("deleteCells", args),
      describe: async (aborted) => any("describe", [], aborted),
      enumeration: async (name) => any("enumeration", [name]),
      evolve: async (...args) => any("evolve", args),
      explain: async (selection, fields, order, condition, aborted) => any("explain", [selection, fields, order, condition], aborted),
      metadata: async (aborted) => any("metadata", [], aborted),
      put: async (selection, order, columns, at, seed) => any("put", [selection, order, owned(columns), at, seed]),
      query: (...args) => this.batches(made, args),
      view: async (...args) => this.viewOf(this.toMake("view", args, made)),
      vacuum: async (...args) => any("vacuum", args),
      writer: async (...args) => this.writer(made, args),
      writeTime: async (now) => any("writeTime", [now]),
      get: async (selection, fields, order, condition, reader, out, aborted) => {
        const given = [selection, fields, order, condition, reader];
        if (!out) return any("get", [...given, undefined], aborted);
        const found = (await this.call(this.pool.free(), made, { method: "get", args: given, room: out.length }, aborted)) as { columns: { data: Uint8Array }[] };
        for (const column of found.columns) {
          out.set(column.data);
          column.data = out;
        }
        return found;
      },
    };
  }

  /** Runs a query in one worker, which keeps its batches. */
  private batches(made: Made, args: unknown[]): EngineBatches {
    const { begun, call, owner } = this.kept(made, "query", args);
    const next = async (aborted?: unknown) => {
      await begun;
      return call("next", [], aborted) as Promise<never>;
    };
    return owner({ next });
  }

  /** Writes a fragment in one worker. */
  private async writer(made: Made, args: unknown[]): Promise<EngineWriter> {
    const { begun, call, owner } = this.kept(made, "writer", args);
    await begun;
    const of = (method: string) => async (...args: unknown[]) => call(method, args) as Promise<never>;
    const methods = { push: async (columns: unknown) => of("push")(owned(columns)), finish: of("finish"), abandon: of("abandon") };
    return owner(methods);
  }

  /** The result of a method, which one worker keeps until its owner is freed. */
  private kept(made: Made, method: string, args: unknown[]) {
    const worker = this.pool.free();
    const keep = this.pool.number();
    const begun = this.call(worker, made, { method, args, keep });
    worker.has.set(keep, begun);
    worker.held.add(keep);
    const forget = () => worker.forget(keep);
    begun.catch(forget);
    const call = async (method: string, args: unknown[], aborted?: unknown) => worker.call({ on: keep, method, args }, aborted);
    // Freeing waits until the worker has the object.
    const free = () => void begun.then(forget, forget);
    const owner = <T extends object>(methods: T): T & { free(): void } => {
      const object = { ...methods, free };
      gone.register(object, [[worker], keep]);
      return object;
    };
    return { begun, call, owner };
  }

  /** Calls a method of an object, after making it if the worker does not have it. */
  private async call(worker: WorkerHandle, made: Made, call: Omit<Call, "type" | "id" | "on">, aborted?: unknown): Promise<unknown> {
    await worker.ready(this.at(worker, made));
    return worker.call({ on: made.keep, ...call }, aborted);
  }

  private at(worker: WorkerHandle, made: Made): Promise<unknown> {
    return worker.has.get(made.keep) ?? this.make(worker, made);
  }

  /** An object that workers make when they need it, and free when it is garbage-collected here. */
  private toMake(method: string, args: unknown[], of?: Made): Made {
    const made = { of, method, args, keep: this.pool.number() };
    gone.register(made, [this.pool.workers, made.keep]);
    return made;
  }

  private make(worker: WorkerHandle, { of, ...made }: Made, aborted?: unknown): Promise<unknown> {
    const call = (on: Call["on"]) => worker.call({ on, ...made }, aborted, this.bridge);
    const making = of ? this.at(worker, of).then(() => call(of.keep)) : call(this.facts);
    worker.has.set(made.keep, making);
    making.catch(() => worker.forget(made.keep));
    return making;
  }
}

/** Columns whose data can be sent without the rest of its buffer. */
function owned(columns: unknown): unknown {
  return (columns as { data: Uint8Array }[]).map((column) => ({ ...column, data: column.data.slice() }));
}

/** How to make an object in a worker, from a store or from another object, and its number. */
type Made = { of: Made | undefined; method: string; args: unknown[]; keep: number };

/** Frees objects in the workers when they are garbage-collected here. */
const gone = new FinalizationRegistry<[readonly WorkerHandle[], number]>(([workers, number]) => workers.forEach((worker) => worker.forget(number)));
