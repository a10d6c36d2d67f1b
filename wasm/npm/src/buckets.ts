// Builds list requests for S3 and Google Cloud Storage, and parses the responses.
import type { StoreEntry } from "./store.js";

/** A folder of a bucket. */
export interface Bucket {
  kind: "s3" | "gcs";
  /** The URL of list requests. */
  address: string;
  /** The prefix of the keys of the folder's files: empty, or a path that ends with `/`. */
  prefix: string;
}

/** One page of a listing, and the token of the next page. */
export interface Page { entries: StoreEntry[]; next: string | undefined }

/** Whether the first page of a deep listing, which is sorted, has every file of a folder. */
export function hasAll({ entries, next }: Page, folder: string): boolean {
  const last = entries.at(-1)?.key;
  return next === undefined || (folder !== "" && last !== undefined && last > folder && !last.startsWith(folder));
}

const S3_HOST = /^(?:(.+)\.)?s3[.-](?:[a-z0-9-]+\.)*amazonaws\.com(?:\.cn)?$/;
const GCS_HOST = /^(?:(.+)\.)?storage\.googleapis\.com$/;

/**
 * The bucket and folder of a URL. The host name gives the kind and perhaps the bucket. For other hosts, `kind` gives
 * the kind. If the host does not name the bucket, the first part of the path does; the rest is the prefix.
 */
export function bucketOf(url: URL, kind?: Bucket["kind"]): Bucket | undefined {
  const [s3, gcs] = [S3_HOST.exec(url.hostname), GCS_HOST.exec(url.hostname)];
  const found = kind ?? (s3 ? "s3" : gcs ? "gcs" : undefined);
  if (!found) return undefined;
  const parts = url.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const inHost = (found === "s3" ? s3 : gcs)?.[1];
  const bucket = inHost ?? parts.shift();
  if (!bucket) return undefined;
  const prefix = parts.map((part) => `${part}/`).join("");
  if (found === "s3") return { kind: found, prefix, address: `${url.origin}/${inHost ? "" : encodeURIComponent(bucket)}` };
  const origin = gcs ? "https://storage.googleapis.com" : url.origin;
  return { kind: found, prefix, address: `${origin}/storage/v1/b/${encodeURIComponent(bucket)}/o` };
}

/**
 * The URL that lists the direct children of `folder` in the bucket's prefix, from the page `next`. With `deep`, it lists
 * every file below.
 */
export function listAddress({ kind, address, prefix }: Bucket, folder: string, { next, deep }: { next?: string | undefined; deep?: boolean }): string {
  const url = new URL(address);
  const ask = { prefix: prefix + folder, ...(deep ? {} : { delimiter: "/" }) };
  const more = kind === "s3"
    ? { "list-type": "2", "encoding-type": "url", ...(next ? { "continuation-token": next } : {}) }
    : { fields: "prefixes,items(name,size),nextPageToken", ...(next ? { pageToken: next } : {}) };
  for (const [name, value] of Object.entries({ ...ask, ...more })) url.searchParams.set(name, value);
  return url.href;
}

/** Parses a response. Keys are relative to the bucket's prefix. `undefined` if it is not a listing. */
export function readPage(bucket: Bucket, text: string): Page | undefined {
  const below = (key: string) => key.slice(bucket.prefix.length);
  const file = (key: string, size: string | undefined): StoreEntry => ({ key: below(key), size: size === undefined ? undefined : Number(size) });
  const dir = (key: string): StoreEntry => ({ key: below(key).replace(/\/$/, ""), dir: true });
  // A key that ends with a slash is the marker of a folder, which some tools create.
  const isFile = ({ key }: StoreEntry) => key !== "" && !key.endsWith("/");
  if (bucket.kind === "gcs") {
    const list = json(text);
    if (!list) return undefined;
    const files = (list.items ?? []).map(({ name, size }) => file(name, size)).filter(isFile);
    return { entries: [...files, ...(list.prefixes ?? []).map(dir)], next: list.nextPageToken };
  }
  if (!text.includes("<ListBucketResult")) return undefined;
  // Some servers ignore `encoding-type`; their responses have no `EncodingType`.
  const encoded = text.includes("<EncodingType>url</EncodingType>");
  const key = (found: string) => (encoded ? decodeURIComponent(unescaped(found).replaceAll("+", "%20")) : unescaped(found));
  const files = elements(text, "Contents").map((e) => file(key(elements(e, "Key")[0] ?? ""), elements(e, "Size")[0])).filter(isFile);
  const folders = elements(text, "CommonPrefixes").map((e) => dir(key(elements(e, "Prefix")[0] ?? "")));
  const next = elements(text, "NextContinuationToken")[0];
  return { entries: [...files, ...folders], next: next && unescaped(next) };
}

/** The contents of elements that are not nested in themselves. Workers and Node have no XML parser. */
function elements(xml: string, name: string): string[] {
  return Array.from(xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, "g")), (match) => match[1] ?? "");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&apos;", "'").replaceAll("&amp;", "&");
}

function json(text: string): { items?: { name: string; size?: string }[]; prefixes?: string[]; nextPageToken?: string } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
