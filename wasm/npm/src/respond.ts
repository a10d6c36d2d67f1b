// Answers requests for the files of mounts, in a service worker or in a server.
import { check } from "./arguments.js";
import { HyperslabError } from "./errors.js";
import type { Mount } from "./mount.js";

/** The options of {@link respond}. */
export interface RespondOptions {
  /** The path below which the mounts are. Default: `"/mnt/"`. */
  prefix?: string;
}

const TYPES: Record<string, string> = {
  json: "application/json", md: "text/markdown; charset=utf-8", txt: "text/plain; charset=utf-8", csv: "text/csv; charset=utf-8",
  png: "image/png", arrow: "application/vnd.apache.arrow.file", geojson: "application/geo+json",
};

/**
 * Answers a request for a file of one of the `mounts`, which are below the prefix by their names:
 * `/mnt/elevation/slices/elevation@0:10,0:10.npy`. Knows GET, HEAD and byte ranges. A folder is a list as nginx sends it.
 * `undefined` if the request is for something else.
 *
 * In a service worker: `addEventListener("fetch", (event) => { … })`, where `event.respondWith` gets this answer or
 * `fetch(event.request)`.
 */
export async function respond(request: Request, mounts: Readonly<Record<string, Mount>>, options: RespondOptions = {}): Promise<Response | undefined> {
  check<RespondOptions>({ request, mounts, options }, { prefix: 1 });
  const { prefix = "/mnt/" } = options;
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith(prefix)) return undefined;
  const [name = "", ...rest] = decodeURIComponent(pathname.slice(prefix.length)).split("/");
  if (request.method !== "GET" && request.method !== "HEAD") return text(405, `${request.method} is not supported; use GET or HEAD`, { Allow: "GET, HEAD" });
  const mount = Object.hasOwn(mounts, name) ? mounts[name] : undefined;
  if (!mount) return text(404, `there is no mount '${name}'; the mounts are ${Object.keys(mounts).join(", ")}`);
  check({ mount });
  try {
    return await answer(request, mount, rest.filter(Boolean).join("/"));
  } catch (error) {
    if (!(error instanceof HyperslabError)) throw error;
    const missing = error.code === "NotFound" || error.code === "InvalidArgument";
    return text(missing ? 404 : error.code === "LimitExceeded" ? 413 : 500, error.message);
  }
}

async function answer(request: Request, mount: Mount, path: string): Promise<Response> {
  const { signal } = request;
  const found = await mount.look(path, { signal });
  if (!found) return text(404, `there is no file '${path}'`);
  const isHead = request.method === "HEAD";
  if (found.dir) {
    const list = (await mount.readDir(path, { signal })).map(({ name, dir }) => ({ name, type: dir ? "directory" : "file" }));
    return new Response(isHead ? null : JSON.stringify(list), { headers: { "Content-Type": "application/json" } });
  }
  const { size } = found;
  const headers = { "Content-Type": TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream", "Accept-Ranges": "bytes" };
  const asked = request.headers.get("Range");
  const range = asked ? rangeOf(asked, size) : undefined;
  if (range === null) return text(416, `the file has ${size} bytes`, { "Content-Range": `bytes */${size}` });
  const [start, end] = range ?? [0, size];
  const body = isHead ? null : await mount.readFile(path, { start, end, signal });
  const more: Record<string, string> = range ? { "Content-Range": `bytes ${start}-${end - 1}/${size}` } : {};
  return new Response(body as BodyInit | null, { status: range ? 206 : 200, headers: { ...headers, ...more, "Content-Length": String(end - start) } });
}

/** The first byte and the end of a range. `undefined` for several ranges, which servers may ignore; `null` if it is outside of the file. */
function rangeOf(asked: string, size: number): [number, number] | undefined | null {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(asked) ?? [];
  if (first === "" && last === "") return undefined;
  const start = first === "" ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  return start < end ? [start, end] : null;
}

function text(status: number, message: string, headers: Record<string, string> = {}): Response {
  return new Response(message, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } });
}
