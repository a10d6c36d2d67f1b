import { bucketOf, listAddress, readPage, type Bucket, type Page } from "./buckets.js";
import { parseListing } from "./core.js";
import { init } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { Flights, Gate, RangeCache } from "./ranges.js";
import type { Store, StoreEntry, StoreOptions } from "./store.js";

/** A request that has come back. */
export interface RequestEvent {
  url: string;
  /** First and last byte asked for, where it was a part of a file. */
  range?: [number, number];
  status: number;
  /** Bytes of the body. */
  bytes: number;
  /** Milliseconds from the start to the last byte. */
  ms: number;
}

export type Listing = "auto" | "manifest" | "index" | "s3" | "gcs";

export interface HttpOptions {
  /** Used in place of the global `fetch`: for credentials, signatures, tests. */
  fetch?: (request: Request) => Promise<Response>;
  /** Sent with every request. Anything but the simplest headers costs a preflight across origins. */
  headers?: Record<string, string>;
  /**
   * Where names come from. `"auto"`: `__manifest.json`, else the bucket's list at hosts of S3 and of
   * Google Cloud Storage, else the server's list in JSON or HTML. A list counts more than a manifest, which other
   * programs do not renew. `"manifest"`: only the manifest, and no list is asked for.
   * `"index"`: only a list. `"s3"`, `"gcs"`: the list of a bucket whose name is the first part of the path.
   */
  listing?: Listing;
  /** Requests at a time. */
  concurrency?: number;
  /** Bytes of answers kept. */
  cacheBytes?: number;
  /**
   * Milliseconds until an answer begins, 60,000 unless given. After that a body must bring 16 KiB a second on average.
   */
  timeout?: number;
  /** S3 answers 403 for absent files to those who may not list. */
  treat403AsMissing?: boolean;
  /** Told of every request that came back. */
  onRequest?: (event: RequestEvent) => void;
}

/** How much of a file a server may send that was asked for a part of it. */
const WHOLE_BYTES_MAX = 64 * 2 ** 20;
/** Bytes of a file that is read as a whole, of a list of files, and of a manifest. */
const FILE_BYTES_MAX = 256 * 2 ** 20;
const LISTING_BYTES_MAX = 64 * 2 ** 20;
const MANIFEST_BYTES_MAX = 32 * 2 ** 20;
/** Answers that one list of a bucket may take: each names a thousand files. */
const PAGES_MAX = 4096;
const TIMEOUT_MS = 60_000;
/** Bytes a millisecond that a body must bring on average. */
const BYTES_PER_MS_MIN = 16.384;
const MANIFEST = "__manifest.json";
const TRIES = 4;
/** What opens an array whose host does not list. */
const INDEX = "run `hyperslab index <array>` and upload its __manifest.json";

/** The files below a URL, read by ranges. */
export class HttpStore implements Store {
  readonly url: string;
  readonly listing: Listing;
  private readonly bucket: Bucket | undefined;
  private readonly cache: RangeCache;
  private readonly flights = new Flights<Part | undefined>();
  private readonly gate: Gate;
  /** Then a whole file comes, which serves everyone who wants parts of it. */
  private ignoresRanges = false;

  constructor(url: string | URL, private readonly options: HttpOptions = {}) {
    this.url = new URL(url, globalThis.location?.href).href;
    this.listing = options.listing ?? "auto";
    this.bucket = bucketOf(new URL(this.url), this.listing === "s3" || this.listing === "gcs" ? this.listing : undefined);
    this.cache = new RangeCache(options.cacheBytes ?? 32 * 2 ** 20);
    this.gate = new Gate(options.concurrency ?? 16);
  }

  async get(key: string, { signal }: StoreOptions = {}): Promise<Uint8Array | undefined> {
    const file = await this.flights.join(`${key} *`, signal, async (signal) => {
      const isManifest = key === MANIFEST;
      const ask = { bytesMax: isManifest ? MANIFEST_BYTES_MAX : FILE_BYTES_MAX, absentIfRefused: isManifest };
      const answer = await this.request(this.address(key), ask, signal);
      return answer && { start: 0, data: answer.body };
    });
    return file?.data;
  }

