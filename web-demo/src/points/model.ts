// The state of a picture of points: which are read, and how they are drawn.
import { batch, computed, effect, signal, type Signal } from "@preact/signals";
import { query, type Attr, type Ranges, type TileArray, type Value } from "hyperslab";
import type { ViewValues } from "hyperslab/deck";
import { Camera } from "../camera";
import type { Model } from "../kind";
import { rangeOf, rangeText, type Link } from "../link";
import { absoluteOf, arrayOf, type Opened } from "../opened";
import { canEdit } from "../edit/editable";
import { failure, messageOf } from "../session";
import { fieldsOf, type Field } from "../table/field";
import type { PointsQuery } from "../takeaway";
import { isColormap } from "../colors";
import { summarize, type Summary } from "../statistics";
import * as text from "../text";
import { plotted } from "./accepts";
import { readPoint, type Point } from "./details";
import { pointsMax } from "./limit";
import { fillingAspect, rangesOf, spanOf, startAspect, worldOf } from "./space";

type Closed = readonly [number, number];

/** How long the view rests before what is in view is read again. */
const REST_MS = 120;
/** How long the pointer rests on a point before its other fields are read. */
const HOVER_MS = 60;

/** A point to edit: the stored fields of a point, or the known fields of a new point. */
export interface Chosen { readonly isNew: boolean; readonly point: Point; readonly turn: number }

