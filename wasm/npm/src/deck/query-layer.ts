// Draws the cells of a query as points, batch by batch as they come.
import { CompositeLayer, type DefaultProps, type GetPickingInfoParams, type Layer, type UpdateParameters } from "@deck.gl/core";
import type { Texture } from "@luma.gl/core";
import type { TileArray } from "../array.js";
import { HyperslabError } from "../errors.js";
import { query, type QueryOptions } from "../query.js";
import type { Coordinate, Ranges } from "../select.js";
import type { Column, Value } from "../values.js";
import { colormap, type Colormap } from "./colormaps.js";
import { missingOf, NONE } from "./missing.js";
import { identityOf, json } from "./names.js";
import type { Rect } from "./place.js";
import { PointsLayer } from "./points-layer.js";
import { batchOf, dataOf, radiiOf, rowOf, type Batch, type PointFieldsInput } from "./points.js";
import type { QueryLayerOwnProps, QueryLayerProps, QueryPickingInfo } from "./query-props.js";
import { shadingProps } from "./shading.js";
import { colorsTexture, NO_DATA } from "./texture.js";

const POINTS_MAX = 5_000_000;
const BATCH_BYTES = 4 * 2 ** 20;
const SAMPLE_MAX = 65_536;
/** How long the view rests before it is queried again. */
const REST_MS = 120;

/** The state that the layer keeps from one set of props to the next. */
type State = {
  batches: readonly Batch[];
  labels: ReadonlyMap<string, Column>;
  /** Identifies the query that runs or has run. */
  asked?: string;
  abort?: AbortController;
  timer?: ReturnType<typeof setTimeout>;
  isDone: boolean;
  count: number;
  colors?: Texture;
  colorsOf?: Colormap;
};

const unknown = (value?: unknown) => ({ type: "unknown", value }) as never;
const call = { type: "function", value: null, optional: true } as never;

const defaultProps: DefaultProps<QueryLayerProps> = {
  array: { type: "object", value: null as unknown as TileArray, compare: false },
  x: "x", y: "y", z: unknown(),
  ranges: { type: "object", value: {}, compare: 2 }, where: unknown(), follow: false,
  color: unknown(), range: { type: "array", value: [0, 1], compare: true } as never, colormap: unknown("viridis"), scale: unknown("linear"), decode: unknown(), missing: unknown(),
  rgb: unknown(), rgbMax: 255,
  fillColor: { type: "color", value: [31, 119, 180, 255] }, missingColor: { type: "color", value: [139, 154, 168, 160] },
  size: unknown(), sizeRange: { type: "array", value: [0, 1], compare: true } as never, sizePixels: { type: "array", value: [2, 12], compare: true } as never, radius: 3,
  columns: unknown(), pointsMax: POINTS_MAX,
  onCount: call, onLoad: call, onData: call,
};

let batchId = 0;

/**
 * A deck.gl layer that draws the cells of a query as points, as they come. Colours are chosen by the GPU: a change of
 * `range`, `colormap` or `scale` reads and uploads nothing. A change of the query aborts the former one, whose points stay
 * until the first new ones have come.
 *
 * @example
 * ```js
 * import { open } from "hyperslab";
 * import { QueryLayer } from "hyperslab/deck";
 *
 * const quakes = await open("https://example.org/arrays/quakes");
 * const layer = new QueryLayer({ id: "quakes", array: quakes, x: "lon", y: "lat", where: "mag >= 3", color: "mag", range: [3, 6] });
 * ```
 */
export class QueryLayer extends CompositeLayer<Required<QueryLayerOwnProps>> {
  /** The name of the class, in messages of deck.gl. */
  static override layerName = "QueryLayer";
  /** The defaults of the props. */
  static override defaultProps = defaultProps as DefaultProps<never>;

  /** @internal */
  declare state: State;

  /** Makes a layer. deck.gl keeps what was read if another one with the same `id` takes its place. */
  constructor(props: QueryLayerProps) {
    super(props as never);
  }

  /** @internal */
  override initializeState(): void {
    this.state = { batches: [], labels: new Map(), isDone: false, count: 0 };
  }

  /** @internal */
  override shouldUpdateState({ changeFlags }: UpdateParameters<this>): boolean {
    return Boolean(changeFlags.somethingChanged);
  }

  /** @internal */
  override updateState(): void {
    try {
      this.recolor();
      this.ask();
    } catch (error) {
      // If props do not fit the array, `onError` is called once.
      const { message } = error as Error;
      if (message !== this.state.asked) this.fail(error);
      this.state.abort?.abort(error);
      Object.assign(this.state, { asked: message, batches: [], count: 0 });
    }
  }