  async getRange(key: string, range: { offset: number; length: number }, { signal }: StoreOptions = {}): Promise<Uint8Array | undefined> {
    const [start, end] = [range.offset, range.offset + range.length];
    if (start === end) return new Uint8Array();
    const held = this.cache.get(key, start, end);
    if (held) return held;
    const id = this.ignoresRanges ? `${key} whole` : `${key} ${start}-${end}`;
    const part = await this.flights.join(id, signal, async (signal) => {
      const answer = await this.request(this.address(key), { range: [start, end - 1], bytesMax: end - start }, signal);
      if (!answer) return undefined;
      this.ignoresRanges = answer.status !== 206;
      const part = { start: this.ignoresRanges ? 0 : start, data: answer.body };
      this.cache.put(key, part.start, part.data, this.ignoresRanges);
      return part;
    });
    if (!part) return undefined;
    const [skipped, length] = [start - part.start, end - start];
    if (skipped >= 0 && skipped + length <= part.data.length) return part.data.subarray(skipped, skipped + length);
    // What was waited for was another's part, from a server that ignored ranges before.
    if (!this.ignoresRanges && id.endsWith(" whole")) return this.getRange(key, range, { signal });
    throw short(key, start, end, Math.max(part.data.length - skipped, 0));
  }

  /** From the header of a request for one byte: HEAD is refused by signed URLs and lies about compressed files. */
  async getSize(key: string, { signal }: StoreOptions = {}): Promise<number | undefined> {
    const answer = await this.request(this.address(key), { range: [0, 0], bytesMax: 1 }, signal ?? new AbortController().signal);
    if (!answer) return undefined;
    if (answer.status === 200) return answer.body.length;
    const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1];
    // Servers of other origins may hide the header; then the file itself has to tell.
    return total === undefined ? (await this.get(key, { signal }))?.length : Number(total);
  }

  async list(prefix: string, { signal }: StoreOptions = {}): Promise<StoreEntry[]> {
    if (this.listing === "manifest") throw this.unlisted("it has no __manifest.json");
    if (this.bucket) return this.listBucket(this.bucket, prefix, signal ?? new AbortController().signal);
    await init();
    const ask = { accept: "application/json, text/html;q=0.5", bytesMax: LISTING_BYTES_MAX };
    const asked = this.request(this.address(prefix), ask, signal ?? new AbortController().signal);
    const answer = await asked.catch((error: unknown) => {
      // A host that refuses is no host where nothing is: the code stays.
      throw error instanceof HyperslabError ? new HyperslabError(error.code, `${error.message}; if it lists no folders, ${INDEX}`) : error;
    });
    if (!answer) {
      // Folders without files do not exist; but a root that does not exist is a host without lists.
      if (prefix !== "") return [];
      throw this.unlisted("it has no __manifest.json and no list of files");
    }
    const list = parseListing(answer.headers.get("Content-Type") ?? "", new TextDecoder().decode(answer.body));
    if (list === undefined) throw this.unlisted("it has no __manifest.json, and its answer is no list of files");
    const children = JSON.parse(list) as { name: string; dir: boolean; size?: number | null }[];
    return children.map(({ name, dir, size }) => ({ key: prefix + name, dir, size: size ?? undefined }));
  }

  private async listBucket(bucket: Bucket, folder: string, signal: AbortSignal): Promise<StoreEntry[]> {
    const entries: StoreEntry[] = [];
    let next: string | undefined;
    let pages = 0;
    do {
      if (++pages > PAGES_MAX) throw new HyperslabError("LimitExceeded", `${shown(bucket.address)}: the list of ${folder || "the bucket"} takes more than ${PAGES_MAX} answers; ${INDEX}`);
      const answer = await this.request(listAddress(bucket, folder, next), { bytesMax: LISTING_BYTES_MAX }, signal).catch((error: unknown) => {
        throw error instanceof HyperslabError ? this.unlisted(`it has no __manifest.json, and ${error.message}`) : error;
      });
      const page: Page | undefined = answer && readPage(bucket, new TextDecoder().decode(answer.body));
      if (!page) throw this.unlisted("it has no __manifest.json, and its bucket gives no list of files");
      entries.push(...page.entries);
      next = page.next;
    } while (next);
    return entries;
  }

  private unlisted(why: string): HyperslabError {
    return new HyperslabError("NotFound", `no array can be found at ${shown(this.url)}: ${why}; if there is one, ${INDEX}`);
  }

  private address(key: string): string {
    const url = new URL(this.url);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${key.split("/").map(encodeURIComponent).join("/")}`;
    return url.href;
  }

  private async request(url: string, ask: Ask, signal: AbortSignal): Promise<Answer | undefined> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.gate.pass(signal, () => this.once(url, ask, signal));
      } catch (error) {
        if (signal.aborted || error instanceof HyperslabError) throw error;
        const reached = !(error instanceof TypeError);
        // What only failed to arrive is there the second time.
        if (!reached && tried === 2 && (await isHidden(url, signal))) throw this.hidden(url, error);
        if (tried === TRIES || (!reached && !url.startsWith("http"))) throw reached ? error : unreached(url, error);
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 4 ** tried));
    }
  }

  private hidden(url: string, error: TypeError): HyperslabError {
    const headers = ["Range", ...Object.keys(this.options.headers ?? {})].join(", ");
    const leave = `"Access-Control-Allow-Origin: ${globalThis.location.origin}" with every answer, 404 too, and "Access-Control-Allow-Headers: ${headers}"`;
    return new HyperslabError("Io", `${shown(url)}: the server answers, but the browser keeps the answer from this page (${error.message}). The likely cause is CORS: let the server send ${leave}`, { cause: error });
  }

  private async once(url: string, ask: Ask, signal: AbortSignal): Promise<Answer | undefined> {
    const patience = new Patience(this.options.timeout ?? TIMEOUT_MS, signal);
    try {
      return await this.answer(url, ask, patience);
    } catch (error) {
      if (signal.aborted || !patience.signal.aborted) throw error;
      throw new HyperslabError("Io", `${shown(url)}: ${patience.why()}; try again, or look at the server's log`);
    } finally {
      patience.end();
    }
  }

  private async answer(url: string, { range, accept, bytesMax, absentIfRefused }: Ask, patience: Patience): Promise<Answer | undefined> {
    const { fetch = globalThis.fetch, onRequest, treat403AsMissing } = this.options;
    const { signal } = patience;
    const headers = new Headers(this.options.headers);
    if (range) headers.set("Range", `bytes=${range[0]}-${range[1]}`);
    if (accept) headers.set("Accept", accept);
    const started = performance.now();
    // The browser's own cache makes requests for one file wait for each other, and caches badly what
    // changes; ours is at hand.
    const response = await fetch(new Request(url, { headers, signal, cache: "no-store" }));
    const tell = (bytes: number) =>
      onRequest?.({ url, ...(range ? { range } : {}), status: response.status, bytes, ms: performance.now() - started });
    const refused = response.status === 403 || response.status === 401;
    if (response.status === 404 || response.status === 410 || (response.status === 403 && treat403AsMissing) || (refused && absentIfRefused)) {
      tell(0);
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      tell(0);
      await response.body?.cancel();
      // The last byte of an empty file was asked for.
      if (response.status === 416 && range?.[1] === 0) return { status: 200, headers: response.headers, body: new Uint8Array() };
      const error = `${shown(url)}: the server answers ${response.status} ${response.statusText}`;
      if (response.status >= 500 || response.status === 429) throw new Error(error);
      const cause = refused && !accept ? ": the file is not public, or it is missing, which some hosts do not tell apart" : "";
      throw new HyperslabError("Io", error + cause);
    }
    const isPart = range !== undefined && response.status === 206;
    const most = isPart || !range ? bytesMax : WHOLE_BYTES_MAX;
    const wrong = (range && wrongRange(range, response)) ?? (Number(response.headers.get("Content-Length")) > most ? tooLong(most) : undefined);
    if (wrong) {
      await response.body?.cancel();
      throw new HyperslabError("Io", `${shown(url)}: ${wrong}`);
    }
    const body = await received(response, most, patience).catch((error: Error) => {
      throw new Error(`${shown(url)}: the answer broke off (${error.message}); try again, or look at the server's log`, { cause: error });
    });
    if (!body) throw new HyperslabError("Io", `${shown(url)}: ${tooLong(most)}`);
    tell(body.length);
    // Many sites answer with a web page, as if all were well, for files that they do not have.
    const isPage = () => /^\s*<(!doctype )?html/i.test(new TextDecoder().decode(body.subarray(0, 99)));
    if (!accept && response.headers.get("Content-Type")?.includes("html") && isPage()) return undefined;
    return { status: response.status, headers: response.headers, body };
  }
}

