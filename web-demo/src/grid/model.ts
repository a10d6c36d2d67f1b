// The state of a picture of a dense variable: what is drawn, where, and in which colours.
import { batch, computed, signal, type Signal } from "@preact/signals";
import { levels, type Axis, type Crs, type PyramidLevel, type TileArray, type Variable } from "hyperslab";
import type { DrawnView, ViewValues } from "hyperslab/deck";
import { Camera, type World } from "../camera";
import type { Model } from "../kind";
import { rangeOf, rangeText, type Link } from "../link";
import { absoluteOf, openArray, placeAt, type Opened } from "../opened";
import { changing, failure, messageOf, travelToLast } from "../session";
import type { GridQuery, Span } from "../takeaway";
import { labelled, type LabelledAxis } from "./axes";
import { drawable } from "./accepts";
import { channelLink, channelsOf, linkedChannels, type DrawnChannel } from "./channels";
import { isColormap } from "../colors";
import { compared } from "../compare";
import { Comparison } from "./compare/state";
import { withUnit } from "./crs";
import { Measure } from "./measure/state";
import { filled, lastOf, Stroke, writeCells, type Box } from "./paint";
import { placeOf, type Placement } from "./place";
import { PROFILE_MAX, readProfile, type Profile } from "./profile";
import { summarize, type Summary } from "../statistics";
import { meaningOf, type Meaning } from "./values";

/** A variable, with everything needed to draw it. */
export interface Loaded {
  readonly variable: Variable;
  /** The place it was opened from. */
  readonly opened: Opened;
  /** Finest first. */
  readonly levels: readonly PyramidLevel[];
  /** In the order of the array's dimensions. */
  readonly axes: readonly LabelledAxis[];
  readonly x: LabelledAxis;
  /** Absent if the array has one dimension: it is drawn as a row. */
  readonly y: LabelledAxis | undefined;
  /** The axes that are not drawn. Each has a slider, except the channel axis. */
  readonly others: readonly LabelledAxis[];
  readonly meaning: Meaning;
  /** How the cells of coarser levels were made, such as "mean". `undefined` if nothing says so. */
  readonly method: string | undefined;
  readonly placement: Placement;
  /** The coordinate reference systems that the variable may name. */
  readonly crs: readonly Crs[];
  /** The channels that can be drawn together. */
  readonly channels: readonly DrawnChannel[];
  readonly channelAxis: LabelledAxis | undefined;
}

/** The tool of the pointer: it moves the picture, paints, fills, or chooses a cell. */
export type Tool = "move" | "paint" | "fill" | "cell";

