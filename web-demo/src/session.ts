// The state of the page: opens places, and travels in time.
import { batch, computed, signal } from "@preact/signals";
import type { Listed } from "./catalog";
import { compared } from "./compare";
import type { Kind, Model } from "./kind";
import { kindOf } from "./kinds";
import { readLink, timeOf, type Link } from "./link";
import { arrayOf, openArray, openPlace, placeOfAddress, type Opened, type Place } from "./opened";

/** The open array or group, and the kind that draws it. */
export interface Shown { kind: Kind; model: Model }

export const catalog = signal<readonly Listed[]>([]);
export const shown = signal<Shown | undefined>(undefined);
/** The times of writes, oldest first. */
export const moments = signal<readonly number[]>([]);
/** The moment that is shown or being opened, as an index into `moments`. */
export const moment = signal(0);
export const opening = signal(false);
/** Why the last request of the user failed. The picture from before stays. */
export const failure = signal<string | undefined>(undefined);
/** The number of writes that are running. */
export const changing = signal(0);
/** The number of reads and writes that are running. */
export const busy = computed(() => Number(opening.value) + changing.value + (shown.value?.model.busy.value ?? 0));
export const playing = signal(false);

/** The number of the latest request to show something. Answers to older ones are dropped. */
let latest = 0;
const PLAY_MS = 700;
/** How long a moment may take to be drawn before the next one is shown, and how often this is checked. */
const DRAWN_MAX_MS = 20_000;
const POLL_MS = 50;

/** Opens a place and shows it, as a link says. */
export async function show(place: Place, link: Link = {}): Promise<void> {
  playing.value = false;
  const at = timeOf(link);
  const opened = await request(async () => {
    const opened = await openPlace(place, at);
    return { opened, kind: await kindOf(opened), times: await timesOf(at === undefined ? opened : await openPlace(place)) };
  });
  if (!opened) return;
  batch(() => {
    moments.value = opened.times;
    moment.value = momentOf(at);
    compared.value = opened.kind.compares ? timeOf({ at: link["with"] ?? "" }) : undefined;
    use(opened.kind, opened.opened, link, undefined);
  });
}

/** Shows what is open as of the moment with this index. */
export async function travel(index: number): Promise<void> {
  const now = shown.peek();
  if (!now) return;
  const { place } = now.model.opened;
  const last = index === moments.peek().length - 1;
  const at = last ? undefined : moments.peek()[index];
  moment.value = index;
  const found = await request(async () => {
    const opened = await openPlace(place, at);
    // There may be new writes since the times were listed.
    return { opened, kind: await kindOf(opened), times: last ? await timesOf(opened) : moments.peek() };
  });
  batch(() => {
    if (found) {
      moments.value = found.times;
      use(found.kind, found.opened, now.model.link(), now.model);
    }
    moment.value = momentOf(shown.peek()?.model.opened.at);
  });
}

/** Shows the newest moment of a place after a write, unless another place has been opened meanwhile. */
export async function travelToLast(place: Place): Promise<void> {
  if (shown.peek()?.model.opened.place !== place) return;
  // The failure of a later change still needs to be read.
  const before = failure.peek();
  await travel(Math.max(0, moments.peek().length - 1));
  failure.value ??= before;
}

/** Shows one moment after the other, each once the one before it is drawn, until the last or until `playing` is set to false. */
export async function play(): Promise<void> {
  playing.value = true;
  for (let i = 0; i < moments.peek().length && playing.peek(); i++) {
    await travel(i);
    await rest(PLAY_MS);
    for (let waited = 0; busy.peek() > 0 && playing.peek() && waited < DRAWN_MAX_MS; waited += POLL_MS) await rest(POLL_MS);
  }
  playing.value = false;
}

async function rest(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms));
}

/** Runs a request of the user. Returns `undefined` if it failed or if another request came later. */
async function request<T>(run: () => Promise<T>): Promise<T | undefined> {
  const turn = ++latest;
  batch(() => { opening.value = true; failure.value = undefined; });
  try {
    const found = await run();
    return turn === latest ? found : undefined;
  } catch (error) {
    if (turn === latest) batch(() => { playing.value = false; failure.value = messageOf(error); });
    return undefined;
  } finally {
    if (turn === latest) opening.value = false;
  }
}

/** Shows something that was opened. */
function use(kind: Kind, opened: Opened, link: Link, before: Model | undefined): void {
  const old = shown.peek()?.model;
  shown.value = { kind, model: kind.model(opened, link, before) };
  old?.stop();
}

function momentOf(at: number | undefined): number {
  const times = moments.peek();
  return at === undefined ? Math.max(0, times.length - 1) : Math.max(0, times.findLastIndex((time) => time <= at));
}

/** How many arrays of a group are asked for their times. */
const TIMED_MAX = 8;

/** The times of writes of an array, or of the first arrays of a group. */
async function timesOf(opened: Opened): Promise<number[]> {
  const array = arrayOf(opened);
  if (array) return array.times();
  const { variables = [], tables = [] } = opened.dataset;
  const paths = [...new Set([...variables, ...tables].map(({ path }) => path))].slice(0, TIMED_MAX);
  const times = await Promise.all(paths.map(async (path) => (await openArray(opened, path).catch(() => undefined))?.times() ?? []));
  return [...new Set(times.flat())].sort((a, b) => a - b);
}

/** Shows what the page's link says, or else the first array of the catalog. */
export async function follow(link = readLink()): Promise<void> {
  const { url } = link;
  const listed = url === undefined ? catalog.peek()[0] : catalog.peek().find((entry) => entry.url === url);
  if (listed) return showListed(listed, link);
  if (url !== undefined) return show(placeOfAddress(url), link);
}

/** Shows an entry of the catalog. The link takes precedence over the catalog. */
export async function showListed({ url, map, attribute }: Listed, link: Link = {}): Promise<void> {
  return show({ url, path: "" }, { ...(map ? { map } : {}), ...(attribute ? { attr: attribute } : {}), ...link });
}

/** Whether anything was asked for since the page was loaded. */
export function isIdle(): boolean {
  return latest === 0;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
