// The drawn planes of an array: one of values, or one for each channel.
import type { TileArray } from "../array.js";
import { HyperslabError } from "../errors.js";
import { get, type Chunk } from "../get.js";
import type { TypedArray } from "../values.js";
import { distance, type Coordinate } from "./coordinates.js";
import { json } from "./names.js";
import { colormap, ramp, type Colormap, type ColormapName } from "./colormaps.js";
import type { Pyramid, Tile } from "./pyramid.js";

/** A channel of an image: an attribute, a coordinate along an axis, or one of several values in a cell. */
export interface ChannelStyle {
  /** The axis of the channels. Default: none; the channel is the attribute itself. */
  axis?: string;
  /** The coordinate along `axis`. */
  index?: Coordinate;
  /** The attribute. Default: the layer's. */
  attribute?: string;
  /** Which value of a cell with several, or which of the cells of a position if the x axis has a `stride`. Default: 0. */
  component?: number;
  /** The colour of the highest value: red, green and blue, 0 to 255. */
  color: readonly [number, number, number] | readonly [number, number, number, number];
  /** The values that are black and of full colour. */
  range: readonly [number, number];
}

/** Where the values of a plane are. */
export interface PlaneSource {
  readonly attribute: string;
  readonly component: number;
  readonly axis?: string;
  readonly index?: Coordinate;
}

/** A plane that is drawn. */
export interface Plane extends PlaneSource {
  readonly range: readonly [number, number];
  readonly colors: Colormap;
}

/** The cells of a tile in one plane. Cell `(column, row)` is at `start + row · strideY + column · strideX`. */
export interface Cells {
  readonly data: TypedArray;
  /** 1 for a value, 0 for null; for each cell of `per` values. */
  readonly validity: Uint8Array | undefined;
  readonly per: number;
  readonly start: number;
  readonly strideX: number;
  readonly strideY: number;
}

/** The most planes that are added together. */
export const PLANES_MAX = 6;

/** The props that say what is drawn. */
export interface PlanesInput {
  readonly attribute: string | undefined;
  readonly range: readonly [number, number] | undefined;
  readonly colormap: Colormap | ColormapName;
  readonly channels: readonly ChannelStyle[] | undefined;
  readonly rgb: boolean | string | undefined;
}

/** The planes that props ask for. */
export function planesOf(array: TileArray, drawn: readonly string[], props: PlanesInput): Plane[] {
  const attribute = props.attribute ?? array.attrs[0]?.name ?? "";
  const { channels } = props;
  if (channels && channels.length > 0) {
    if (channels.length > PLANES_MAX) throw new HyperslabError("InvalidArgument", `${channels.length} channels were given; at most ${PLANES_MAX} can be drawn together`);
    return channels.map(({ component = 0, axis, index, color, range, attribute: own = attribute }) => checked(array, {
      attribute: own, component, ...(axis === undefined ? {} : { axis, index: index ?? 0 }), range, colors: ramp([[0, 0, 0], color]),
    }));
  }
  if (props.rgb) return bands(array, attribute, drawn, props);
  const colors = typeof props.colormap === "string" ? colormap(props.colormap) : props.colormap;
  return [checked(array, { attribute, component: 0, range: props.range ?? [0, 1], colors })];
}

/** Red, green and blue: the values of a cell, the first coordinates of an axis, or the first three attributes. */
function bands(array: TileArray, attribute: string, drawn: readonly string[], { range: given, rgb }: PlanesInput): Plane[] {
  const own = array.attrs.find(({ name }) => name === attribute);
  const range = given ?? [0, own?.type === "uint16" ? 65535 : 255];
  const axis = typeof rgb === "string" ? rgb : array.dims.find(({ name }, i) => !drawn.includes(name) && [3, 4].includes(array.shape[i] ?? 0))?.name;
  const low = array.dims.find(({ name }) => name === axis)?.domain?.[0] ?? 0;
  const sources = [0, 1, 2].map((band): PlaneSource => {
    if (typeof own?.cell === "number" && own.cell >= 3) return { attribute, component: band };
    if (axis !== undefined) return { attribute, component: 0, axis, index: typeof low === "bigint" ? low + BigInt(band) : low + band };
    return { attribute: array.attrs[band]?.name ?? "", component: 0 };
  });
  if (sources.some((source) => source.attribute === "")) throw new HyperslabError("InvalidArgument", "`rgb` needs three values in a cell, an axis with three or four coordinates, or three attributes; give `channels` instead");
  return sources.map((source, band) => checked(array, { ...source, range, colors: ramp([[0, 0, 0], [0, 1, 2].map((i) => (i === band ? 255 : 0))]) }));
}

