// The store of files that a web server or a bucket has.
import { check } from "./arguments.js";
import { bucketOf, hasAll, listAddress, readPage, type Bucket, type Page } from "./buckets.js";
import { parseListing } from "./core.js";
import { Deadline, untilAborted } from "./deadline.js";
import { init } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { isHidden, mixed, redacted, truncated, unreachable } from "./http-errors.js";
import { Gate, RangeCache, RangeMerger, SingleFlight, Urgency } from "./ranges.js";
import type { Store, StoreEntry, StoreOptions } from "./store.js";

/** A finished request. */
export interface RequestEvent {
  /** The address, with its query. */
  url: string;
  /** The first and the last requested byte, for a range request. */
  range?: [number, number];
  /** The HTTP status. */
  status: number;
  /** The size of the body in bytes. */
  bytes: number;
  /** The time until the last byte, in milliseconds. */
  ms: number;
}

/** A request to sign. */
export interface RequestToSign {
  /** The method of the request. */
  method: "GET";
  /** The value of its `Range` header. */
  range: string | undefined;
  /** Aborts when nobody waits for the request any more. */
  signal: AbortSignal;
}

/** A URL that replaces the one to sign, or headers to add to the request. */
export type Signature = string | URL | HeadersInit;

/** How an {@link HttpStore} finds files; see {@link HttpOptions.listing}. */
export type Listing = "auto" | "manifest" | "index" | "s3" | "gcs";
const LISTINGS: readonly Listing[] = ["auto", "manifest", "index", "s3", "gcs"];

/** The options of an {@link HttpStore}. */
export interface HttpOptions {
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
  /**
   * Signs a request just before it is sent, listings and repeated requests too: returns the URL to request, or headers to
   * add. It gets the URL of the file or the listing, which errors and `onRequest` show.
   */
  sign?: (url: string, request: RequestToSign) => Signature | Promise<Signature>;
  /** Headers of every request, also for members of groups elsewhere on the same origin. Most headers cause a CORS preflight if the server is of another origin. */
  headers?: Record<string, string>;
  /**
   * How files are found.
   * - `"auto"`: by `__manifest.json`, by the bucket's listing at hosts of S3 and Google Cloud Storage, and by the server's
   *   JSON or HTML listing at others. A listing takes precedence, because other programs do not update the manifest.
   * - `"manifest"`: by the manifest only; nothing is listed.
   * - `"index"`: by the server's listing only.
   * - `"s3"`, `"gcs"`: by the listing of a bucket, whose name is the first part of the path.
   */
  listing?: Listing;
  /** The maximum number of concurrent requests. Default: 16. */
  concurrency?: number;
  /** The size of the cache of responses, in bytes. Default: 32 MiB. */
  cacheBytes?: number;
  /**
   * The time until the first byte of a response, in milliseconds. Default: 60,000. A body must then arrive at 16 KiB per
   * second or more on average.
   */
  timeout?: number;
  /** Treat status 403 as a missing file. S3 returns it for missing files if the bucket may not be listed. */
  treat403AsMissing?: boolean;
  /** Called for every finished request. */
  onRequest?: (event: RequestEvent) => void;
}

/** The maximum size of a whole file that a server sends in response to a range request. */
const WHOLE_BYTES_MAX = 64 * 2 ** 20;
/** The maximum sizes of a file that is read whole, of a listing, and of a manifest. */
const FILE_BYTES_MAX = 256 * 2 ** 20;
const LISTING_BYTES_MAX = 64 * 2 ** 20;
const MANIFEST_BYTES_MAX = 32 * 2 ** 20;
/** The maximum number of pages of a bucket's listing. Each has up to a thousand files. */
const PAGES_MAX = 4096;
const TIMEOUT_MS = 60_000;
const MANIFEST = "__manifest.json";
const TRIES = 4;
/** The bytes to request of a file whose size is not known. The engine reads as many of the metadata of fragments. */
const START_BYTES = 64 * 2 ** 10;
/** The folders of an array that are listed when it is opened. */
const FORMAT_FOLDERS = ["__schema/", "__commits/", "__fragment_meta/", "__meta/"];
/** How to open an array if the server has no listing. */
const INDEX = "run `hyperslab index <array>` and upload its __manifest.json";

