// The state of a picture of points: which are read, and how they are drawn.
import { computed, signal, type Signal } from "@preact/signals";
import type { Attr, Fields, TileArray } from "hyperslab";
import type { ViewValues } from "hyperslab/deck";
import { Camera, type World } from "../camera";
import type { Model } from "../kind";
import type { Link } from "../link";
import { absoluteOf, arrayOf, type Opened } from "../opened";
import { fieldsOf, type Field } from "../table/field";
import type { PointsQuery, Span } from "../takeaway";
import { isColormap } from "../colors";
import { summarize, type Summary } from "../statistics";
import * as text from "../text";
import { plotted } from "./accepts";

type Closed = readonly [number, number];

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
  readonly busy = computed(() => (this.count.value.done || this.failure.value !== undefined ? 0 : 1));
  /** The fields of the point under the pointer. */
  readonly picked = signal<Readonly<Record<string, unknown>> | undefined>(undefined);
  readonly summary = signal<Summary | undefined>(undefined);
  /** All fields of the array, with the values of enumerations. */
  readonly columns = signal<readonly Field[]>([]);
  /** What is wrong with the condition. */
  readonly badCondition = signal<string | undefined>(undefined);
  private readonly abort = new AbortController();

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
    this.camera.fit(worldOf(array, this.x, this.y));
    if (before) {
      this.picked.value = before.picked.peek();
      this.camera.follow(before.camera);
      this.seenRange.value = before.seenRange.peek();
      this.pointer.value = before.pointer.peek();
    } else this.camera.followLink(link);
    void this.readColumns().catch((error: unknown) => { this.failure.value = String(error); });
  }

  choose(name: string): void {
    this.chosen.value = name;
    this.chosenRange.value = undefined;
    this.seenRange.value = [Infinity, -Infinity];
  }

  /** A sample of the values in view has arrived. */
  see({ values, extents }: Pick<ViewValues, "values" | "extents">): void {
    this.summary.value = summarize(values[0] ?? [], extents[0]);
    if (this.summary.value) this.seenRange.value = [this.summary.value.min, this.summary.value.max];
  }

  link(): Record<string, string> {
    return { attr: this.chosen.value, map: this.colormap.value, where: this.where.value, ...this.camera.link() };
  }

  stop(): void {
    this.abort.abort();
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

  /** What is shown, as a query. */
  query(): PointsQuery {
    const { x, y } = this.camera.visible.peek();
    const ranges = [{ name: this.x, seen: x }, { name: this.y, seen: y }].map(({ name, seen }) => ({ name, ...spanOf(this.array, name, seen) }));
    return { url: absoluteOf(this.opened.place), ranges, dims: this.array.dims.map((dim) => dim.name), where: this.where.peek(), at: this.opened.at };
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

/** A domain that is so many times wider than what was written is not shown whole. */
const EMPTY_MAX = 50;

function worldOf(array: TileArray<Fields>, x: string, y: string): World {
  const written = array.nonEmptyDomain();
  const range = (name: string): [number, number] => {
    const index = array.dims.findIndex((dim) => dim.name === name);
    const [lo, hi] = (array.dims[index]?.domain ?? [0, 1]).map(Number) as [number, number];
    const [from, to] = (written?.[index] ?? [lo, hi]).map(Number) as [number, number];
    const margin = (to - from) / 20 || 0.5;
    return hi - lo <= (to - from) * EMPTY_MAX || (hi - lo) <= 1000 ? [lo, hi] : [from - margin, to + margin];
  };
  return { x: range(x), y: range(y), up: true };
}

/** The coordinates of a dimension in a range of the world: exact at the ends of the domain. */
function spanOf({ dims }: TileArray, name: string, [from, to]: Closed): Span {
  const { type = "", domain } = dims.find((dim) => dim.name === name) ?? {};
  const [first, last] = (domain ?? [from, to]) as readonly [number | bigint, number | bigint];
  if (type.startsWith("float")) return { type, lo: Math.max(from, Number(first)), hi: Math.min(to, Number(last)) };
  const whole = (value: number) => (typeof first === "bigint" ? BigInt(value) : value);
  const [lo, hi] = [whole(Math.floor(from)), whole(Math.ceil(to))];
  return { type, lo: lo < first ? first : lo, hi: hi > last ? last : hi };
}