export class GridModel implements Model {
  readonly camera = new Camera();
  readonly variables: readonly Variable[];
  /** The name of the chosen variable. */
  readonly chosen: Signal<string>;
  readonly loaded: Signal<Loaded | undefined>;
  /** Positions on the axes that are not drawn, by dimension. */
  readonly at = signal<Readonly<Record<string, number>>>({});
  readonly colormap: Signal<string>;
  /** The values that are drawn in the first and the last colour, if the user chose them. Unpacked, as all values here. */
  readonly chosenRange = signal<readonly [number, number] | undefined>(undefined);
  /** The range of the values that were drawn so far. */
  readonly seenRange = signal<readonly [number, number]>([Infinity, -Infinity]);
  /** The channels of an image, and whether they are drawn together. */
  readonly channels = signal<readonly DrawnChannel[]>([]);
  readonly isBlended = signal(false);
  /** The values that most values of each drawn channel are between. */
  readonly channelRanges = signal<ReadonlyMap<string, readonly [number, number]>>(new Map());
  /** The channels that are drawn together. Empty if one variable is drawn in a colour map. */
  readonly blended = computed(() => (this.isBlended.value && compared.value === undefined ? this.channels.value.filter(({ isOn }) => isOn) : []));
  /** A summary of the values in view. */
  readonly summary = signal<Summary | undefined>(undefined);
  readonly log = signal(false);
  /** Changes when the picture does. */
  readonly drawn = signal(0);
  /** The level that is drawn, and whether there are too many cells to draw. */
  readonly view = signal<DrawnView | undefined>(undefined);
  readonly pointer = signal<readonly [number, number] | undefined>(undefined);
  /** The tool of the pointer, and the value and size of the brush. */
  readonly brush = signal<{ tool: Tool; value: string; size: number }>({ tool: "move", value: "0", size: 1 });
  /** The cell that is edited alone, as column and row. */
  readonly edited = signal<readonly [number, number] | undefined>(undefined);
  /** Entered coordinates that no cell has, by dimension. */
  readonly wrongCoordinates = signal<Readonly<Record<string, string>>>({});
  /** Values along an axis at the cell that was clicked last. */
  readonly profile = signal<Profile | undefined>(undefined);
  readonly failure = signal<string | undefined>(undefined);
  /** The number of tiles that are being read. */
  readonly reading = signal(0);
  private readonly loading = signal(0);
  /** A box or a line that is measured. */
  readonly measure: Measure;
  /** The changes between the shown moment and another. */
  readonly comparison: Comparison;
  readonly linking = computed(() => this.loading.value + this.reading.value);
  readonly busy = computed(() => this.linking.value + Number(this.measure.progress.value !== undefined) + Number(this.comparison.isReading.value));
  readonly range = computed(() => this.chosenRange.value ?? this.seenRange.value);
  /** Whether nothing was loaded yet, also at another time: what the link says holds then. */
  private isNew = true;
  /** Aborts the read of the last profile. */
  private charting = new AbortController();
  private readonly abort = new AbortController();

  constructor(readonly opened: Opened, private readonly start: Link, before: GridModel | undefined) {
    this.variables = drawable(opened);
    // The old picture stays until the new one has come.
    this.loaded = signal(before?.loaded.peek());
    const names = this.variables.map(({ name }) => name);
    this.chosen = signal(names.includes(start["attr"] ?? "") ? (start["attr"] ?? "") : (names[0] ?? ""));
    this.colormap = signal(isColormap(start["map"]) ? start["map"] : "viridis");
    if (before) {
      this.camera.world.value = before.camera.world.peek();
      this.camera.follow(before.camera);
      this.at.value = before.at.peek();
      this.brush.value = before.brush.peek();
      this.edited.value = before.edited.peek();
      this.seenRange.value = before.seenRange.peek();
      this.chosenRange.value = before.chosenRange.peek();
      this.log.value = before.log.peek();
      this.channels.value = before.channels.peek();
      this.isBlended.value = before.isBlended.peek();
      this.isNew = before.isNew;
      this.pointer.value = before.pointer.peek();
    }
    this.measure = new Measure(this, start, before?.measure);
    this.comparison = new Comparison(this);
    void this.load(before);
  }

  /** Draws another variable. */
  choose(name: string): void {
    batch(() => {
      this.chosen.value = name;
      this.chosenRange.value = undefined;
      this.seenRange.value = [Infinity, -Infinity];
    });
    void this.load(this);
  }

  /** Moves to a position on an axis that is not drawn. */
  move({ axis: { dimension }, length }: LabelledAxis, position: number): void {
    // The values along an axis are those at the positions of the others.
    if (this.profile.peek()?.axis.axis.dimension !== dimension) this.profile.value = undefined;
    this.at.value = { ...this.at.peek(), [dimension]: Math.max(0, Math.min(length - 1, Math.round(position))) };
  }