/**
 * The files under a URL, read by range requests. Responses are cached, and callers that need the same bytes share a
 * request. {@link open} makes one for a URL; make your own to share its cache between arrays, or to set options.
 *
 * @example
 * ```js
 * import { HttpStore, open } from "hyperslab";
 *
 * const store = new HttpStore("https://example.org/arrays", { concurrency: 8, cacheBytes: 100e6 });
 * const [rain, quakes] = await Promise.all(["rain", "quakes"].map((path) => open(store, { path })));
 * console.log(rain.kind, quakes.kind);
 * ```
 *
 * ```text
 * dense sparse
 * ```
 */
export class HttpStore implements Store {
  /** The absolute URL of the folder. */
  readonly url: string;
  /** How files are found. */
  readonly listing: Listing;
  private readonly bucket: Bucket | undefined;
  private readonly cache: RangeCache;
  private readonly requests = new SingleFlight<Part | undefined>();
  private readonly merger = new RangeMerger();
  /** The last listing of everything below a folder, and the folders whose listings it has answered. */
  private deepList: { base: string; answered: Set<string>; page: SingleFlight<Page>; folders: SingleFlight<StoreEntry[]> } | undefined;
  /** Sizes of files, from the last deep listing. Files of arrays never change. */
  private sizes: ReadonlyMap<string, number> = new Map();
  private readonly gate: Gate;
  /** Whether the server sends whole files. All readers of a file then share one request. */
  private ignoresRanges = false;

  /** A URL may be relative to the page. Nothing is requested yet. */
  constructor(url: string | URL, private readonly options: HttpOptions = {}) {
    check<HttpOptions>({ options }, { fetch: 1, sign: 1, headers: 1, listing: 1, concurrency: 1, cacheBytes: 1, timeout: 1, treat403AsMissing: 1, onRequest: 1 });
    this.url = absolute(url).href;
    this.listing = options.listing ?? "auto";
    if (!LISTINGS.includes(this.listing)) throw new HyperslabError("InvalidArgument", `the option 'listing' must be ${LISTINGS.join(", ")}, not ${JSON.stringify(this.listing)}`);
    atLeast("concurrency", options.concurrency, 1);
    atLeast("cacheBytes", options.cacheBytes, 0);
    atLeast("timeout", options.timeout, 1);
    this.bucket = bucketOf(new URL(this.url), this.listing === "s3" || this.listing === "gcs" ? this.listing : undefined);
    this.cache = new RangeCache(options.cacheBytes ?? 32 * 2 ** 20);
    this.gate = new Gate(options.concurrency ?? 16);
  }

  /** The bytes of a file. `undefined` if it does not exist. */
  async get(key: string, { signal }: StoreOptions = {}): Promise<Uint8Array | undefined> {
    const file = await this.requests.join(`${key} *`, signal, async (signal) => {
      const isManifest = key === MANIFEST;
      const ask = { bytesMax: isManifest ? MANIFEST_BYTES_MAX : FILE_BYTES_MAX, absentIfRefused: isManifest };
      const answer = await this.request(this.address(key), ask, signal);
      return answer && { start: 0, data: answer.body };
    });
    return file?.data;
  }

