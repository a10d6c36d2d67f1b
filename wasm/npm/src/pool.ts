// Arrays that are read in workers: the page stays free, and several processors decode at a time.
import { believesManifest, CACHE_BYTES, urlOf, type Pooled } from "./array.js";
import { Bridge } from "./bridge.js";
import { wasmSource } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { failure, thrown, type Engine, type EngineArray, type EngineBatches, type EngineView, type Facts, type Message, type Port, type StoreFacts } from "./messages.js";
import { Flights } from "./ranges.js";
import { pageWorker } from "./spawn.js";
import type { Store } from "./store.js";

type Call = Extract<Message, { say: "call" }>;
type Ask = Extract<Message, { say: "ask" }>;
type Spawn = (hear: (message: Message) => void, fail: (error: unknown) => void) => Port;

let spawn: Spawn = (hear, fail) => {
  const worker = pageWorker(fail);
  worker.onmessage = ({ data }) => hear(data as Message);
  return {
    post: (message, transfer = []) => worker.postMessage(message, [...transfer]),
    close: () => worker.terminate(),
  };
};

/** Lets an entry point start workers in its own way. @internal */
export function provideWorkers(start: Spawn): void {
  spawn = start;
}

/**
 * Workers that read arrays: `open(source, { pool })`. Each has an engine of its own; requests and what is kept of their
 * answers stay with the page. Calls that are under way at a time are spread over the workers.
 */
export class Pool implements Pooled {
  /** @internal */
  readonly lanes: readonly Lane[];
  private readonly stores = new WeakMap<Store, RemoteStore>();
  /** Objects and stores are numbered alike. @internal */
  readonly number = (() => { let last = 0; return () => (last += 1); })();
  private closed = false;

  /** `workers`: how many; as many as the machine has processors, four at most, unless given. */
  constructor({ workers = Math.min(globalThis.navigator?.hardwareConcurrency ?? 4, 4) }: { workers?: number } = {}) {
    if (!(Number.isInteger(workers) && workers > 0)) throw new HyperslabError("InvalidArgument", `a pool has one worker or more, not ${workers}`);
    this.lanes = Array.from({ length: workers }, () => new Lane());
  }

  /** Ends the workers. Calls that are under way fail with the code `Cancelled`. */
  close(): void {
    this.closed = true;
    for (const lane of this.lanes) lane.stop(new HyperslabError("Cancelled", "the pool was closed"));
  }

  /** @internal */
  engine(store: Store): Engine {
    const engine = this.stores.get(store) ?? new RemoteStore(this, store, this.number());
    this.stores.set(store, engine);
    return engine;
  }

  /** Every worker. @internal */
  all(): readonly Lane[] {
    if (this.closed) throw new HyperslabError("Cancelled", "the pool was closed; open the array with another");
    return this.lanes;
  }

  /** The worker that has least to do. @internal */
  free(): Lane {
    return this.all().reduce((best, lane) => (lane.load < best.load ? lane : best));
  }
}

/** A worker as the page sees it: started when it is first needed, and again after it failed. */
class Lane {
  private port: Promise<Port> | undefined;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  private readonly asked = new Map<number, AbortController>();
  private readonly bridges = new Map<number, Asked>();
  private next = 0;
  /** What the worker has, by number. */
  readonly has = new Map<number, Promise<unknown>>();

  /** Calls that are to come as soon as the worker has what they are of. */
  private coming = 0;

  /** How many calls are under way. */
  get load(): number {
    return this.waiting.size + this.coming;
  }

  /** Waits for what a call needs; the call counts from now on, so that others go elsewhere. */
  async ready(needed: Promise<unknown>): Promise<void> {
    this.coming += 1;
    try {
      await needed;
    } finally {
      this.coming -= 1;
    }
  }

  /** Calls the worker; what `bridge` reads is read for the store `on`. */
  async call(call: Omit<Call, "say" | "id">, given?: unknown, bridge?: Asked): Promise<unknown> {
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
      if (this.waiting.has(id)) port.post({ say: "call", id, ...call });
      aborted?.catch(() => port.post({ say: "abort", id }));
    };
    send().catch((error: unknown) => this.done(id, () => ({ error })));
    return aborted ? Promise.race([answer, aborted]) : answer;
  }

  /** Forgets an object or a store. */
  forget(object: number): void {
    if (this.has.delete(object) || this.bridges.delete(object)) void this.port?.then((port) => port.post({ say: "free", object }), () => {});
  }

  /** Ends the worker: what is under way fails with `error`. */
  stop(error: unknown): void {
    void this.port?.then((port) => port.close?.(), () => {});
    this.port = undefined;
    this.has.clear();
    for (const controller of this.asked.values()) controller.abort();
    for (const id of [...this.waiting.keys()]) this.done(id, () => ({ error }));
  }

  private async start(): Promise<Port> {
    const wasm = await wasmSource();
    let heard = false;
    const failed = (error: unknown) => {
      const what = heard ? "try again, in parts that take less memory" : "see that worker.js is beside pool.js";
      this.stop(new HyperslabError("Io", `a worker failed: ${failure(error).message}; ${what}`));
    };
    const hear = (message: Message) => {
      heard = true;
      this.hear(message);
    };
    const port = spawn(hear, failed);
    port.post({ say: "start", wasm });
    return port;
  }

  private hear(message: Message): void {
    if (message.say === "done") this.done(message.id, () => (message.error ? { error: thrown(message.error) } : { value: message.value }));
    else if (message.say === "ask") void this.answer(message);
    else if (message.say === "drop") this.asked.get(message.id)?.abort();
  }

  private done(id: number, result: () => { value?: unknown; error?: unknown }): void {
    const call = this.waiting.get(id);
    this.waiting.delete(id);
    if (this.waiting.size === 0) void this.port?.then((port) => port.busy?.(false), () => {});
    const { value, error } = result();
    if (error === undefined) call?.resolve(value);
    else call?.reject(error);
  }

  private async answer({ id, store, method, args }: Ask): Promise<void> {
    const port = await this.port;
    const controller = new AbortController();
    this.asked.set(id, controller);
    try {
      const value = await this.bridges.get(store)?.ask(method, args, controller.signal);
      // A view would take all of its memory along; and a Buffer's slices are views.
      const own = value instanceof Uint8Array ? new Uint8Array(value) : value;
      port?.post({ say: "done", id, value: own }, own instanceof Uint8Array ? [own.buffer as ArrayBuffer] : []);
    } catch (error) {
      port?.post({ say: "done", id, error: failure(error) });
    } finally {
      this.asked.delete(id);
    }
  }
}