/** What is asked for, and how long the body of the answer may be. */
interface Ask {
  /** The first byte and the last. */
  range?: [number, number];
  accept?: string;
  bytesMax: number;
  /** Whether a refusal counts as an answer that there is no such file. */
  absentIfRefused?: boolean;
}

/** Aborts a request whose answer does not begin, or whose body does not come fast enough; or for `outer`. */
class Patience {
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

  /** Of the body, so many more bytes have come. */
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

/** The body as it is after decompression, or nothing if it is longer than `most`. */
async function received(response: Response, most: number, patience: Patience): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    patience.came(value.length);
    length += value.length;
    if (length > most) {
      await reader.cancel();
      return undefined;
    }
    parts.push(value);
  }
  if (parts.length === 1) return parts[0];
  const body = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  return body;
}

/** Why an answer cannot be the bytes that were asked for, as far as its headers say: behind CORS these may be hidden. */
function wrongRange([first, last]: [number, number], { status, headers }: Response): string | undefined {
  const serve = "serve it with ranges, for instance by `hyperslab serve`";
  if (status !== 206) {
    const whole = Number(headers.get("Content-Length")) > WHOLE_BYTES_MAX;
    return whole ? `the server ignores ranges and would send the whole file; ${serve}` : undefined;
  }
  const coding = headers.get("Content-Encoding");
  if (coding && coding !== "identity") return `the server sends parts of a compressed file (${coding}); turn compression off for this folder`;
  const told = /^bytes (\d+)-(\d+)\/(\d+|\*)/.exec(headers.get("Content-Range") ?? "");
  if (!told) return undefined;
  const [from, to, size] = told.slice(1).map(Number) as [number, number, number];
  if (from !== first) return `the server answers with other bytes than were asked for, ${from}-${to} instead of ${first}-${last}; ${serve}`;
  // What lies past the end of the file is not there to be sent.
  if (to >= last || size <= last) return undefined;
  return `the server sends bytes ${from}-${to} of the ${first}-${last} that were asked for; something in between may cut ranges short; ${serve}`;
}