  /** `length` bytes from `offset`. */
  async getRange(key: string, range: { offset: number; length: number }, { signal, priority }: StoreOptions = {}): Promise<Uint8Array | undefined> {
    const [start, end] = [range.offset, range.offset + range.length];
    if (start === end) return new Uint8Array();
    const held = this.cache.get(key, start, end);
    if (held) return held;
    const low = priority === "low";
    // A high read does not fetch what a low one wants next to it.
    const [first, last] = await this.merger.around(low ? `${key} low` : key, start, end);
    const id = this.ignoresRanges ? `${key} whole` : `${key} ${first}-${last}`;
    const part = await this.requests.join(id, signal, async (signal, urgency) => {
      const answer = await this.request(this.address(key), { range: [first, last - 1], bytesMax: last - first, urgency }, signal);
      if (!answer) return undefined;
      this.ignoresRanges = answer.status !== 206;
      const part = { start: this.ignoresRanges ? 0 : first, data: answer.body };
      this.cache.put(key, part.start, part.data, this.ignoresRanges);
      return part;
    }, low);
    if (!part) return undefined;
    const [skipped, length] = [start - part.start, end - start];
    if (skipped >= 0 && skipped + length <= part.data.length) return part.data.subarray(skipped, skipped + length);
    // This joined a request for another range, from when the server seemed to ignore ranges.
    if (!this.ignoresRanges && id.endsWith(" whole")) return this.getRange(key, range, { signal, priority });
    throw truncated(key, start, end, Math.max(part.data.length - skipped, 0));
  }

