// The deck.gl layer of a grid.
import { ArrayLayer, type ChannelStyle } from "hyperslab/deck";
import { colorsOf } from "../colors";
import type { GridModel, Loaded } from "./model";

/** How visible the picture is behind the changes of a comparison. */
const DIM = 0.25;

/** Draws what a model says. Reads its signals. */
export function layerOf(model: GridModel, loaded: Loaded): ArrayLayer {
  const { variable, levels, x, y, meaning, others } = loaded;
  const drawn = y ? [x, y] : [x];
  const [lo, hi] = model.range.value;
  const at = others.map((axis): [string, number | bigint] => [axis.axis.dimension, axis.coordinate(model.at.value[axis.axis.dimension] ?? 0)]);
  const packed = meaning.scale !== 1 || meaning.offset !== 0;
  const channels = model.blended.value.map((channel): ChannelStyle => ({ ...channel.source, color: channel.color, range: model.channelRange(channel) }));
  const isBehind = model.comparison.times.value !== undefined;
  return new ArrayLayer({
    id: "grid",
    opacity: isBehind ? DIM : 1,
    levels,
    attribute: variable.attribute,
    x: x.axis.dimension,
    ...(y ? { y: y.axis.dimension } : {}),
    at: Object.fromEntries(at),
    first: Object.fromEntries([...others, ...drawn].map((axis) => [axis.axis.dimension, axis.coordinate(0)])),
    stride: Object.fromEntries(drawn.map(({ axis }) => [axis.dimension, axis.stride ?? 1])),
    range: lo <= hi ? [lo, hi] : [0, 1],
    colormap: colorsOf(isBehind ? "gray" : model.colormap.value),
    scale: model.log.value ? "log" : "linear",
    missing: meaning.missing,
    ...(meaning.valid ? { valid: meaning.valid } : {}),
    ...(channels.length > 0 ? { channels } : {}),
    place: [1, 0, 0, 0, loaded.placement.aspect, 0],
    ...(packed ? { decode: { scale: meaning.scale, offset: meaning.offset } } : {}),
    onBusy: (count) => { model.reading.value = count; },
    onLoad: () => { model.failure.value = undefined; },
    onView: (view) => { model.view.value = view; },
    onData: (values) => model.see(values),
    onError: (error) => { model.failure.value = error.message; return true; },
  });
}