  /** @internal */
  override finalizeState(context: this["context"]): void {
    super.finalizeState(context);
    const { abort, colors, timer } = this.state;
    clearTimeout(timer);
    abort?.abort(new DOMException("the layer was removed", "AbortError"));
    colors?.destroy();
  }

  /** Whether all points have come. */
  override get isLoaded(): boolean {
    return Boolean(this.state?.isDone) && super.isLoaded;
  }

  /** The fields of the points in a rectangle of the world, at most `limit`. */
  rowsIn({ x0, y0, x1, y1 }: Rect, limit = 1000): Record<string, Value>[] {
    const rows: Record<string, Value>[] = [];
    for (const batch of this.state.batches) {
      const { positions, dimensions, length } = batch;
      for (let i = 0; i < length && rows.length < limit; i += 1) {
        const [x, y] = [positions[i * dimensions] as number, positions[i * dimensions + 1] as number];
        if (x >= x0 && x <= x1 && y >= y0 && y <= y1) rows.push(rowOf(batch, i, this.state.labels));
      }
    }
    return rows;
  }

  /** Adds the fields of the cell to what deck.gl found. @internal */
  override getPickingInfo({ info, sourceLayer }: GetPickingInfoParams): QueryPickingInfo {
    const batch = this.state.batches.find(({ id }) => sourceLayer?.id.endsWith(`-${id}`));
    if (batch && info.index >= 0 && info.index < batch.length) info.object = rowOf(batch, info.index, this.state.labels);
    return info as QueryPickingInfo;
  }

  /** @internal */
  override renderLayers(): Layer[] {
    const { batches, colors } = this.state;
    const { color, range, scale, decode, size, sizeRange, sizePixels, radius, fillColor, missingColor } = this.props;
    if (!colors) return [];
    const shading = shadingProps(color === undefined ? [] : [range], scale, decode, colors);
    return batches.map((batch) => {
      const data = dataOf(batch, size === undefined ? undefined : radiiOf(batch, size, sizeRange, sizePixels));
      const style = { radiusUnits: "pixels", getRadius: 1, radiusScale: size === undefined ? radius : 1, getFillColor: fillColor, getLineColor: missingColor, stroked: false, antialiasing: true };
      return new PointsLayer(this.getSubLayerProps({ id: `${batch.id}` }), { ...style, data, shading } as never);
    });
  }

  /** Uploads the colours, if they have changed. */
  private recolor(): void {
    const { state, props } = this;
    const map = typeof props.colormap === "string" ? colormap(props.colormap) : props.colormap;
    if (state.colors && state.colorsOf === map) return;
    state.colors?.destroy();
    state.colors = colorsTexture(this.context.device, [map]);
    state.colorsOf = map;
  }

  /** Starts the query, if it is another one than before. */
  private ask(): void {
    const { state, props } = this;
    const { array, x, y, z, color, rgb, size, columns = [], where, pointsMax, missing, rgbMax } = props;
    if (!Array.isArray(array?.dims)) throw new HyperslabError("InvalidArgument", "`array` must be an open array");
    const fields: PointFieldsInput = { x, y, z, color, rgb, size };
    const attrs = [...new Set([x, y, z, color, size, ...(rgb ?? []), ...columns].filter((name) => name !== undefined))];
    const known = [...array.dims, ...array.attrs].map(({ name }) => name);
    const wrong = attrs.find((name) => !known.includes(name));
    if (wrong !== undefined) throw new HyperslabError("InvalidArgument", `the array has no field '${wrong}'; it has ${known.join(", ")}`);
    const { viewport } = this.context;
    // Until the page has been laid out, the view has no size.
    if (props.follow && (viewport.width <= 1 || viewport.height <= 1)) return;
    const ranges = this.ranges();
    const asked = json([identityOf(array), fields, attrs, ranges, where, pointsMax, missing, rgbMax]);
    if (asked === state.asked) return;
    const isFirst = state.asked === undefined;
    state.asked = asked;
    state.isDone = false;
    state.abort?.abort(new DOMException("the query has changed", "AbortError"));
    clearTimeout(state.timer);
    const abort = (state.abort = new AbortController());
    const options = { ...(ranges ? { ranges } : {}), ...(where ? { where } : {}), attrs, limit: pointsMax + 1, batchBytes: BATCH_BYTES, signal: abort.signal };
    const start = () => void this.read(array, options, fields, abort.signal);
    if (props.follow && !isFirst) state.timer = setTimeout(start, REST_MS);
    else start();
  }

