// The comparison of the shown moment with another: which cells are read, and how they differ.
import { batch, computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { TileArray } from "hyperslab";
import type { Camera } from "../../camera";
import { compared } from "../../compare";
import { openArray, openPlace, type Opened } from "../../opened";
import { common, readBox, sizeOf, type Box, type Look } from "../cells";
import type { Loaded } from "../model";
import { meaningOf, type Meaning } from "../values";
import { countsOf, differencesOf, type Differences, type Side } from "./cells";
import { boxesOf, boxOf, differing } from "./region";

/** The most cells that are compared at once. */
export const COMPARED_MAX = 4_000_000;
/** The longest side of a part that is read and drawn at once. */
const SIDE_MAX = 1024;
/** How long the view must rest before cells are read. */
const REST_MS = 200;

/** The state of the picture. */
interface Shown {
  readonly opened: Opened;
  readonly loaded: ReadonlySignal<Loaded | undefined>;
  readonly at: ReadonlySignal<Readonly<Record<string, number>>>;
  readonly camera: Camera;
}

/** The variable at another moment. */
interface Other { readonly loaded: Loaded; readonly time: number; readonly array: TileArray; readonly meaning: Meaning }

/** Cells to read. */
interface Wanted { readonly boxes: readonly Box[]; readonly isWhole: boolean; readonly cells: number }

export class Comparison {
  /** The other moment, once the variable was opened there. */
  private readonly other = signal<Other | undefined>(undefined);
  readonly differences = signal<readonly Differences[] | undefined>(undefined);
  readonly counts = computed(() => this.differences.value && countsOf(this.differences.value));
  readonly isReading = signal(false);
  readonly failure = signal<string | undefined>(undefined);
  /** The earlier and the later moment. `undefined`: nothing is compared. */
  readonly times = computed((): readonly [number, number | undefined] | undefined => {
    const [time, now] = [compared.value, this.shown.opened.at];
    if (time === undefined) return undefined;
    return now !== undefined && time > now ? [now, time] : [time, now];
  });
  /** The cells to compare: all that may differ, or those in view if there are too many. */
  readonly wanted = computed((): Wanted | undefined => {
    const [loaded, other] = [this.loaded, this.other.value];
    if (!loaded || other?.loaded !== loaded) return undefined;
    const boxes = this.boxes(loaded, other);
    const total = (list: readonly Box[]) => list.reduce((sum, box) => sum + sizeOf(box), 0);
    if (total(boxes) <= COMPARED_MAX) return { boxes, isWhole: true, cells: total(boxes) };
    const view = this.view(loaded);
    const seen = boxes.flatMap((box) => (view && common(box, view)) || []);
    return { boxes: seen, isWhole: false, cells: total(seen) };
  });
  private running = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Identify what was read last. */
  private last = "";
  private lastAt: unknown;
  private readonly unwatch: readonly (() => void)[];

  constructor(private readonly shown: Shown) {
    this.unwatch = [effect(() => this.follow()), effect(() => this.compare())];
  }

  /** Whether the other moment is the later one. */
  get isLater(): boolean {
    return (compared.value ?? -Infinity) > (this.shown.opened.at ?? Infinity);
  }

  /** Whether there are too many cells to compare. */
  get isTooMuch(): boolean {
    return (this.wanted.value?.cells ?? 0) > COMPARED_MAX;
  }

  /** Whether a cell is in no fragment that differs between both moments. */
  isUnchanged(column: number, row: number): boolean {
    const cell = { c0: column, c1: column, r0: row, r1: row };
    return this.wanted.value !== undefined && !this.wanted.value.boxes.some((box) => common(box, cell));
  }

  stop(): void {
    for (const end of this.unwatch) end();
    clearTimeout(this.timer);
    this.running.abort();
  }

  /** The data of the shown moment; `undefined` while the data of the moment before is still shown. */
  private get loaded(): Loaded | undefined {
    const loaded = this.shown.loaded.value;
    return loaded?.opened === this.shown.opened ? loaded : undefined;
  }

  /** Opens the variable at the other moment. */
  private follow(): void {
    const [loaded, time] = [this.loaded, compared.value];
    clearTimeout(this.timer);
    this.running.abort();
    batch(() => {
      this.failure.value = this.other.value = this.differences.value = undefined;
      this.last = "";
      this.isReading.value = loaded !== undefined && time !== undefined;
    });
    if (!loaded || time === undefined) return;
    const isStale = () => this.shown.loaded.peek() !== loaded || compared.peek() !== time;
    void openOther(this.shown.opened, loaded, time).then(
      (other) => { if (!isStale()) this.other.value = other; },
      (error: unknown) => { if (!isStale()) this.fail(error); },
    );
  }

  /** Reads the cells of both moments once the view rests. */
  private compare(): void {
    const [wanted, other, at] = [this.wanted.value, this.other.value, this.shown.at.value];
    if (!wanted || !other) return;
    const name = JSON.stringify([wanted.boxes, at]);
    if (name === this.last) return;
    this.last = name;
    // Cells at other positions are others. Those of another view stay until the new ones have come.
    if (at !== this.lastAt) this.differences.value = undefined;
    this.lastAt = at;
    clearTimeout(this.timer);
    this.running.abort();
    if (wanted.cells > COMPARED_MAX) {
      batch(() => {
        this.differences.value = undefined;
        this.isReading.value = false;
      });
      return;
    }
    this.isReading.value = true;
    this.timer = setTimeout(() => void this.read(wanted, other, at), REST_MS);
  }

  private async read({ boxes }: Wanted, other: Other, at: Readonly<Record<string, number>>): Promise<void> {
    const { signal } = (this.running = new AbortController());
    const { loaded } = other;
    const array = loaded.levels[0]?.array;
    if (!array) return;
    const { isLater } = this;
    const found: Differences[] = [];
    try {
      for (const box of boxes.flatMap(squares)) {
        const [now, then] = await Promise.all([readSide(array, loaded.meaning, loaded, box, at, signal), readSide(other.array, other.meaning, loaded, box, at, signal)]);
        signal.throwIfAborted();
        found.push(isLater ? differencesOf(box, now, then) : differencesOf(box, then, now));
      }
      if (this.other.peek() !== other) return;
      batch(() => {
        this.differences.value = found;
        this.failure.value = undefined;
      });
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    } finally {
      if (!signal.aborted) this.isReading.value = false;
    }
  }

  /** Where cells may differ. If the attribute or its meaning has changed, that is anywhere. */
  private boxes(loaded: Loaded, { array, meaning, time }: Other): Box[] {
    const now = loaded.levels[0]?.array;
    const at = this.shown.at.value;
    if (!now) return [];
    const whole = { c0: 0, c1: loaded.x.length - 1, r0: 0, r1: (loaded.y?.length ?? 1) - 1 };
    const stored = ({ schema, dims }: TileArray) => textOf([schema.attributes.find(({ name }) => name === loaded.variable.attribute), dims]);
    const meant = ({ missing, valid, scale, offset, label }: Meaning) => textOf([missing, valid, scale, offset, label !== undefined]);
    if (stored(now) !== stored(array) || meant(loaded.meaning) !== meant(meaning) || meaning.label) return [whole];
    const shownAt = this.shown.opened.at ?? Infinity;
    return boxesOf(differing(array.fragments(), now.fragments(), Math.min(time, shownAt), Math.max(time, shownAt)), now, loaded, at);
  }

  /** The cells in view. */
  private view({ x, y, placement: { aspect } }: Loaded): Box | undefined {
    const { visible } = this.shown.camera;
    const [columns, rows] = [visible.value.x, visible.value.y.map((edge) => edge / aspect) as [number, number]];
    const whole = { c0: 0, c1: x.length - 1, r0: 0, r1: (y?.length ?? 1) - 1 };
    return common(whole, { c0: Math.floor(columns[0]), c1: Math.ceil(columns[1]) - 1, r0: Math.floor(rows[0]), r1: Math.ceil(rows[1]) - 1 });
  }

  private fail(error: unknown): void {
    batch(() => {
      this.failure.value = error instanceof Error ? error.message : String(error);
      this.isReading.value = false;
    });
  }
}

async function openOther(opened: Opened, loaded: Loaded, time: number): Promise<Other> {
  const then = await openPlace(opened.place, time);
  const variable = then.dataset.variables?.find(({ name, path }) => name === loaded.variable.name && path === loaded.variable.path);
  if (!variable) throw new Error(`${loaded.variable.name || "The variable"} did not exist at that moment. Compare with another one.`);
  const array = await openArray(then, variable.path);
  return { loaded, time, array, meaning: await meaningOf(variable, array) };
}

/** The cells of a box at a moment. Those outside the array's domain of then are null. */
async function readSide(array: TileArray, meaning: Meaning, loaded: Loaded, box: Box, at: Readonly<Record<string, number>>, signal: AbortSignal): Promise<Side> {
  const domain = array.dims.map(({ domain }) => domain ?? ["", ""] as const);
  const inside = boxOf(domain, array, loaded, at);
  const part = inside && common(box, inside);
  if (!part) return { meaning, look: () => null };
  const read = await readBox(array, loaded, part, at, signal);
  const look: Look = (column, row) => (column < part.c0 || column > part.c1 || row < part.r0 || row > part.r1 ? null : read(column, row));
  return { meaning, look };
}

/** The parts of a box whose sides are short enough for a texture. */
function squares({ c0, c1, r0, r1 }: Box): Box[] {
  const starts = (from: number, to: number) => Array.from({ length: Math.ceil((to - from + 1) / SIDE_MAX) }, (_, i) => from + i * SIDE_MAX);
  return starts(r0, r1).flatMap((row) => starts(c0, c1).map((column) => ({ c0: column, c1: Math.min(c1, column + SIDE_MAX - 1), r0: row, r1: Math.min(r1, row + SIDE_MAX - 1) })));
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
}
