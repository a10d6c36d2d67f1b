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
   * Google Cloud Storage, else the server's list in JSON or HTML. `"manifest"`: only the manifest.
   * `"index"`: only a list. `"s3"`, `"gcs"`: the list of a bucket whose name is the first part of the path.
   */
  listing?: Listing;
  /** Requests at a time. */
  concurrency?: number;
  /** Bytes of answers kept. */
  cacheBytes?: number;
  /** S3 answers 403 for absent files to those who may not list. */
  treat403AsMissing?: boolean;
  /** Told of every request that came back. */
  onRequest?: (event: RequestEvent) => void;
}

/** How much of a file a server may send that was asked for a part of it. */
const WHOLE_BYTES_MAX = 64 * 2 ** 20;
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
      const answer = await this.request(this.address(key), undefined, signal);
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
      const answer = await this.request(this.address(key), [start, end - 1], signal);
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
    const answer = await this.request(this.address(key), [0, 0], signal ?? new AbortController().signal);
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
    const accept = "application/json, text/html;q=0.5";
    const asked = this.request(this.address(prefix), undefined, signal ?? new AbortController().signal, accept);
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
    do {
      const answer = await this.request(listAddress(bucket, folder, next), undefined, signal).catch((error: unknown) => {
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
    return new HyperslabError("NotFound", `no array can be found at ${this.url}: ${why}; if there is one, ${INDEX}`);
  }

  private address(key: string): string {
    const url = new URL(this.url);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${key.split("/").map(encodeURIComponent).join("/")}`;
    return url.href;
  }

  private async request(url: string, range: [number, number] | undefined, signal: AbortSignal, accept?: string): Promise<Answer | undefined> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.gate.pass(signal, () => this.once(url, range, signal, accept));
      } catch (error) {
        if (signal.aborted || error instanceof HyperslabError) throw error;
        const reached = !(error instanceof TypeError);
        if (!reached && tried === 1 && (await isHidden(url, signal))) throw this.hidden(url, error);
        if (tried === TRIES || (!reached && !url.startsWith("http"))) throw reached ? error : unreached(url, error);
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 4 ** tried));
    }
  }

  private hidden(url: string, error: TypeError): HyperslabError {
    const headers = ["Range", ...Object.keys(this.options.headers ?? {})].join(", ");
    const leave = `"Access-Control-Allow-Origin: ${globalThis.location.origin}" with every answer, 404 too, and "Access-Control-Allow-Headers: ${headers}"`;
    return new HyperslabError("Io", `${url}: the server answers, but the browser keeps the answer from this page (${error.message}). The likely cause is CORS: let the server send ${leave}`, { cause: error });
  }

  private async once(url: string, range: [number, number] | undefined, signal: AbortSignal, accept?: string): Promise<Answer | undefined> {
    const { fetch = globalThis.fetch, onRequest, treat403AsMissing } = this.options;
    const headers = new Headers(this.options.headers);
    if (range) headers.set("Range", `bytes=${range[0]}-${range[1]}`);
    if (accept) headers.set("Accept", accept);
    const started = performance.now();
    // The browser's own cache makes requests for one file wait for each other, and caches badly what
    // changes; ours is at hand.
    const response = await fetch(new Request(url, { headers, signal, cache: "no-store" }));
    const tell = (bytes: number) =>
      onRequest?.({ url, ...(range ? { range } : {}), status: response.status, bytes, ms: performance.now() - started });
    if (response.status === 404 || response.status === 410 || (response.status === 403 && treat403AsMissing)) {
      tell(0);
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      tell(0);
      await response.body?.cancel();
      // The last byte of an empty file was asked for.
      if (response.status === 416 && range?.[1] === 0) return { status: 200, headers: response.headers, body: new Uint8Array() };
      const error = `${url}: the server answers ${response.status} ${response.statusText}`;
      if (response.status >= 500 || response.status === 429) throw new Error(error);
      throw new HyperslabError("Io", error);
    }
    // Behind CORS it may not be told where they begin.
    const from = /^bytes (\d+)-/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? range?.[0];
    const whole = response.status === 200 && Number(response.headers.get("Content-Length")) > WHOLE_BYTES_MAX;
    if (range && (whole || Number(from) !== range[0])) {
      await response.body?.cancel();
      throw new HyperslabError("Io", `${url}: the server answers with other bytes than were asked for; serve it with ranges, for instance by \`hyperslab serve\``);
    }
    const body = new Uint8Array(await response.arrayBuffer());
    tell(body.length);
    // Many sites answer with a web page, as if all were well, for files that they do not have.
    const isPage = () => /^\s*<(!doctype )?html/i.test(new TextDecoder().decode(body.subarray(0, 99)));
    if (!accept && response.headers.get("Content-Type")?.includes("html") && isPage()) return undefined;
    return { status: response.status, headers: response.headers, body };
  }
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
    return new HyperslabError("Unsupported", `${url}: ${why}`);
  }
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string };
  const why = message || code;
  return new Error(`${url}: ${error.message}${why ? ` (${why})` : ""}`, { cause: error });
}

function short(key: string, start: number, end: number, length: number): HyperslabError {
  return new HyperslabError("Io", `${key}: ${length} bytes came for ${start}..${end}; the file is truncated, or the server compresses it`);
}
