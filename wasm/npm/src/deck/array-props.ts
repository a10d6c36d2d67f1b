// The props of an `ArrayLayer`.
import type { CompositeLayerProps, PickingInfo } from "@deck.gl/core";
import type { TileArray } from "../array.js";
import type { PyramidLevel } from "../describe.js";
import type { Colormap, ColormapName } from "./colormaps.js";
import type { Coordinate } from "./coordinates.js";
import type { Place } from "./place.js";
import type { ChannelStyle } from "./planes.js";
import type { Decode, Scale } from "./shading.js";

/** The level that an `ArrayLayer` draws now. */
export interface DrawnView {
  /** The index in `levels` of the level that is drawn. */
  readonly level: number;
  /** Cells of the finest level in one of its cells, along x and y. */
  readonly factors: readonly [number, number];
  /** Cells of this level per pixel of the screen, along x and y. */
  readonly cellsPerPixel: readonly [number, number];
  /** Whether nothing is read, because the cells in view do not fit in `cacheBytes`. Zoom in, or make overviews. */
  readonly tooMany: boolean;
}

/** A sample of the values in view. */
export interface ViewValues {
  /** The values, unpacked and without "no data": at most 65,536, evenly spread. With channels, one list for each. */
  readonly values: readonly Float64Array[];
  /** The smallest and the largest of all values in the tiles or points in view, unpacked. With channels, one for each. `undefined` without values. */
  readonly extents: readonly (readonly [number, number] | undefined)[];
  /** Whether all tiles in view have come. */
  readonly done: boolean;
}

/** The cell at a place of the world. */
export interface PickedCell {
  /** Its coordinates in the finest array, by dimension. Selects the cell as it is: `get(array, coordinates)`. */
  readonly coordinates: Readonly<Record<string, Coordinate>>;
  /** Its column and row, counted from the first cell of the finest level. */
  readonly position: readonly [number, number];
  /** The stored value of the finest level that has come. `null` for no data; `undefined` if none has come. With channels, the value of the first. */
  readonly value: number | bigint | null | undefined;
  /** The stored value, also if it means "no data". `null` for null; `undefined` if none has come. */
  readonly stored: number | bigint | null | undefined;
  /** The value unpacked with `decode`. */
  readonly decoded: number | null | undefined;
  /** The stored values of all channels. */
  readonly values: readonly (number | bigint | null)[];
  /** The index in `levels` of the level that the value is from. */
  readonly level: number;
  /** Cells of the finest level that the value covers, along x and y. */
  readonly factors: readonly [number, number];
  /** The larger of both `factors`. */
  readonly factor: number;
}

/** The result of deck.gl's events and of `pickObject` for an `ArrayLayer`. */
export type ArrayPickingInfo = PickingInfo<PickedCell>;

/** The props of `ArrayLayer` besides those of every deck.gl layer. */
export interface ArrayLayerOwnProps {
  /** The result of `levels(source)`, or one open array. */
  levels: readonly PyramidLevel[] | TileArray;
  /** The attribute to draw. Default: the first. */
  attribute?: string;
  /** The dimension that is drawn to the right. Default: the last. */
  x?: string;
  /** The dimension that is drawn across it. Default: the last one that is not `x`. */
  y?: string;
  /** Coordinates of the other dimensions in the finest array. Default: their first. */
  at?: Readonly<Record<string, Coordinate>>;
  /** The coordinate of the first cell, by dimension, as `first` of a described axis. Default: the start of the domain. */
  first?: Readonly<Record<string, Coordinate>>;
  /** Coordinates from one position to the next, by dimension, as `stride` of a described axis. Default: 1. */
  stride?: Readonly<Record<string, number>>;
  /** The values (unpacked with `decode`) of the first and the last colour. Default: `[0, 1]`, or with `rgb` the range of the type. */
  range?: readonly [number, number];
  /** The colours. Default: `"viridis"`. */
  colormap?: Colormap | ColormapName;
  /** How values become colours. Default: `"linear"`. */
  scale?: Scale;
  /** Stored values that are transparent, as null and NaN are. Default: the attribute's fill value. */
  missing?: readonly (number | bigint)[];
  /** The lowest and the highest stored value that count; others are transparent. Default: all. */
  valid?: readonly [number | bigint, number | bigint];
  /** The place of the cells: degrees in a `MapView`, any unit in an `OrthographicView`. Default: a unit for each cell. */
  place?: Place;
  /** Up to six channels, whose colours are added. */
  channels?: readonly ChannelStyle[];
  /** Draw three bands as red, green and blue: the values of a cell, an axis of three or four coordinates (or name it), or three attributes. */
  rgb?: boolean | string;
  /** How to unpack stored values. */
  decode?: Decode;
  /** The most bytes of tiles to keep, in memory and on the GPU together. Default: 256 MiB. */
  cacheBytes?: number;
  /** Called when all tiles in view have come. */
  onLoad?: () => void;
  /** Called with the number of tiles that are still to come. */
  onBusy?: (count: number) => void;
  /** Called when the drawn level changes, or when there are too many cells to read. */
  onView?: (view: DrawnView) => void;
  /** Called with a sample of the values in view when tiles have come, at most once for each frame. */
  onData?: (values: ViewValues) => void;
}

/** The props of an `ArrayLayer`. `onError` is called if a tile cannot be read or props do not fit the array; return true to keep deck.gl from logging it. */
export type ArrayLayerProps = CompositeLayerProps & ArrayLayerOwnProps;