  /** Reads the values along the longest axis that is not drawn, at a pixel of the canvas. */
  async profileAt(pixel: readonly [number, number]): Promise<void> {
    const loaded = this.loaded.peek();
    const axis = loaded?.others.filter(({ length }) => length <= PROFILE_MAX).sort((a, b) => b.length - a.length)[0];
    if (!loaded || !axis || axis.length < 2) return;
    const cell = this.cellAt(pixel);
    if (!cell) return;
    this.charting.abort();
    const { signal } = (this.charting = new AbortController());
    this.loading.value += 1;
    try {
      const profile = await readProfile(loaded, axis, cell, this.at.peek(), signal);
      if (this.loaded.peek() === loaded && !signal.aborted) this.profile.value = profile;
    } catch (error) {
      if (!signal.aborted) this.failure.value = error instanceof Error ? error.message : String(error);
    } finally {
      this.loading.value -= 1;
    }
  }

  /**
   * Writes the value of the brush and shows the result. `stroke` has the cells to write, or a cell from which to fill all
   * connected cells of equal value. `problem` is a message to show afterwards.
   */
  async paint(stroke: Stroke | readonly [number, number], problem?: string): Promise<void> {
    const loaded = this.loaded.peek();
    if (!loaded) return;
    // The view may have changed when earlier writes are done.
    const box = this.boxInView(loaded);
    // Another model may be shown before this is done, so the session counts the write.
    changing.value += 1;
    failure.value = undefined;
    try {
      const openNewest = async () => openArray({ ...this.opened, at: undefined }, loaded.variable.path);
      const at = this.at.peek();
      const find = async (array: TileArray) => (stroke instanceof Stroke ? stroke : filled(array, loaded, box, stroke, at));
      await writeCells({ loaded, entered: this.brush.peek().value, at, find }, openNewest);
      await travelToLast(this.opened.place);
      if (problem !== undefined) failure.value = problem;
    } catch (error) {
      // An earlier write may have replaced this model.
      failure.value = messageOf(error);
    } finally {
      changing.value -= 1;
    }
  }

  /** The cell at a pixel of the canvas, as column and row. `undefined` outside the picture. */
  cellAt(pixel: readonly [number, number]): [number, number] | undefined {
    const loaded = this.loaded.peek();
    if (!loaded) return undefined;
    const [x, y] = this.camera.toWorld(...pixel);
    const [column, row] = [Math.floor(x), Math.floor(y / loaded.placement.aspect)];
    return column < 0 || row < 0 || column >= loaded.x.length || row >= (loaded.y?.length ?? 1) ? undefined : [column, row];
  }

  /** Chooses a cell to edit alone. */
  edit(cell: readonly [number, number]): void {
    batch(() => {
      this.edited.value = cell;
      this.wrongCoordinates.value = {};
    });
  }

  private boxInView({ x: { length: columns }, y: rows, placement: { aspect } }: Loaded): Box {
    const { x, y } = this.camera.visible.peek();
    const ends = ([from, to]: readonly [number, number], length: number) => [Math.max(0, Math.floor(from)), Math.min(length - 1, Math.ceil(to) - 1)] as const;
    const [[c0, c1], [r0, r1]] = [ends(x, columns), ends([y[0] / aspect, y[1] / aspect], rows?.length ?? 1)];
    return { c0, c1, r0, r1 };
  }

  /** A sample of the values in view has arrived. */
  see({ values, extents }: Pick<ViewValues, "values" | "extents">): void {
    const blended = this.blended.peek();
    if (blended.length > 0) return this.seeChannels(blended, values);
    const summary = summarize(values[0] ?? [], extents[0]);
    this.summary.value = summary;
    if (!summary) return;
    const [low, high] = this.seenRange.peek();
    if (summary.min < low || summary.max > high) this.seenRange.value = [Math.min(summary.min, low), Math.max(summary.max, high)];
  }

  /** The values that are black and of full colour in a channel. */
  channelRange({ name, range }: DrawnChannel): readonly [number, number] {
    return range ?? this.channelRanges.value.get(name) ?? [0, 1];
  }

