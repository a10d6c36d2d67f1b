// The hash of the page's URL: what is shown, when, and how. It may come from anyone.
import { signal } from "@preact/signals";

/** The parts of a link. They have the names of the controls. `url` and `at` give the open place and its time. */
export type Link = Readonly<Record<string, string>>;

/** Parses a hash, by default the hash of the page. Unit tests have no page. */
export function readLink(hash = globalThis.location?.hash ?? ""): Link {
  const link = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(hash.slice(1))) if (value !== "") link[name] = value;
  return link;
}

/** The time of a link, in milliseconds since 1970; `undefined` if it has none, or none that is valid. */
export function timeOf(link: Link): number | undefined {
  const { at = "" } = link;
  return /^\d+$/.test(at) && Number.isSafeInteger(Number(at)) ? Number(at) : undefined;
}

/** The two numbers of a range in a link, such as `0,255`. `undefined` if it is not valid. */
export function rangeOf(text = ""): readonly [number, number] | undefined {
  const [lo = NaN, hi = NaN, ...rest] = text.split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
  return rest.length === 0 && Number.isFinite(lo) && Number.isFinite(hi) && lo <= hi ? [lo, hi] : undefined;
}

/** A range as part of a link. Empty if it has no numbers. */
export function rangeText([lo, hi]: readonly [number, number] | readonly [] = []): string {
  return Number.isFinite(lo) && Number.isFinite(hi) ? `${lo},${hi}` : "";
}

/** The part of a link of a page that is embedded in another: only the picture and its legend are shown. */
const EMBED = "embed";

/** Whether the page is embedded in another. */
export const isEmbedded = signal(EMBED in readLink());

/** Changes when the link does. */
export const written = signal(0);

/** The hash of the page's link that shows the same in an embedded page. */
export function embeddedHash(): string {
  return `#${linkText({ ...readLink(), [EMBED]: "1" })}`;
}

/** The hash of an embedded page that shows the same in a whole one. */
export function wholeHash(): string {
  return `#${linkText({ ...readLink(), [EMBED]: "" })}`;
}

let timer: ReturnType<typeof setTimeout> | undefined;
let waiting: (() => void) | undefined;
const REST_MS = 250;

/** Updates the hash once nothing changes any more, without a new entry in the browser's history. */
export function writeLink(link: Link): void {
  const from = readLink()["url"];
  const write = () => {
    waiting = undefined;
    // The user may have gone back or forward meanwhile.
    if (readLink()["url"] !== from) return;
    history.replaceState(history.state, "", `#${linkText(kept(link))}`);
    written.value += 1;
  };
  clearTimeout(timer);
  waiting = write;
  timer = setTimeout(write, REST_MS);
}

/** Adds an entry to the browser's history. The entry before it keeps what was last written. */
export function pushLink(link: Link, state: unknown = null): void {
  clearTimeout(timer);
  waiting?.();
  history.pushState(state, "", `#${linkText(kept(link))}`);
  written.value += 1;
}

/** An embedded page stays one. */
function kept(link: Link): Link {
  return isEmbedded.peek() ? { ...link, [EMBED]: "1" } : link;
}

/** The hash of a link, without `#`. */
export function linkText(link: Link): string {
  return String(new URLSearchParams(Object.entries(link).filter(([, value]) => value !== "")));
}