function tooLong(most: number): string {
  return `the server sends more than ${most} bytes, the most that was asked for or that such a file has; check the address, and what is served there`;
}

/** A URL without its secrets: names and passwords before the host, and its query. */
function shown(url: string): string {
  return url.replace(/^([a-z0-9+.-]+:\/\/)[^/?#]*@/i, "$1***@").replace(/\?[^#]+/, "?***");
}

/** Bytes of a file, from its byte `start` on. */
interface Part { start: number; data: Uint8Array }

interface Answer { status: number; headers: Headers; body: Uint8Array }

/** Whether another origin answers a page that may not see the answer. `fetch` fails alike if it does not answer at all. */
async function isHidden(url: string, signal: AbortSignal): Promise<boolean> {
  const page = globalThis.location?.origin;
  if (page === undefined || !url.startsWith("http") || new URL(url).origin === page) return false;
  return fetch(url, { method: "HEAD", mode: "no-cors", cache: "no-store", signal }).then(() => true, () => false);
}

/** The TypeError of `fetch` does not say where it failed, and why only in its cause. */
function unreached(url: string, error: TypeError): Error {
  if (!url.startsWith("http")) {
    const why = "fetch knows no addresses of this kind; give the https address of the bucket, such as https://<bucket>.s3.amazonaws.com/<path>";
    return new HyperslabError("Unsupported", `${shown(url)}: ${why}`);
  }
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string };
  const why = message || code;
  return new Error(`${shown(url)}: ${error.message}${why ? ` (${why})` : ""}`, { cause: error });
}

function short(key: string, start: number, end: number, length: number): HyperslabError {
  return new HyperslabError("Io", `${key}: ${length} bytes came for ${start}..${end}; the file is truncated, or the server compresses it`);
}