  /**
   * The size of a file in bytes. Requests the start of the file, which is all of most files whose size is not known, and
   * caches it. HEAD fails for signed URLs and is wrong for compressed files.
   */
  async getSize(key: string, { signal }: StoreOptions = {}): Promise<number | undefined> {
    const known = this.sizes.get(key);
    if (known !== undefined) return known;
    const answer = await this.request(this.address(key), { range: [0, START_BYTES - 1], bytesMax: START_BYTES }, signal ?? new AbortController().signal);
    if (!answer) return undefined;
    const { status, body } = answer;
    this.cache.put(key, 0, body, status !== 206);
    if (status !== 206 || body.length < START_BYTES) return body.length;
    const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1];
    // CORS may hide the header. The size is then known only from the file.
    return total === undefined ? (await this.get(key, { signal }))?.length : Number(total);
  }

  /** The files and folders directly in a folder. Fails with the code `NotFound` if the host has no listing. */
  async list(prefix: string, { signal }: StoreOptions = {}): Promise<StoreEntry[]> {
    if (this.listing === "manifest") throw this.unlisted("it has no __manifest.json");
    if (this.bucket) return this.listBucket(this.bucket, prefix, signal ?? new AbortController().signal);
    await init();
    const ask = { accept: "application/json, text/html;q=0.5", bytesMax: LISTING_BYTES_MAX, isList: true };
    const request = this.request(this.address(prefix), ask, signal ?? new AbortController().signal);
    const answer = await request.catch((error: unknown) => {
      // Keeps the code: a server that refuses may still have the array.
      throw error instanceof HyperslabError ? new HyperslabError(error.code, `${error.message}; if the server has no listing, ${INDEX}`) : error;
    });
    if (!answer) {
      // A folder without files does not exist. If the root does not exist, the server has no listing.
      if (prefix !== "") return [];
      throw this.unlisted("it has no __manifest.json and no listing");
    }
    const list = parseListing(answer.headers.get("Content-Type") ?? "", new TextDecoder().decode(answer.body));
    if (list === undefined) throw this.unlisted("it has no __manifest.json, and the response is not a listing");
    const children = JSON.parse(list) as { name: string; dir: boolean; size?: number | null }[];
    return children.map(({ name, dir, size }) => ({ key: prefix + name, dir, size: size ?? undefined }));
  }

  /**
   * Lists a folder of a bucket. The engine lists the folder of an array, and then the format's folders in it, whose names
   * start with `__`. One listing of everything below answers all of them, if it fits in a page.
   */
  private async listBucket(bucket: Bucket, folder: string, signal: AbortSignal): Promise<StoreEntry[]> {
    const base = /^((?:.*\/)?)__[^/]+\/$/.exec(folder)?.[1];
    if (base === undefined) this.deepList = { base: folder, answered: new Set(), page: new SingleFlight(true), folders: new SingleFlight(true) };
    const deep = this.deepList;
    // A second listing of the same folder requests it again.
    if (deep?.base !== (base ?? folder) || deep.answered.has(folder)) return this.listPages(bucket, folder, signal);
    deep.answered.add(folder);
    const page = await deep.page.join("", signal, async (signal) => this.deepPage(bucket, deep.base, signal));
    if (hasAll(page, folder)) return page.entries;
    const rest = async (folder: string, signal?: AbortSignal) => deep.folders.join(folder, signal, async (signal) => this.listPages(bucket, folder, signal));
    if (base === undefined && page.entries.some(({ key }) => key.startsWith(`${folder}__`))) {
      // The engine lists these next.
      for (const name of FORMAT_FOLDERS) if (!hasAll(page, folder + name)) rest(folder + name).catch(() => {});
    }
    return rest(folder, signal);
  }

  /** The direct children of a folder. */
  private async listPages(bucket: Bucket, folder: string, signal: AbortSignal): Promise<StoreEntry[]> {
    const entries: StoreEntry[] = [];
    let next: string | undefined;
    let pages = 0;
    do {
      if (++pages > PAGES_MAX) throw new HyperslabError("LimitExceeded", `${redacted(bucket.address)}: the listing of ${folder || "the bucket"} has more than ${PAGES_MAX} pages; ${INDEX}`);
      const page = await this.listPage(bucket, listAddress(bucket, folder, { next }), signal);
      entries.push(...page.entries);
      next = page.next;
    } while (next);
    return entries;
  }

  /** The first page of the listing of everything below `folder`. It has the sizes of files, which then need no requests. */
  private async deepPage(bucket: Bucket, folder: string, signal: AbortSignal): Promise<Page> {
    const page = await this.listPage(bucket, listAddress(bucket, folder, { deep: true }), signal);
    this.sizes = new Map(page.entries.flatMap(({ key, size }) => (size === undefined ? [] : [[key, size]])));
    return page;
  }

  private async listPage(bucket: Bucket, address: string, signal: AbortSignal): Promise<Page> {
    const answer = await this.request(address, { bytesMax: LISTING_BYTES_MAX, isList: true }, signal).catch((error: unknown) => {
      throw error instanceof HyperslabError && error.code === "Unsupported" ? this.unlisted(`it has no __manifest.json, and ${error.message}`) : error;
    });
    const page = answer && readPage(bucket, new TextDecoder().decode(answer.body));
    if (!page) throw this.unlisted("it has no __manifest.json, and the bucket did not return a listing");
    return page;
  }

  /** The store at another URL. It has the options of this one only if it is of the same origin, which may see its headers. @internal */
  at(url: string): HttpStore {
    return new HttpStore(url, absolute(url).origin === new URL(this.url).origin ? this.options : {});
  }

  /** The store of the folder `name` next to this one, with the same options. `undefined` for the root of a server or bucket. */
  beside(name: string): HttpStore | undefined {
    const url = new URL(this.url);
    const [, folder] = /^(.*\/)[^/]+\/?$/.exec(url.pathname) ?? [];
    if (folder === undefined || this.bucket?.prefix === "") return undefined;
    url.pathname = folder + encodeURIComponent(name);
    return new HttpStore(url, this.options);
  }

  /** The URL without secrets. @internal */
  get shownUrl(): string {
    return redacted(this.url);
  }

  private unlisted(why: string): HyperslabError {
    return new HyperslabError("NotFound", `no array found at ${this.shownUrl}: ${why}; if there is one, ${INDEX}`);
  }

  private address(key: string): string {
    const url = new URL(this.url);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${key.split("/").map(encodeURIComponent).join("/")}`;
    return url.href;
  }

  private async request(url: string, ask: Ask, signal: AbortSignal): Promise<Answer | undefined> {
    for (let tried = 1, busy = false; ; tried += 1) {
      try {
        return await this.gate.pass(ask.urgency ?? new Urgency(false), signal, () => this.once(url, ask, signal));
      } catch (error) {
        if (signal.aborted || error instanceof HyperslabError) throw error;
        const reached = !(error instanceof TypeError);
        const forbidden = reached ? undefined : mixed(url, error);
        if (forbidden) throw forbidden;
        // The first failure may be a passing one.
        if (!reached && tried === 2 && (await isHidden(url, signal))) throw this.hidden(url, error, ask);
        if (tried === TRIES || (!reached && !url.startsWith("http"))) throw reached ? error : unreachable(url, error);
        // A busy server needs time. Other failures are reported within a second.
        busy = error instanceof Busy;
      }
      await new Promise((resolve) => setTimeout(resolve, busy ? 50 * 4 ** tried : 50 * 2 ** tried));
    }
  }

  private hidden(url: string, error: TypeError, { isList }: Ask): HyperslabError {
    // A range needs no permission. Headers that the caller adds do.
    const { headers = {}, sign } = this.options;
    const added = [...Object.keys(headers), ...(sign ? ["<headers that `sign` adds>"] : [])].join(", ");
    const allowed = added && `, and "Access-Control-Allow-Headers: ${added}"`;
    const needed = `"Access-Control-Allow-Origin: ${globalThis.location.origin}" with every response, including 404${allowed}`;
    return new HyperslabError(isList ? "Unsupported" : "Io", `${redacted(url)}: the server responds, but the browser blocks the response (${error.message}). The likely cause is CORS: the server must send ${needed}`, { cause: error });
  }

  private async once(url: string, ask: Ask, signal: AbortSignal): Promise<Answer | undefined> {
    const deadline = new Deadline(this.options.timeout ?? TIMEOUT_MS, signal);
    try {
      return await this.answer(url, ask, deadline);
    } catch (error) {
      if (signal.aborted || !deadline.signal.aborted) throw error;
      throw new HyperslabError("Io", `${redacted(url)}: ${deadline.why()}; try again, or check the server's log`);
    } finally {
      deadline.end();
    }
  }

  private async signed(url: string, headers: Headers, signal: AbortSignal): Promise<Signature | undefined> {
    try {
      const { sign } = this.options;
      return sign && (await untilAborted(sign(url, { method: "GET", range: headers.get("Range") ?? undefined, signal }), signal));
    } catch (error) {
      // No TypeError, which would mean that the server cannot be reached.
      throw signal.aborted ? error : new Error(`${redacted(url)}: the option 'sign' failed (${(error as Error)?.message ?? error})`, { cause: error });
    }
  }

  private async answer(url: string, { range, accept, isList, bytesMax, absentIfRefused }: Ask, deadline: Deadline): Promise<Answer | undefined> {
    const { fetch = globalThis.fetch, onRequest, treat403AsMissing } = this.options;
    const { signal } = deadline;
    const headers = new Headers(this.options.headers);
    if (range) headers.set("Range", `bytes=${range[0]}-${range[1]}`);
    if (accept) headers.set("Accept", accept);
    const signature = await this.signed(url, headers, signal);
    const isUrl = typeof signature === "string" || signature instanceof URL;
    if (!isUrl) new Headers(signature).forEach((value, name) => headers.set(name, value));
    const started = performance.now();
    // The browser's cache delays concurrent requests for one file and may be stale. This store has its own cache.
    const response = await fetch(new Request(isUrl ? signature : url, { headers, signal, cache: "no-store" }));
    const report = (bytes: number) =>
      onRequest?.({ url, ...(range ? { range } : {}), status: response.status, bytes, ms: performance.now() - started });
    const refused = response.status === 403 || response.status === 401;
    if (response.status === 404 || response.status === 410 || (response.status === 403 && treat403AsMissing) || (refused && absentIfRefused)) {
      report(0);
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      report(0);
      await response.body?.cancel();
      // `getSize` requests the first byte, which an empty file does not have.
      if (response.status === 416 && range?.[0] === 0) return { status: 200, headers: response.headers, body: new Uint8Array() };
      const error = `${redacted(url)}: the server returned ${response.status} ${response.statusText}`;
      if (response.status >= 500 || response.status === 429) throw new Busy(error);
      const cause = refused && !isList ? ": the file is private or missing; some servers do not say which. Allow everyone to read it, or give the option `sign`" : "";
      throw new HyperslabError(isList ? "Unsupported" : "Io", error + cause);
    }
    const isPart = range !== undefined && response.status === 206;
    const most = isPart || !range ? bytesMax : WHOLE_BYTES_MAX;
    const wrong = (range && wrongRange(range, response)) ?? (Number(response.headers.get("Content-Length")) > most ? tooLong(most) : undefined);
    if (wrong) {
      await response.body?.cancel();
      throw new HyperslabError("Io", `${redacted(url)}: ${wrong}`);
    }
    const body = await readBody(response, most, deadline).catch((error: Error) => {
      throw new Error(`${redacted(url)}: the response was cut off (${error.message}); try again, or check the server's log`, { cause: error });
    });
    if (!body) throw new HyperslabError("Io", `${redacted(url)}: ${tooLong(most)}`);
    report(body.length);
    // Many sites respond to missing files with a web page and status 200.
    const isPage = () => /^\s*<(!doctype )?html/i.test(new TextDecoder().decode(body.subarray(0, 99)));
    if (!accept && response.headers.get("Content-Type")?.includes("html") && isPage()) return undefined;
    return { status: response.status, headers: response.headers, body };
  }
}

