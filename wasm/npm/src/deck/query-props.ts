// The props of a `QueryLayer`.
import type { Color, CompositeLayerProps, PickingInfo } from "@deck.gl/core";
import type { TileArray } from "../array.js";
import type { Ranges } from "../select.js";
import type { Value } from "../values.js";
import type { ViewValues } from "./array-props.js";
import type { Colormap, ColormapName } from "./colormaps.js";
import type { Decode, Scale } from "./shading.js";

/** The result of deck.gl's events and of `pickObject` for a `QueryLayer`: `object` has the fields of the cell, with labels of enumerations. */
export type QueryPickingInfo = PickingInfo<Record<string, Value>>;

/** The props of `QueryLayer` besides those of every deck.gl layer. */
export interface QueryLayerOwnProps {
  /** The array whose cells are points. */
  array: TileArray;
  /** The dimension or attribute of the first coordinate: the longitude on a `MapView`. */
  x: string;
  /** The dimension or attribute of the second coordinate. */
  y: string;
  /** The dimension or attribute of the third coordinate. Default: none. */
  z?: string;
  /** Closed ranges by dimension, as in `query`. */
  ranges?: Ranges;
  /** A condition such as `"mag >= 4.5"`. */
  where?: string;
  /** Query only the visible box, again each time the view comes to rest. `x` and `y` must be dimensions. */
  follow?: boolean;
  /** The field that gives colours. Default: all points have `fillColor`. */
  color?: string;
  /** The values (unpacked with `decode`) of the first and the last colour. */
  range?: readonly [number, number];
  /** The colours. Default: `"viridis"`. */
  colormap?: Colormap | ColormapName;
  /** How values become colours. Default: `"linear"`. `"category"` suits enumerations. */
  scale?: Scale;
  /** How to unpack the values of `color`. */
  decode?: Decode;
  /** Stored values of `color` that mean "no data", as null and NaN do. Default: the attribute's fill value. */
  missing?: readonly (number | bigint)[];
  /** The fields of red, green and blue, instead of `color`. */
  rgb?: readonly [string, string, string];
  /** The value of `rgb` that is brightest. Default: 255. */
  rgbMax?: number;
  /** The colour of points without `color`. */
  fillColor?: Color;
  /** The colour of points whose value is missing. */
  missingColor?: Color;
  /** The field that gives sizes. Default: all points have `radius`. */
  size?: string;
  /** The values of the smallest and the largest points. */
  sizeRange?: readonly [number, number];
  /** The radii of the smallest and the largest points, in pixels. Default: `[2, 12]`. */
  sizePixels?: readonly [number, number];
  /** The radius of points without `size`, in pixels. Default: 3. */
  radius?: number;
  /** More fields to read, for picking. */
  columns?: readonly string[];
  /** The most points to read. Default: 5,000,000. */
  pointsMax?: number;
  /** Called when points have come: their number, whether all have, and whether `pointsMax` left some out. */
  onCount?: (count: number, done: boolean, limited: boolean) => void;
  /** Called when all points have come. */
  onLoad?: () => void;
  /** Called with a sample of the values of `color` when points have come. */
  onData?: (values: ViewValues) => void;
}

/** The props of a `QueryLayer`. `onError` is called if the query fails; return true to keep deck.gl from logging it. */
export type QueryLayerProps = CompositeLayerProps & QueryLayerOwnProps;
