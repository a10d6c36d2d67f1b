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

/** Adds the URL and the cause to a TypeError of `fetch`. */
export function unreachable(url: string, error: TypeError): Error {
  if (!url.startsWith("http")) {
    const why = "fetch does not support such URLs; give the bucket's https URL, such as https://<bucket>.s3.amazonaws.com/<path>";
    return new HyperslabError("Unsupported", `${redacted(url)}: ${why}`);
  }
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string };
  const why = message || code;
  return new Error(`${redacted(url)}: ${error.message}${why ? ` (${why})` : ""}`, { cause: error });
}

export function truncated(key: string, start: number, end: number, length: number): HyperslabError {
  return new HyperslabError("Io", `${key}: got ${length} bytes for ${start}..${end}; the file is truncated, or the server compresses it`);
}