  /** The cells in view, as a query. `undefined` while nothing is drawn. */
  query(): GridQuery | undefined {
    const loaded = this.loaded.peek();
    const array = loaded?.levels[0]?.array;
    if (!loaded || !array) return undefined;
    const { x, y } = this.camera.visible.peek();
    const { aspect } = loaded.placement;
    const ranges = array.dims.map(({ name, type }): Span => {
      const axis = [loaded.x, loaded.y, ...loaded.others].find((candidate) => candidate?.axis.dimension === name);
      if (!axis) return { type, lo: 0, hi: 0 };
      const [from, to] = axis === loaded.x ? x : axis === loaded.y ? [y[0] / aspect, y[1] / aspect] : [this.at.peek()[name] ?? 0, (this.at.peek()[name] ?? 0) + 0.5];
      const last = axis.length - 1;
      const [low, high] = [Math.floor(from), Math.ceil(to) - 1].map((position) => Math.max(0, Math.min(last, position))) as [number, number];
      return { type, lo: axis.coordinate(low), hi: lastOf(axis, high) };
    });
    return { url: absoluteOf(placeAt(this.opened.place, loaded.variable.path)), attribute: loaded.variable.attribute, ranges, at: this.opened.at };
  }

  link(): Record<string, string> {
    const positions = Object.entries(this.at.value).filter(([, position]) => position !== 0).map(([name, position]) => [`@${name}`, String(position)]);
    const colours = { attr: this.chosen.value, map: this.colormap.value, ...(this.log.value ? { scale: "log" } : {}), ...(this.channels.value.length > 0 && !this.isBlended.value ? { blend: "off" } : {}) };
    // A range that follows the values that were seen is also part of the picture.
    const range = this.chosenRange.value ? { range: rangeText(this.chosenRange.value) } : { seen: rangeText(this.seenRange.value) };
    const channels = this.isBlended.value && this.channels.value.length > 0 ? channelLink(this.channels.value, (channel) => this.channelRange(channel)) : {};
    return { ...colours, ...channels, ...(this.blended.value.length > 0 ? {} : range), ...Object.fromEntries(positions), ...this.measure.link(), ...this.camera.link() };
  }

  stop(): void {
    this.charting.abort();
    this.measure.stop();
    this.comparison.stop();
    this.abort.abort();
  }

  private seeChannels(channels: readonly DrawnChannel[], values: readonly Float64Array[]): void {
    const known = this.channelRanges.peek();
    const found = channels.flatMap(({ name, range }, i): [string, readonly [number, number]][] => {
      const summary = range || known.has(name) ? undefined : summarize(values[i] ?? []);
      return summary ? [[name, [summary.low, Math.max(summary.high, summary.low + Number.EPSILON)]]] : [];
    });
    if (found.length > 0) this.channelRanges.value = new Map([...known, ...found]);
  }

  /** Opens the chosen variable's levels and axes. `before` has what to keep. */
  private async load(before: GridModel | undefined): Promise<void> {
    const variable = this.variables.find(({ name }) => name === this.chosen.peek());
    if (!variable) return;
    const isFirst = before !== this;
    this.loading.value += 1;
    try {
      const loaded = await loadVariable(variable, this.opened);
      if (this.abort.signal.aborted || this.chosen.peek() !== variable.name) return;
      batch(() => {
        this.failure.value = undefined;
        this.use(loaded, isFirst, before);
      });
    } catch (error) {
      if (!this.abort.signal.aborted) this.failure.value = error instanceof Error ? error.message : String(error);
    } finally {
      this.loading.value -= 1;
    }
  }

