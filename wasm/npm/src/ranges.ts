// A cache of byte ranges, requests in flight, and the merging of ranges.
import { onAbort } from "./abort.js";

/** An LRU cache of byte ranges, with a size limit in bytes. */
export class RangeCache {
  private bytes = 0;
  private readonly files = new Map<string, { start: number; data: Uint8Array; used: number }[]>();
  private clock = 0;

  constructor(private readonly bytesMax: number) {}

  get(key: string, start: number, end: number): Uint8Array | undefined {
    const held = this.files.get(key)?.find((r) => r.start <= start && end <= r.start + r.data.length);
    if (!held) return undefined;
    held.used = ++this.clock;
    return held.data.subarray(start - held.start, end - held.start);
  }

  /** Caches a range. Ranges larger than a quarter of the limit are not cached, nor `whole` files larger than the limit. */
  put(key: string, start: number, data: Uint8Array, whole = false): void {
    if (data.length > (whole ? this.bytesMax : this.bytesMax / 4)) return;
    const ranges = this.files.get(key) ?? [];
    this.files.set(key, ranges);
    ranges.push({ start, data, used: ++this.clock });
    this.bytes += data.length;
    while (this.bytes > this.bytesMax) this.dropOldest();
  }

  private dropOldest(): void {
    let oldest: { key: string; index: number; used: number } | undefined;
    for (const [key, ranges] of this.files) {
      ranges.forEach(({ used }, index) => {
        if (!oldest || used < oldest.used) oldest = { key, index, used };
      });
    }
    if (!oldest) return;
    const ranges = this.files.get(oldest.key) ?? [];
    for (const { data } of ranges.splice(oldest.index, 1)) this.bytes -= data.length;
    if (ranges.length === 0) this.files.delete(oldest.key);
  }
}

/**
 * Requests in flight, shared by all callers with the same id. If a caller aborts, only its wait ends; the request is
 * aborted when its last caller has left. A low request becomes urgent when an urgent caller joins. With `keeps`, results
 * stay for later callers.
 */
export class SingleFlight<T> {
  private readonly requests = new Map<string, { promise: Promise<T>; waiting: number; controller: AbortController; urgency: Urgency }>();

  constructor(private readonly keeps = false) {}

  async join(id: string, signal: AbortSignal | undefined, start: (signal: AbortSignal, urgency: Urgency) => Promise<T>, isLow = false): Promise<T> {
    signal?.throwIfAborted();
    let flight = this.requests.get(id);
    if (!flight) {
      const controller = new AbortController();
      const urgency = new Urgency(isLow);
      const promise = start(controller.signal, urgency);
      const begun = { promise, waiting: 0, controller, urgency };
      const forget = () => this.forget(id, begun);
      promise.then(this.keeps ? undefined : forget, forget);
      this.requests.set(id, (flight = begun));
    }
    const { promise, controller } = flight;
    if (!isLow) flight.urgency.raise();
    flight.waiting += 1;
    try {
      return await (signal ? orAbort(promise, signal) : promise);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0 && signal?.aborted) {
        this.forget(id, flight);
        controller.abort(signal.reason);
      }
    }
  }

  /** Removes a flight, unless another one has replaced it. */
  private forget(id: string, flight: object): void {
    if (this.requests.get(id) === flight) this.requests.delete(id);
  }
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(stop);
  });
}

/** The gap that is cheaper to read than to split into two requests, and the largest merged range, in bytes. The engine merges the ranges of one read by the same limits. */
const GAP_BYTES = 2 ** 15;
const MERGED_BYTES_MAX = 2 ** 22;

type ByteRange = readonly [start: number, end: number];

/** Merges ranges of a file that several reads request in the same turn. */
export class RangeMerger {
  private readonly files = new Map<string, { asked: ByteRange[]; merged?: ByteRange[] }>();

  /** The range to request for the bytes from `start` to `end`. */
  async around(key: string, start: number, end: number): Promise<ByteRange> {
    const file = this.files.get(key) ?? { asked: [] };
    this.files.set(key, file);
    file.asked.push([start, end]);
    await Promise.resolve();
    if (this.files.get(key) === file) this.files.delete(key);
    file.merged ??= merged(file.asked);
    return file.merged.find(([from, to]) => from <= start && end <= to) ?? [start, end];
  }
}

function merged(ranges: readonly ByteRange[]): ByteRange[] {
  const found: ByteRange[] = [];
  for (const [start, end] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = found.at(-1);
    const joined = last && Math.max(last[1], end);
    if (last && joined !== undefined && start <= last[1] + GAP_BYTES && (joined === last[1] || joined - last[0] <= MERGED_BYTES_MAX)) found[found.length - 1] = [last[0], joined];
    else found.push([start, end]);
  }
  return found;
}

/** How urgent a request is. A low one becomes a high one when a caller joins that needs it now. */
export class Urgency {
  /** Called when it is raised. */
  onRaise: (() => void) | undefined;

  constructor(private isLow: boolean) {}

  get low(): boolean {
    return this.isLow;
  }

  raise(): void {
    if (!this.isLow) return;
    this.isLow = false;
    this.onRaise?.();
  }
}

/** The maximum number of concurrent low requests. */
const LOW_MAX = 2;

/** Limits concurrent work to `max`; more work waits in order. Low work waits until there is no other. */
export class Gate {
  private readonly running = { high: 0, low: 0 };
  private readonly waiting: { urgency: Urgency; start: (lane: "high" | "low") => void }[] = [];

  constructor(private readonly max: number) {}

  async pass<T>(urgency: Urgency, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const lane = await new Promise<"high" | "low">((start) => {
      this.waiting.push({ urgency, start });
      urgency.onRaise = () => this.next();
      this.next();
    });
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.running[lane] -= 1;
      this.next();
    }
  }

  /** Starts what may start. */
  private next(): void {
    const { running, waiting } = this;
    while (waiting.length > 0 && running.high + running.low < this.max) {
      const high = waiting.findIndex(({ urgency }) => !urgency.low);
      if (high < 0 && (running.high > 0 || running.low >= LOW_MAX)) return;
      const lane = high < 0 ? "low" : "high";
      running[lane] += 1;
      waiting.splice(Math.max(high, 0), 1)[0]?.start(lane);
    }
  }
}