/** The server cannot answer now. */
class Busy extends Error {}

/** A request, and the maximum size of its response. */
interface Ask {
  /** The first and the last byte. */
  range?: [number, number];
  accept?: string;
  bytesMax: number;
  /** Whether it asks for a list of files. A refusal means that the host has none. */
  isList?: boolean;
  /** Whether statuses 401 and 403 mean that there is no such file. */
  absentIfRefused?: boolean;
  /** Default: high. */
  urgency?: Urgency;
}

/** Refuses an option that is no number, or too small. */
/** A URL, which may be relative to the page. @internal */
export function absolute(url: string | URL): URL {
  try {
    return new URL(url, globalThis.location?.href);
  } catch (error) {
    throw new HyperslabError("InvalidArgument", `${String(url)} is not a URL; give one such as https://example.org/array`, { cause: error });
  }
}

function atLeast(name: string, given: unknown, least: number): void {
  if (given === undefined || (typeof given === "number" && given >= least)) return;
  throw new HyperslabError("InvalidArgument", `the option '${name}' must be a number of at least ${least}, not ${String(given)}`);
}

/** Reads the decompressed body. `undefined` if it is longer than `most`. */
async function readBody(response: Response, most: number, deadline: Deadline): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    deadline.came(value.length);
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

/** Why a response is not the requested range, judged by its headers, some of which CORS may hide. */
function wrongRange([first, last]: [number, number], { status, headers }: Response): string | undefined {
  const serve = "use a server with byte ranges, such as `hyperslab serve`";
  if (status !== 206) {
    const whole = Number(headers.get("Content-Length")) > WHOLE_BYTES_MAX;
    return whole ? `the server ignores ranges and would send the whole file; ${serve}` : undefined;
  }
  const coding = headers.get("Content-Encoding");
  if (coding && coding !== "identity") return `the server sends ranges of a compressed file (${coding}); turn compression off for this folder`;
  const contentRange = /^bytes (\d+)-(\d+)\/(\d+|\*)/.exec(headers.get("Content-Range") ?? "");
  if (!contentRange) return undefined;
  const [from, to, size] = contentRange.slice(1).map(Number) as [number, number, number];
  if (from !== first) return `the server sends bytes ${from}-${to} instead of ${first}-${last}; ${serve}`;
  // A range may reach past the end of the file.
  if (to >= last || size <= last) return undefined;
  return `the server sends only bytes ${from}-${to} of ${first}-${last}; a proxy may cut ranges short; ${serve}`;
}

function tooLong(most: number): string {
  return `the server sends more than ${most} bytes, the limit for this request; check the URL and the server`;
}

/** A part of a file, from the byte `start`. */
interface Part { start: number; data: Uint8Array }

interface Answer { status: number; headers: Headers; body: Uint8Array }