export class PointsModel implements Model {
  readonly camera = new Camera();
  readonly array: TileArray;
  /** The names of the drawn dimensions. */
  readonly x: string;
  readonly y: string;
  /** The names of the fields that can colour points. */
  readonly fields: readonly string[];
  readonly chosen: Signal<string>;
  readonly colormap: Signal<string>;
  /** The condition that points must meet; empty for all. */
  readonly where: Signal<string>;
  /** The field that gives points their size, if there is one. */
  readonly size: string | undefined;
  readonly chosenRange = signal<Closed | undefined>(undefined);
  readonly seenRange = signal<Closed>([Infinity, -Infinity]);
  readonly range = computed(() => this.chosenRange.value ?? this.seenRange.value);
  readonly pointer = signal<Closed | undefined>(undefined);
  readonly failure = signal<string | undefined>(undefined);
  /** How many points were read, whether all were, and whether some were left out because there are too many. */
  readonly count = signal({ read: 0, done: false, limited: false });
  /** The number of all points in view, if some were left out. */
  readonly total = signal<number | undefined>(undefined);
  /** How many times longer than x y is drawn. */
  readonly aspect: Signal<number>;
  /** The ranges of the dimensions in view, to read. `undefined` until the canvas has a size. */
  readonly inView = signal<Ranges | undefined>(undefined);
  private readonly detailing = signal(0);
  readonly busy = computed(() => (this.count.value.done || this.failure.value !== undefined ? this.detailing.value : 1));
  /** The fields of the point under the pointer. */
  readonly picked = signal<Point | undefined>(undefined);
  /** The point that is edited. */
  readonly chosenPoint = signal<Chosen | undefined>(undefined);
  readonly summary = signal<Summary | undefined>(undefined);
  /** All fields of the array, with the values of enumerations. */
  readonly columns = signal<readonly Field[]>([]);
  /** Why the condition is wrong. */
  readonly badCondition = signal<string | undefined>(undefined);
  private readonly abort = new AbortController();
  /** The read of the fields of a point. */
  private pointing = new AbortController();
  private counting = new AbortController();
  /** The read of the point that was clicked last. */
  private choosing = new AbortController();
  private turn = 0;
  /** Where the camera was when a link said which range of values was seen. */
  private linkedView: string | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly opened: Opened, link: Link, before: PointsModel | undefined) {
    const found = plotted(opened);
    const array = arrayOf(opened);
    if (!found || !array) throw new Error("This array has no points. Open another array.");
    this.array = array;
    [this.x, this.y] = found;
    this.fields = [...array.attrs.filter(isNumber).map(({ name }) => name), ...array.dims.filter(({ name, domain }) => domain && name !== this.x && name !== this.y).map(({ name }) => name)];
    this.size = array.attrs.find(({ name, type }) => /^mag/i.test(name) && /^(u?int|float)/.test(type))?.name;
    this.chosen = signal(this.fields.includes(link["attr"] ?? "") ? (link["attr"] ?? "") : (this.fields[0] ?? ""));
    this.colormap = signal(isColormap(link["map"]) ? link["map"] : "magma");
    this.where = signal(link["where"] ?? "");
    const ranges = rangesOf(array, this.x, this.y);
    this.aspect = signal(before ? before.aspect.peek() : isGeographic(this) ? 1 : startAspect(ranges, link["aspect"]));
    this.camera.fit(worldOf(ranges, this.aspect.peek()));
    if (before) {
      this.picked.value = before.picked.peek();
      this.camera.follow(before.camera);
      this.seenRange.value = before.seenRange.peek();
      this.pointer.value = before.pointer.peek();
    } else {
      this.camera.followLink(link);
      const seen = rangeOf(link["seen"]);
      if (seen) [this.seenRange.value, this.linkedView] = [seen, JSON.stringify(this.camera.link())];
    }
    const dispose = effect(() => this.followView());
    this.abort.signal.addEventListener("abort", dispose);
    void this.readColumns().catch((error: unknown) => { this.failure.value = String(error); });
  }

  choose(name: string): void {
    this.linkedView = undefined;
    this.chosen.value = name;
    this.chosenRange.value = undefined;
    this.seenRange.value = [Infinity, -Infinity];
  }

  /** A sample of the values in view has arrived. */
  see({ values, extents }: Pick<ViewValues, "values" | "extents">): void {
    this.summary.value = summarize(values[0] ?? [], extents[0]);
    // A followed link shows the colours of its author until the view changes.
    if (this.linkedView !== JSON.stringify(this.camera.link())) this.linkedView = undefined;
    if (this.summary.value && this.linkedView === undefined) this.seenRange.value = [this.summary.value.min, this.summary.value.max];
  }

  link(): Record<string, string> {
    const aspect: Link = isGeographic(this) ? {} : { aspect: String(this.aspect.value) };
    return { attr: this.chosen.value, map: this.colormap.value, where: this.where.value, seen: rangeText(this.seenRange.value), ...aspect, ...this.camera.link() };
  }

  stop(): void {
    clearTimeout(this.timer);
    this.pointing.abort();
    this.choosing.abort();
    this.counting.abort();
    this.abort.abort();
  }

  /** Draws y as long as x, or in the unit of x. */
  fill(isFilling: boolean): void {
    const ranges = rangesOf(this.array, this.x, this.y);
    batch(() => {
      this.aspect.value = isFilling ? fillingAspect(ranges) : 1;
      this.camera.fit(worldOf(ranges, this.aspect.peek()));
    });
  }

  /** The names of the fields that tell which cell a drawn point is. Needed only to edit it. */
  get placeFields(): string[] {
    return canEdit(this.opened) ? this.array.dims.map(({ name }) => name) : [];
  }

  /** The names of the fields that are drawn. Others are not read. */
  get drawnFields(): string[] {
    return [...new Set([this.x, this.y, ...(this.fields.includes(this.chosen.value) ? [this.chosen.value] : []), ...(this.size === undefined ? [] : [this.size]), ...this.placeFields])];
  }

  /** The most points that are read. */
  get most(): number {
    return pointsMax(this.drawnFields.map((name) => ({ type: this.typeOf(name) })));
  }

  /** Points were read. */
  came(read: number, done: boolean, limited: boolean): void {
    this.count.value = { read, done, limited };
    this.failure.value = this.total.value = undefined;
    if (limited && done) void this.countAll().catch(() => undefined);
  }

  /** Shows the fields of the point under the pointer: at once those that are drawn, and then all. */
  point(drawn: Point | undefined): void {
    this.pointing.abort();
    const { signal } = (this.pointing = new AbortController());
    // An index of an enumeration comes as its label, which may be a number, too.
    this.picked.value = drawn && Object.fromEntries(Object.entries(drawn).filter(([name, value]) => !this.isCoded(name) || typeof value === "string"));
    if (drawn) void this.readDetails(drawn, signal).catch(() => undefined);
  }

  /** Chooses the point at a pixel to edit it. If no point is there, begins a new point at that place. */
  async choosePoint(pixel: readonly [number, number], drawn: Point | undefined): Promise<void> {
    if (!drawn) {
      this.placeAt(pixel);
      return;
    }
    this.choosing.abort();
    const { signal } = (this.choosing = new AbortController());
    this.chosenPoint.value = undefined;
    // Without all coordinates, another cell could be edited. They are read once editing is allowed.
    if (!this.array.dims.every(({ name }) => name in drawn)) {
      failure.value = "The coordinates of this point are still being read. Click it again in a moment.";
      return;
    }
    this.detailing.value += 1;
    try {
      // Drawn points have labels in place of indices, and lack some fields.
      const point = await this.readStored(drawn, [...this.array.dims, ...this.array.attrs].map(({ name }) => name), signal);
      if (signal.aborted) return;
      if (point) this.chosenPoint.value = { isNew: false, point, turn: (this.turn += 1) };
      else failure.value = "This point was not found. It may have been changed or deleted since it was drawn. Move the time slider to its end to draw the newest points.";
    } catch (error) {
      if (!signal.aborted) failure.value = messageOf(error);
    } finally {
      this.detailing.value -= 1;
    }
  }

  /** Begins a new point. `point` has its known fields. */
  placePoint(point: Point): void {
    this.choosing.abort();
    this.chosenPoint.value = { isNew: true, point, turn: (this.turn += 1) };
  }

  private placeAt(pixel: readonly [number, number]): void {
    const [x, y] = this.camera.toWorld(...pixel);
    const at = (name: string, value: number): Value => {
      const { type, domain: [first] = [0] } = this.array.dims.find((dim) => dim.name === name) ?? { type: "float64" };
      return type.startsWith("float") ? Number(value.toPrecision(7)) : typeof first === "bigint" ? BigInt(Math.round(value)) : Math.round(value);
    };
    this.placePoint({ [this.x]: at(this.x, x), [this.y]: at(this.y, y / this.aspect.peek()) });
  }

  /** The text of a field of the point under the pointer. */
  textOf(name: string, value: Value): string {
    return typeof value === "string" ? value : this.shown(name, value as number | bigint);
  }

  /** The text of a stored value of a field. Indices into an enumeration become its values. */
  shown(name: string, value: number | bigint): string {
    const labels = this.columns.value.find((field) => field.name === name)?.labels;
    if (!labels) return text.value(value, this.typeOf(name));
    return labels.length > Number(value) && Number(value) >= 0 ? text.value(labels.at(Number(value)), labels.type) : `${text.value(value, "")} (not in the enumeration)`;
  }

  typeOf(name: string): string {
    return [...this.array.attrs, ...this.array.dims].find((field) => field.name === name)?.type ?? "";
  }

  /** Shows only the points that meet a condition; all if it is empty. */
  filter(where: string): void {
    this.badCondition.value = undefined;
    this.where.value = where;
  }

  /** A read has failed. */
  fail(error: Error): void {
    const isCondition = this.where.peek() !== "" && (error as { code?: unknown }).code === "InvalidArgument";
    (isCondition ? this.badCondition : this.failure).value = error.message;
    this.count.value = { read: 0, done: true, limited: false };
  }

  /** The query for the points in view. */
  query(): PointsQuery {
    const { x, y } = this.camera.visible.peek();
    const aspect = this.aspect.peek();
    const ranges = [{ name: this.x, seen: x }, { name: this.y, seen: [y[0] / aspect, y[1] / aspect] as const }].map(({ name, seen }) => ({ name, ...spanOf(this.array, name, seen) }));
    return { url: absoluteOf(this.opened.place), ranges, dims: this.array.dims.map((dim) => dim.name), where: this.where.peek(), at: this.opened.at };
  }

  /** Reads what is in view when the view rests. */
  private followView(): void {
    const { size, visible } = this.camera;
    const { width, height } = size.value;
    void visible.value;
    if (width <= 1 || height <= 1) return;
    clearTimeout(this.timer);
    const ask = () => {
      const next = Object.fromEntries(this.query().ranges.map(({ name, lo, hi }) => [name, [lo, hi] as [number | bigint, number | bigint]]));
      if (text.exactJson(next) === text.exactJson(this.inView.peek())) return;
      batch(() => {
        this.inView.value = next;
        this.count.value = { ...this.count.peek(), done: false };
      });
    };
    if (this.inView.peek()) this.timer = setTimeout(ask, REST_MS);
    else ask();
  }

  /** Counts the points in view. A count of an earlier view ends. */
  private async countAll(): Promise<void> {
    this.counting.abort();
    const { signal } = (this.counting = new AbortController());
    const [ranges, where] = [this.inView.peek(), this.where.peek()];
    const total = await query(this.array, { ...(ranges ? { ranges } : {}), ...(where ? { where } : {}), signal }).count();
    if (!signal.aborted && this.inView.peek() === ranges && this.where.peek() === where) this.total.value = total;
  }

  private async readDetails(drawn: Point, signal: AbortSignal): Promise<void> {
    const shown = this.array.attrs.filter(({ cell, type }) => cell === 1 || /^(string|char)/.test(type));
    const names = [...this.array.dims, ...shown].map(({ name }) => name);
    if (names.every((name) => name in drawn)) return;
    this.detailing.value += 1;
    try {
      await new Promise((done) => setTimeout(done, HOVER_MS));
      signal.throwIfAborted();
      const found = await this.readStored(drawn, names, signal);
      if (found && !signal.aborted) this.picked.value = found;
    } finally {
      this.detailing.value -= 1;
    }
  }

  /** Reads fields of a point that was drawn, as they are stored. */
  private async readStored(drawn: Point, names: readonly string[], signal: AbortSignal): Promise<Point | undefined> {
    const isDim = (name: string) => this.array.dims.some((dim) => dim.name === name);
    const part = (isWanted: (name: string) => boolean) => Object.fromEntries(Object.entries(drawn).filter(([name]) => isWanted(name)));
    // Enumerations come as their labels.
    return readPoint(this.array, names, part(isDim), part((name) => !isDim(name) && !this.isCoded(name)), signal);
  }

  private isCoded(name: string): boolean {
    return this.array.attrs.find((attr) => attr.name === name)?.enumeration !== undefined;
  }

  private async readColumns(): Promise<void> {
    const found = await fieldsOf(this.array, this.opened.dataset.tables?.[0]);
    if (!this.abort.signal.aborted) this.columns.value = found;
  }
}

/** Whether coordinates are longitudes and latitudes, as their names say. */
export function isGeographic({ x, y }: Pick<PointsModel, "x" | "y">): boolean {
  return /^lon/i.test(x) && /^lat/i.test(y);
}

function isNumber({ cell, type }: Attr): boolean {
  return cell === 1 && !/^(string|char|blob|any|geom)/.test(type);
}
