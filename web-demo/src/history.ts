// The browser's history: what was open before is an entry of its own, so that Back and Forward return to it.
import { effect } from "@preact/signals";
import { compared } from "./compare";
import { isEmbedded, pushLink, readLink, writeLink, type Link } from "./link";
import { addressOf, type Place } from "./opened";
import { failure, follow, show, shown } from "./session";

/** Data of this device, which has no link. A reload of the page forgets it. */
const local: { place: Place; link: Link }[] = [];

/** This load of the page. Entries of earlier loads have other data of this device under the same index. */
const load = crypto.randomUUID();

/** The address that was shown last, or the index of data of this device. */
let last: string | number | undefined;

/** Keeps the entries of the history and the page's link up to date, and follows them. */
export function keepHistory(): void {
  effect(() => {
    const model = shown.value?.model;
    if (!model) return;
    const { place, at } = model.opened;
    const times = Object.entries({ at, with: compared.value });
    const time: Link = Object.fromEntries(times.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
    const link: Link = { ...time, ...model.link() };
    const key = place.store ? keepLocal(place, link) : addressOf(place);
    const [isFirst, isOther] = [last === undefined, last !== key];
    last = key;
    // The page's first picture takes the entry that the browser made.
    if (isOther && current() !== key && !(isFirst && current() === undefined)) pushEntry(key, time);
    // Until everything has been read, a link would lack parts of it. The user may have gone back meanwhile.
    if (typeof key === "string" && (model.linking ?? model.busy).value === 0 && (current() === key || current() === undefined)) writeLink({ url: key, ...link });
  });
  onpopstate = () => {
    const key = current();
    const entry = typeof key === "number" ? local[key] : undefined;
    if (entry) void show(entry.place, entry.link);
    else if (isLost()) failure.value = "A reload of this page forgot the folder that was open here. Open it again, or go on to another entry.";
  };
  onhashchange = () => {
    isEmbedded.value = "embed" in readLink();
    if (typeof current() !== "number") void follow();
  };
}

function pushEntry(key: string | number, time: Link): void {
  if (typeof key === "number") pushLink({}, { local: key, load });
  else pushLink({ url: key, ...time });
}

/** The address or the index of the current entry. `undefined` if it has neither. */
function current(): string | number | undefined {
  const { local: entry, load: of } = state();
  return typeof entry === "number" && of === load ? entry : readLink()["url"];
}

/** Whether the current entry shows data of this device that a reload has forgotten. */
function isLost(): boolean {
  const { local: entry, load: of } = state();
  return typeof entry === "number" && of !== load;
}

function state(): { local?: unknown; load?: unknown } {
  return (history.state as { local?: unknown; load?: unknown } | null) ?? {};
}

/** The index of data of this device, whose link is kept. */
function keepLocal(place: Place, link: Link): number {
  const known = local.find((entry) => entry.place.store === place.store && entry.place.path === place.path);
  if (known) known.link = link;
  return known ? local.indexOf(known) : local.push({ place, link }) - 1;
}
