// The state of a picture of points: which are read, and how they are drawn.
import { computed, signal, type Signal } from "@preact/signals";
import type { Attr, Column, Fields, TileArray } from "hyperslab";
import { Camera, type World } from "../camera";
import type { Model } from "../kind";
import type { Link } from "../link";
import { arrayOf, type Opened } from "../opened";
import { isColormap } from "../grid/colors";
import { summarise, type Summary } from "../grid/statistics";
import * as text from "../text";

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
  readonly labels = signal<ReadonlyMap<string, Column>>(new Map());
  private readonly abort = new AbortController();

  constructor(readonly opened: Opened, link: Link, before: PointsModel | undefined) {
    const found = plotted(opened);
    const array = arrayOf(opened);
    if (!found || !array) throw new Error("This array has no points. Choose another array on the left.");
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
    void this.readLabels();
  }

  choose(name: string): void {
    this.chosen.value = name;
    this.chosenRange.value = undefined;
    this.seenRange.value = [Infinity, -Infinity];
  }

  /** A sample of the values in view has arrived. */
  see(values: ArrayLike<number>): void {
    this.summary.value = summarise(values);
    if (this.summary.value) this.seenRange.value = [this.summary.value.min, this.summary.value.max];
  }

  link(): Record<string, string> {
    return { attr: this.chosen.value, map: this.colormap.value, where: this.where.value, ...this.camera.link() };
  }

  stop(): void {
    this.abort.abort();
  }

  /** The text of a value of a field. Indices into an enumeration become its values. */
  shown(name: string, value: unknown): string {
    const labels = this.labels.value.get(name);
    if (!labels || value === null || value === undefined) return text.value(value, this.typeOf(name));
    const index = Number(value);
    return index >= 0 && index < labels.length ? text.value(labels.at(index), labels.type) : `${text.value(value, "")} (not in the enumeration)`;
  }

  typeOf(name: string): string {
    return [...this.array.attrs, ...this.array.dims].find((field) => field.name === name)?.type ?? "";
  }

  private async readLabels(): Promise<void> {
    const labelled = this.array.attrs.filter(({ enumeration }) => enumeration !== undefined);
    const found = await Promise.all(labelled.map(async ({ name }): Promise<[string, Column]> => [name, await this.array.enumeration(name)]));
    if (!this.abort.signal.aborted) this.labels.value = new Map(found);
  }
}

/** The names of the horizontal and the vertical dimension. `undefined` if no two dimensions are numbers or dates. */
export function plotted(opened: Opened): [string, string] | undefined {
  const array = arrayOf(opened);
  const numbers = (array?.dims ?? []).filter(({ domain, type }) => domain && !/^string/.test(type)).map(({ name }) => name);
  const told = opened.dataset.tables?.[0]?.points?.filter((name) => numbers.includes(name)) ?? [];
  const find = (pattern: RegExp) => numbers.find((name) => pattern.test(name));
  const x = told[0] ?? find(/^(lon|longitude|x)$/i) ?? numbers[1] ?? numbers[0];
  const y = told[1] ?? find(/^(lat|latitude|y)$/i) ?? numbers.find((name) => name !== x) ?? x;
  return x === undefined || y === undefined ? undefined : [x, y];
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