  /** Reads the points of the query that `signal` belongs to. */
  private async read(array: TileArray, options: QueryOptions<string> & { attrs: string[] }, fields: PointFieldsInput, signal: AbortSignal): Promise<void> {
    const { pointsMax, missing, rgbMax } = this.props;
    const batches: Batch[] = [];
    let [count, limited] = [0, false];
    const show = (done: boolean) => this.came(batches, count, done, limited);
    try {
      const labels = await labelsOf(array, options.attrs);
      const none = fields.color === undefined ? NONE : missingOf(array, fields.color, missing);
      for await (const cells of query(array, options)) {
        signal.throwIfAborted();
        const length = Math.min(cells.length, pointsMax - count);
        limited = length < cells.length;
        if (length > 0) batches.push(batchOf((batchId += 1), cells, length, fields, none, rgbMax));
        count += length;
        this.state.labels = labels;
        if (count > 0) show(false);
        if (limited) break;
      }
      signal.throwIfAborted();
      show(true);
    } catch (error) {
      if (signal.aborted) return;
      // The points that are drawn may be those of another query.
      batches.length = 0;
      count = 0;
      show(true);
      this.current().fail(error);
    }
  }

  /** Shows the points that have come. */
  private came(batches: readonly Batch[], count: number, isDone: boolean, limited: boolean): void {
    const current = this.current();
    const { props } = current;
    Object.assign(this.state, { batches: [...batches], count, isDone });
    current.setNeedsUpdate();
    props.onCount?.(count, isDone, limited);
    if (props.onData && props.color !== undefined) props.onData({ values: [sampleOf(batches, count, props.decode ?? undefined)], extents: [extentOf(batches, props.decode ?? undefined)], done: isDone });
    if (isDone) props.onLoad?.();
  }

  /** The ranges of the query: with `follow`, those that are visible. */
  private ranges(): Ranges | undefined {
    const { ranges, follow, x, y, array } = this.props;
    if (!follow) return ranges;
    const [x0, y0, x1, y1] = this.context.viewport.getBounds();
    const seen = { [x]: visible(array, x, x0, x1, ranges), [y]: visible(array, y, y0, y1, ranges) };
    return { ...ranges, ...seen };
  }

  /** The instance that deck.gl shows now: each set of props makes a new one, which takes over the state. */
  private current(): QueryLayer {
    return (this.internalState?.component ?? this) as unknown as QueryLayer;
  }

  private fail(error: unknown): void {
    this.raiseError(error instanceof Error ? error : new Error(String(error)), "");
  }
}

/** The labels of the enumerations of fields. */
async function labelsOf(array: TileArray, names: readonly string[]): Promise<Map<string, Column>> {
  const coded = array.attrs.filter(({ name, enumeration }) => enumeration !== undefined && names.includes(name));
  return new Map(await Promise.all(coded.map(async ({ name }) => [name, await array.enumeration(name)] as const)));
}

/** The visible range of a dimension, within its domain and the range that was given. */
function visible(array: TileArray, name: string, low: number, high: number, ranges: Ranges | undefined): readonly [Coordinate, Coordinate] {
  const dim = array.dims.find((dim) => dim.name === name);
  if (!dim?.domain) throw new HyperslabError("InvalidArgument", `'follow' needs dimensions with numbers, and '${name}' is none; leave it out`);
  const isFloat = dim.type.startsWith("float");
  const given = ranges?.[name];
  const ends = given && !Array.isArray(given[0]) ? (given as readonly [Coordinate, Coordinate]) : dim.domain;
  const [first, last] = ends.map(Number) as [number, number];
  const from = Math.min(last, Math.max(first, isFloat ? low : Math.floor(low)));
  const to = Math.max(from, Math.min(last, isFloat ? high : Math.ceil(high)));
  return typeof dim.domain[0] === "bigint" ? [BigInt(from), BigInt(to)] : [from, to];
}

/** The smallest and the largest value of points. */
function extentOf(batches: readonly Batch[], { scale, offset } = { scale: 1, offset: 0 }): readonly [number, number] | undefined {
  const ends = batches.flatMap(({ extent }) => extent ?? []).map((end) => end * scale + offset);
  return ends.length === 0 ? undefined : [Math.min(...ends), Math.max(...ends)];
}

/** Values of points, evenly spread. */
function sampleOf(batches: readonly Batch[], count: number, { scale, offset } = { scale: 1, offset: 0 }): Float64Array {
  const step = Math.max(1, Math.ceil(count / SAMPLE_MAX));
  const found: number[] = [];
  for (const { values, field, columns } of batches) {
    const stored = field === undefined ? undefined : columns[field]?.values as ArrayLike<number | bigint> | undefined;
    for (let i = 0; values && stored && i < values.length; i += step) if (values[i] !== NO_DATA) found.push(Number(stored[i]) * scale + offset);
  }
  return Float64Array.from(found.slice(0, SAMPLE_MAX));
}