function checked(array: TileArray, plane: Plane): Plane {
  const { attribute, axis, range, colors } = plane;
  const attr = array.attrs.find(({ name }) => name === attribute);
  const names = (all: readonly { name: string }[]) => all.map(({ name }) => name).join(", ");
  if (!attr) throw new HyperslabError("InvalidArgument", `the array has no attribute '${attribute}'; it has ${names(array.attrs)}`);
  if (attr.cell === "var" || /^(string|char|geom|blob)/.test(attr.type)) throw new HyperslabError("InvalidArgument", `the attribute '${attribute}' of type ${attr.type} holds no numbers and cannot be drawn; choose one of ${names(array.attrs)}`);
  if (axis !== undefined && !array.dims.some(({ name }) => name === axis)) throw new HyperslabError("InvalidArgument", `the array has no dimension '${axis}', which a channel names; it has ${names(array.dims)}`);
  if (!Array.isArray(range) || range.some((end) => typeof end !== "number" || Number.isNaN(end))) throw new HyperslabError("InvalidArgument", `the range of '${attribute}' must be two numbers, the lowest and the highest value`);
  if (!(colors instanceof Uint8Array) || colors.length < 4 || colors.length % 4 !== 0 || colors.length > 4 * 4096) throw new HyperslabError("InvalidArgument", "a colour map is a Uint8Array with red, green, blue and alpha of 1 to 4096 colours");
  return plane;
}

/** Identifies what a plane reads, but not how it is coloured. */
export function keyOf(planes: readonly PlaneSource[]): string {
  return planes.map(({ attribute, component, axis = "", index = "" }) => JSON.stringify([attribute, component, axis, String(index)])).join();
}

/** Reads the cells of a tile, a list with those of each plane. */
export async function readTile(pyramid: Pyramid, tile: Tile, planes: readonly PlaneSource[], at: Readonly<Record<string, Coordinate>>, signal: AbortSignal): Promise<Cells[]> {
  const { array, x, y } = tile.level;
  const chunks = new Map<string, Promise<Chunk>>();
  const read = (plane: PlaneSource): Promise<Chunk> => {
    const { attribute, axis } = plane;
    const span = axis === undefined ? [] : spanOf(array, planes, plane);
    const ranges = axis === undefined ? {} : { [axis]: span as [Coordinate, Coordinate] };
    const key = json([attribute, axis, span]);
    const found = chunks.get(key) ?? get(array, pyramid.selection(tile, at, ranges), { attrs: attribute, signal });
    chunks.set(key, found);
    return found;
  };
  const found = await Promise.all(planes.map(async (plane) => [plane, await read(plane)] as const));
  return found.map(([plane, chunk]) => {
    // Axes with one selected coordinate are dropped.
    const kept = array.dims.map((_, i) => i).filter((i) => i === x.index || i === y?.index || array.dims[i]?.name === plane.axis);
    const stride = (index: number | undefined) => (index === undefined ? 0 : chunk.stride[kept.indexOf(index)] ?? 0);
    const isSeveral = x.stride === 1;
    const along = plane.axis === undefined ? 0 : array.dims.findIndex(({ name }) => name === plane.axis);
    const skipped = plane.axis === undefined ? 0 : distance(spanOf(array, planes, plane)[0], plane.index ?? 0) * stride(along);
    const per = array.attrs.find(({ name }) => name === plane.attribute)?.cell;
    const component = plane.component * (isSeveral ? 1 : stride(x.index));
    return { data: chunk.data, validity: chunk.validity, per: typeof per === "number" ? per : 1, start: skipped + component, strideX: stride(x.index) * x.stride, strideY: stride(y?.index) * (y?.stride ?? 1) };
  });
}

/**
 * The lowest and the highest coordinate of the channels that are read together with this one. They have its attribute and
 * its axis, and are at most a tile apart, so every tile that is read is needed.
 */
function spanOf({ dims }: TileArray, planes: readonly PlaneSource[], { attribute, axis, index = 0 }: PlaneSource): [Coordinate, Coordinate] {
  const tile = Number(dims.find(({ name }) => name === axis)?.tile ?? 1);
  const indices = planes.flatMap((plane) => (plane.attribute === attribute && plane.axis === axis ? [plane.index ?? 0] : []));
  const near = (step: 1 | -1) => indices.sort((a, b) => step * distance(b, a)).reduce((end, next) => {
    const gap = step * distance(end, next);
    return gap > 0 && gap <= tile ? next : end;
  }, index);
  return [near(-1), near(1)];
}
