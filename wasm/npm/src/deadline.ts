// Ends requests that take too long.

/** The minimum average speed of a body, in bytes per millisecond. */
const BYTES_PER_MS_MIN = 16.384;

/** Aborts a request if `outer` does, if its response does not start in time, or if its body is too slow. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly begun = performance.now();
  private bytes = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly give = () => this.controller.abort(this.outer.reason);

  constructor(private readonly timeout: number, private readonly outer: AbortSignal) {
    outer.addEventListener("abort", this.give, { once: true });
    if (outer.aborted) this.give();
    this.wait();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Counts bytes of the body that have arrived. */
  came(bytes: number): void {
    this.bytes += bytes;
    this.wait();
  }

  why(): string {
    return this.bytes === 0
      ? `no response within ${this.timeout} ms`
      : `the response was too slow: ${this.bytes} bytes so far; at least ${BYTES_PER_MS_MIN} bytes per millisecond are required after ${this.timeout} ms`;
  }

  end(): void {
    clearTimeout(this.timer);
    this.outer.removeEventListener("abort", this.give);
  }

  private wait(): void {
    clearTimeout(this.timer);
    const left = this.begun + this.timeout + this.bytes / BYTES_PER_MS_MIN - performance.now();
    this.timer = setTimeout(() => this.controller.abort(new DOMException("too slow", "TimeoutError")), Math.max(left, 0));
  }
}

/** The result of `work`, unless `signal` is aborted first. */
export async function untilAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
  });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
