// Errors of requests, whose messages say what to do.
import { HyperslabError } from "./errors.js";

/** The URL without secrets: user names, passwords and the query. */
export function redacted(url: string): string {
  return url.replace(/^([a-z0-9+.-]+:\/\/)[^/?#]*@/i, "$1***@").replace(/\?[^#]+/, "?***");
}

/** Whether the server of another origin responds, but CORS blocks the response. `fetch` throws the same error if the server is down. */
export async function isHidden(url: string, signal: AbortSignal): Promise<boolean> {
  const page = globalThis.location?.origin;
  if (page === undefined || !url.startsWith("http") || new URL(url).origin === page) return false;
  return fetch(url, { method: "HEAD", mode: "no-cors", cache: "no-store", signal }).then(() => true, () => false);
}

/** Refuses a request that browsers block before it is sent: an http URL in a page that came over https. */
export function mixed(url: string, error: TypeError): HyperslabError | undefined {
  const { protocol } = globalThis.location ?? {};
  // Browsers trust their own machine, all but Safari.
  if (protocol !== "https:" || !url.startsWith("http:") || isLoopback(new URL(url).hostname)) return undefined;
  const why = "a page that came over https cannot read over http; use the server's https address, or open the page over http, such as by `hyperslab view <URL>`";
  return new HyperslabError("Io", `${redacted(url)}: the browser blocks the request (${error.message}): ${why}`, { cause: error });
}

/** Adds the URL, the cause and what to do to a TypeError of `fetch`. */
export function unreachable(url: string, error: TypeError): Error {
  if (!url.startsWith("http")) {
    const why = "fetch does not support such URLs; give the bucket's https URL, such as https://<bucket>.s3.amazonaws.com/<path>";
    return new HyperslabError("Unsupported", `${redacted(url)}: ${why}`);
  }
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string };
  const why = message || code;
  const failed = `${redacted(url)}: ${error.message}${why ? ` (${why})` : ""}`;
  return new Error(`${failed}: ${advice(new URL(url).hostname)}`, { cause: error });
}

/** What to do if no response came. */
function advice(host: string): string {
  const page = globalThis.location?.hostname;
  if (page !== undefined && isPrivate(host) && !isPrivate(page)) {
    return `the page came from the internet, and ${host} is in a private network, which browsers guard; allow this page to access the local network, or run \`hyperslab view <array>\` there`;
  }
  const blocked = page === undefined ? "" : ", and that no extension of the browser and no Content-Security-Policy blocks it";
  return `no server responds; check the address and that the server runs${blocked}`;
}

/** Whether a host is the browser's own machine. */
function isLoopback(host: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);
}

/** Whether a host is the own machine or in a private network (RFC 1918, 3927, 4193 and 4291). */
function isPrivate(host: string): boolean {
  return isLoopback(host) || /^(.*\.local|10(\.\d+){3}|192\.168(\.\d+){2}|169\.254(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[(f[cd]|fe[89ab])[\da-f:]*\])$/.test(host);
}

export function truncated(key: string, start: number, end: number, length: number): HyperslabError {
  return new HyperslabError("Io", `${key}: got ${length} bytes for ${start}..${end}; the file is truncated, or the server compresses it`);
}
