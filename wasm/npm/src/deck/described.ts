// The props of an `ArrayLayer` from the description of an array.
import type { TileArray } from "../array.js";
import type { PyramidLevel } from "../describe.js";
import type { Axis, Channel, Dataset, Flag, Variable } from "../dataset.js";
import { HyperslabError } from "../errors.js";
import type { ArrayLayerOwnProps } from "./array-props.js";
import type { Colormap } from "./colormaps.js";
import type { Coordinate } from "./coordinates.js";
import type { Place } from "./place.js";
import { PLANES_MAX, type ChannelStyle } from "./planes.js";

type Rgb = readonly [number, number, number];

const BANDS: Readonly<Record<string, Rgb>> = { red: [255, 0, 0], green: [0, 255, 0], blue: [0, 0, 255] };
/** Colours of channels that have none: blue, green, red, cyan, magenta and yellow, as microscopes mostly show them. */
const OTHERS: readonly Rgb[] = [[0, 0, 255], [0, 255, 0], [255, 0, 0], [0, 255, 255], [255, 0, 255], [255, 255, 0]];
const FLAGS_MAX = 4096;

/**
 * The props that draw an array as its description says: its axes, place, packing, missing values, channels and the colours
 * of its categories. Add `id`, and what you want otherwise. `variable` is the name of a variable; by default, the first
 * with numbers along x and y. `levels` are those of the variable, or its array. Fails with the code `NotFound` if there is
 * no such variable.
 *
 * @example
 * ```js
 * import { describe, levels } from "hyperslab";
 * import { arrayProps, ArrayLayer } from "hyperslab/deck";
 *
 * const source = "https://example.org/arrays/elevation";
 * const layer = new ArrayLayer({ id: "elevation", ...arrayProps(await describe(source), await levels(source)), range: [0, 600] });
 * ```
 */
export function arrayProps(dataset: Dataset, levels: readonly PyramidLevel[] | TileArray, variable?: string): ArrayLayerOwnProps {
  const all = (dataset.variables ?? []).filter(({ role }) => role === "data");
  const shown = variable === undefined ? all.find(isPlane) ?? all[0] : all.find(({ name }) => name === variable);
  if (!shown) throw new HyperslabError("NotFound", `there is no variable '${variable ?? ""}' to draw; there are ${all.map(({ name }) => `'${name}'`).join(", ") || "none"}`);
  const { x, y } = drawnAxes(shown.axes);
  const across = shown.axes.find(({ role }) => role === "channel");
  const channels = (dataset.channels ?? []).filter((channel) => across !== undefined || all.some(({ name }) => name === channel.variable));
  const place = placeOf(shown, x, y);
  const packing = channels.length === 1 ? channels[0]?.packing ?? shown.packing : shown.packing;
  const numbers = (values: readonly unknown[]) => values.filter((value): value is Coordinate => typeof value === "number" || typeof value === "bigint");
  const { values, valid_min: low, valid_max: high } = shown.missing ?? {};
  return {
    levels, attribute: shown.attribute,
    ...(x ? { x: x.dimension } : {}), ...(y ? { y: y.dimension } : {}),
    first: byDimension(shown.axes, ({ first }) => first), stride: byDimension(shown.axes, ({ stride }) => stride),
    ...(place ? { place } : {}),
    ...(packing ? { decode: { scale: packing.scale, offset: packing.offset } } : {}),
    ...(values ? { missing: numbers(values) } : {}),
    ...(low === undefined && high === undefined ? {} : { valid: [numbers([low])[0] ?? -Infinity, numbers([high])[0] ?? Infinity] as const }),
    ...styleOf(shown, across, channels, all),
  };
}

/** Whether a variable has numbers along x and y. */
function isPlane({ datatype, axes }: Variable): boolean {
  return !/^(string|char|geom|blob)/.test(datatype) && ["x", "y"].every((wanted) => axes.some(({ role }) => role === wanted));
}

/** The axes of x and y, or the last two. */
function drawnAxes(axes: readonly Axis[]): { x: Axis | undefined; y: Axis | undefined } {
  const others = axes.filter(({ role }) => role !== "channel" && role !== "time");
  const x = axes.find(({ role }) => role === "x") ?? others.findLast(({ role }) => role !== "y");
  const y = axes.find(({ role }) => role === "y") ?? others.findLast((axis) => axis !== x && axis.dimension !== x?.dimension);
  return { x, y };
}

function byDimension<T>(axes: readonly Axis[], of: (axis: Axis) => T | undefined): Record<string, T> {
  // Of axes that share a dimension, the one that is drawn comes first.
  return Object.fromEntries([...axes].reverse().flatMap((axis) => (of(axis) === undefined ? [] : [[axis.dimension, of(axis) as T]])));
}

/** The place by the geotransform, or by evenly spaced coordinates. */
function placeOf({ geotransform: g }: Variable, x: Axis | undefined, y: Axis | undefined): Place | undefined {
  if (g) return [g[1], g[2], g[0], g[4], g[5], g[3]];
  const [along, across] = [x, y].map((axis) => {
    const { coordinates } = axis ?? {};
    const even = coordinates?.type === "regular" ? coordinates : coordinates?.type === "array" ? coordinates.regular : undefined;
    return even && { step: even.step, edge: even.start - even.step / 2 };
  });
  return along && across && [along.step, 0, along.edge, 0, across.step, across.edge];
}

/** How values become colours. */
function styleOf(shown: Variable, across: Axis | undefined, channels: readonly Channel[], all: readonly Variable[]): Partial<ArrayLayerOwnProps> {
  const [only] = channels;
  const palette = paletteOf(shown.flags ?? []);
  if (channels.length === 1 && only) {
    const at = across && only.index !== undefined && across.dimension !== shown.axes.find(({ role }) => role === "x")?.dimension ? { at: { [across.dimension]: only.index } } : {};
    return { ...at, ...(only.range ? { range: only.range } : {}), ...(palette ? { colormap: palette, scale: "category" } : {}) };
  }
  if (palette) return { colormap: palette, scale: "category" };
  if (channels.length === 0) return {};
  const bands = channels.filter(({ interpretation = "" }) => Object.hasOwn(BANDS, interpretation));
  const chosen = (bands.length === 3 ? bands : channels).slice(0, PLANES_MAX);
  const most = shown.datatype === "uint16" ? 65535 : shown.datatype === "uint8" ? 255 : 1;
  const isShared = shown.axes.some(({ role, dimension }) => role === "x" && dimension === across?.dimension);
  return { channels: chosen.map(({ variable, index, interpretation = "", color, range }, i): ChannelStyle => ({
    attribute: across ? shown.attribute : all.find(({ name }) => name === variable)?.attribute ?? shown.attribute,
    ...(across && isShared ? { component: (index ?? 0) - (across.first ?? 0) } : across ? { axis: across.dimension, index: index ?? 0 } : {}),
    color: bands.length === 3 ? BANDS[interpretation] as Rgb : color ? [color[0], color[1], color[2]] : OTHERS[i] as Rgb,
    range: bands.length === 3 ? [0, most] : range ?? [0, most],
  })) };
}

/** The colours of categories, by value. `undefined` if they have none. */
function paletteOf(flags: readonly Flag[]): Colormap | undefined {
  const colored = flags.filter(({ value, mask, color }) => color && mask === undefined && Number.isInteger(value) && (value as number) >= 0 && (value as number) < FLAGS_MAX);
  if (colored.length === 0) return undefined;
  const map = new Uint8Array((Math.max(...colored.map(({ value }) => value as number)) + 1) * 4);
  for (const { value, color } of colored) map.set(color as number[], (value as number) * 4);
  return map;
}