/** A store that workers ask. While they open an array, each file is read once for all of them, so that all see the same. */
class Asked {
  private readonly bridge: Bridge;
  private round: Flights<unknown> | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.bridge = new Bridge(store);
  }

  /** Runs `work` while no other round is. */
  async inOneRound<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.turn.then(async () => {
      this.round = new Flights(true);
      return work().finally(() => (this.round = undefined));
    });
    this.turn = mine.catch(() => {});
    return mine;
  }

  async ask(method: Ask["method"], args: unknown[], signal: AbortSignal): Promise<unknown> {
    const call = (signal: AbortSignal) => (this.bridge[method] as (...args: unknown[]) => Promise<unknown>).call(this.bridge, ...args, signal);
    if (method === "put" || method === "remove") {
      // What is asked from now on may be another answer.
      return call(signal).finally(() => (this.round &&= new Flights(true)));
    }
    // Cells are not what opening asks for: only names of files that describe an array start so.
    const described = method !== "read" || /(^|\/)__[^/]*$/.test(args[0] as string);
    return this.round && described ? this.round.join(JSON.stringify([method, args]), signal, call) : call(signal);
  }
}

/** A store's engine in the workers. */
class RemoteStore implements Engine {
  private readonly facts: StoreFacts;
  private readonly bridge: Asked;

  constructor(readonly pool: Pool, store: Store, number: number) {
    this.facts = { number, url: urlOf(store), believesManifest: believesManifest(store), cacheBytes: Math.ceil(CACHE_BYTES / pool.all().length) };
    this.bridge = new Asked(store);
    gone.register(this, [pool.lanes, number]);
  }

  async open(...args: Parameters<Engine["open"]>): Promise<EngineArray> {
    const aborted = args[4];
    const [path, start, end, key] = args;
    const made = this.toMake("open", [path, start, end, key]);
    const facts = await this.bridge.inOneRound(() => Promise.all(this.pool.all().map((lane) => this.make(lane, made, aborted))));
    return this.array(made, facts[0] as Facts);
  }

  view(...args: Parameters<Engine["view"]>): EngineView {
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
      enumeration: async (name) => any("enumeration", [name]),
      metadata: async (aborted) => any("metadata", [], aborted),
      put: async (selection, order, columns, at, seed) => {
        const own = (columns as { data: Uint8Array }[]).map((column) => ({ ...column, data: column.data.slice() }));
        return any("put", [selection, order, own, at, seed]);
      },
      query: (...args) => this.batches(made, args),
      view: (...args) => this.viewOf(this.toMake("view", args, made)),
      vacuum: async (...args) => any("vacuum", args),
      writeTime: async (now) => any("writeTime", [now]),
      get: async (selection, fields, order, condition, out, aborted) => {
        const given = [selection, fields, order, condition];
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

  /** Batches stay with the worker that began them. */
  private batches(made: Made, args: unknown[]): EngineBatches {
    const lane = this.pool.free();
    const keep = this.pool.number();
    const begun = this.call(lane, made, { method: "query", args, keep });
    lane.has.set(keep, begun);
    const forget = () => lane.forget(keep);
    begun.catch(forget);
    const batches: EngineBatches = {
      next: async (aborted) => {
        await begun;
        return lane.call({ on: keep, method: "next", args: [] }, aborted);
      },
      // The worker may have none of it yet.
      free: () => void begun.then(forget, forget),
    };
    gone.register(batches, [[lane], keep]);
    return batches;
  }

  /** Calls a method of what `made` makes, which is made where the worker does not have it. */
  private async call(lane: Lane, made: Made, call: Omit<Call, "say" | "id" | "on">, aborted?: unknown): Promise<unknown> {
    await lane.ready(this.at(lane, made));
    return lane.call({ on: made.keep, ...call }, aborted);
  }

  private at(lane: Lane, made: Made): Promise<unknown> {
    return lane.has.get(made.keep) ?? this.make(lane, made);
  }

  /** Something that workers make, and forget when nobody here can call it any more. */
  private toMake(method: string, args: unknown[], of?: Made): Made {
    const made = { of, method, args, keep: this.pool.number() };
    gone.register(made, [this.pool.lanes, made.keep]);
    return made;
  }

  private make(lane: Lane, { of, ...made }: Made, aborted?: unknown): Promise<unknown> {
    const call = (on: Call["on"]) => lane.call({ on, ...made }, aborted, this.bridge);
    const making = of ? this.at(lane, of).then(() => call(of.keep)) : call(this.facts);
    lane.has.set(made.keep, making);
    making.catch(() => lane.forget(made.keep));
    return making;
  }
}

/** How an object of a worker is made, of a store or of another object, and its number. */
type Made = { of: Made | undefined; method: string; args: unknown[]; keep: number };

/** What is gone from the page goes from these workers too. */
const gone = new FinalizationRegistry<[readonly Lane[], number]>(([lanes, number]) => lanes.forEach((lane) => lane.forget(number)));
