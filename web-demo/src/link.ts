// The hash of the page's URL: what is shown, when, and how. It may come from anyone.

/** The parts of a link. Names are those of the controls; `url` and `at` say what is open. */
export type Link = Readonly<Record<string, string>>;

/** Parses the hash. */
export function readLink(hash = location.hash): Link {
  const link = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(hash.slice(1))) if (value !== "") link[name] = value;
  return link;
}

/** The time of a link, in milliseconds since 1970; `undefined` if it has none, or none that is valid. */
export function timeOf(link: Link): number | undefined {
  const { at = "" } = link;
  return /^\d+$/.test(at) && Number.isSafeInteger(Number(at)) ? Number(at) : undefined;
}

let timer: ReturnType<typeof setTimeout> | undefined;
const REST_MS = 250;

/** Updates the hash once nothing changes any more, without a new entry in the browser's history. */
export function writeLink(link: Link): void {
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", `#${linkText(link)}`), REST_MS);
}

/** The hash of a link, without `#`. */
export function linkText(link: Link): string {
  return String(new URLSearchParams(Object.entries(link).filter(([, value]) => value !== "")));
}
