/**
 * Layers for [deck.gl](https://deck.gl) 9: cells of dense arrays and points of queries. Needs the packages
 * `@deck.gl/core` and `@deck.gl/layers`. Start with {@link ArrayLayer} and {@link QueryLayer}.
 *
 * @module hyperslab/deck
 */
export { ArrayLayer } from "./array-layer.js";
export type { ArrayLayerOwnProps, ArrayLayerProps, ArrayPickingInfo, DrawnView, PickedCell, ViewValues } from "./array-props.js";
export { arrayProps } from "./described.js";
export { colormap, colormapNames, type Colormap, type ColormapName } from "./colormaps.js";
export type { Coordinate } from "./coordinates.js";
export type { Place, Rect } from "./place.js";
export type { ChannelStyle } from "./planes.js";
export { QueryLayer } from "./query-layer.js";
export type { QueryLayerOwnProps, QueryLayerProps, QueryPickingInfo } from "./query-props.js";
export type { Decode, Scale } from "./shading.js";