  private use(loaded: Loaded, isFirst: boolean, before: GridModel | undefined): void {
    const asked = before?.at.peek() ?? {};
    const positions = loaded.others.map(({ axis: { dimension }, length }): [string, number] => {
      const position = asked[dimension] ?? Number(this.start[`@${dimension}`] ?? 0);
      return [dimension, Number.isSafeInteger(position) ? Math.max(0, Math.min(length - 1, position)) : 0];
    });
    this.at.value = Object.fromEntries(positions);
    if (isFirst) {
      this.camera.fit(worldOf(loaded));
      if (before) this.camera.follow(before.camera);
      if (this.isNew) {
        this.camera.followLink(this.start);
        this.chosenRange.value = rangeOf(this.start["range"]);
        this.seenRange.value = rangeOf(this.start["seen"]) ?? this.seenRange.peek();
        this.log.value = this.start["scale"] === "log";
      }
    } else if (JSON.stringify(worldOf(loaded)) !== JSON.stringify(this.camera.world.peek())) this.camera.fit(worldOf(loaded));
    if (this.isNew || before === this) {
      this.channels.value = this.isNew ? linkedChannels(loaded.channels, this.start) : loaded.channels;
      this.isBlended.value = loaded.channels.length > 0 && this.start["blend"] !== "off";
    }
    this.isNew = false;
    this.profile.value = undefined;
    this.loaded.value = loaded;
  }
}

async function loadVariable(variable: Variable, opened: Opened): Promise<Loaded> {
  const array = await openArray(opened, variable.path);
  const crs = opened.dataset.crs?.[variable.crs ?? -1];
  const [found, meaning, method, ...axes] = await Promise.all([
    levelsOf(variable, array, opened), meaningOf(variable, array), methodOf(variable, array), ...variable.axes.map((axis) => labelled(withUnit(axis, crs), array, opened)),
  ]);
  const [x, y] = drawnAxes(axes);
  if (!x) throw new Error(`${variable.name || "The variable"} has no axis to draw. Choose another variable.`);
  const channelAxis = axes.find(({ axis }) => axis.role === "channel");
  const channels = channelsOf(variable, opened.dataset.channels ?? [], opened.dataset.variables ?? [], channelAxis);
  // The samples of a pixel may follow each other along a drawn axis.
  const others = axes.filter(({ axis }) => axis.dimension !== x.axis.dimension && axis.dimension !== y?.axis.dimension);
  return { variable, opened, levels: found, axes, x, y, others, meaning, method, placement: placeOf(variable, x, y), crs: opened.dataset.crs ?? [], channels, channelAxis };
}

/** The levels of a variable: the levels of the opened group, or the overviews of its own array. */
async function levelsOf({ path, axes }: Variable, array: TileArray, { source, dataset }: Opened): Promise<readonly PyramidLevel[]> {
  if (dataset.levels?.[0]?.path === path) return levels(source, { dataset });
  if ((await array.meta())["overviews"] !== undefined) return levels(array);
  return [{ array, shape: axes.map(({ length = 0 }) => length), factors: axes.map(() => 1), start: axes.map(() => 0), scale: axes.map(() => null) }];
}

/** How the array's overviews were made, as its metadata says. Other applications do not say. */
async function methodOf({ attribute }: Variable, array: TileArray): Promise<string | undefined> {
  try {
    const [first] = JSON.parse(String((await array.meta())["overviews"])) as { methods?: Record<string, unknown> }[];
    return Object.hasOwn(first?.methods ?? {}, attribute) && first?.methods?.[attribute] === "mode" ? "most frequent" : "mean";
  } catch {
    return undefined;
  }
}

/** The axes that are drawn: those with the roles x and y, or else the last two. */
function drawnAxes(axes: readonly LabelledAxis[]): [LabelledAxis | undefined, LabelledAxis | undefined] {
  const role = (wanted: Axis["role"]) => axes.find(({ axis }) => axis.role === wanted);
  const [x, y] = [role("x"), role("y")];
  if (x && y) return [x, y];
  return [axes.at(-1), axes.at(-2)];
}

function worldOf({ x, y, placement: { aspect, up } }: Loaded): World {
  return { x: [0, x.length], y: [0, (y?.length ?? 1) * aspect], up, isCells: true };
}
