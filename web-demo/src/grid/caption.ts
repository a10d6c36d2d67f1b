// The texts around a saved picture of a grid.
import { colorsOf } from "../colors";
import type { Caption } from "../ui/picture";
import { hexOf } from "./channels";
import type { GridModel } from "./model";
import { numberText } from "./values";

/** The caption of the current picture. */
export function captionOf(model: GridModel): Omit<Caption, "sources"> & { name: string } {
  const loaded = model.loaded.peek();
  if (!loaded) throw new Error("There is no picture to save. Wait until it is drawn.");
  const { variable, others, channelAxis, meaning } = loaded;
  const blended = model.blended.peek();
  const title = variable.long_name || variable.name || model.opened.dataset.name || "Array";
  const unit = meaning.unit && meaning.unit !== "1" ? ` in ${meaning.unit}` : "";
  const shown = others.filter((axis) => axis.length > 1 && (axis !== channelAxis || blended.length === 0));
  const places = shown.map((axis) => `${axis.axis.name} ${axis.text(model.at.peek()[axis.axis.dimension] ?? 0)}`).join(", ");
  const crs = model.opened.dataset.crs?.[variable.crs ?? -1];
  const [low, high] = model.range.peek();
  const isScaled = blended.length === 0 && low <= high;
  return {
    name: [variable.name || "array", ...shown.map((axis) => axis.text(model.at.peek()[axis.axis.dimension] ?? 0))].join("-").replace(/[^\p{L}\p{N}._-]+/gu, "_"),
    title: blended.length === 0 ? title + unit : title,
    lines: [places, crs?.code || crs?.name ? `Coordinates: ${crs.code ?? crs.name}` : ""],
    scale: isScaled ? { title: `${variable.name || "value"}${unit}${model.log.peek() ? ", logarithmic" : ""}`, colormap: colorsOf(model.colormap.peek()), low: numberText(low, meaning), high: numberText(high, meaning) } : undefined,
    classes: blended.map((channel) => {
      const [from, to] = model.channelRange(channel).map((end) => String(Number(end.toPrecision(5))));
      return { color: `#${hexOf(channel.color)}`, text: `${channel.name} (${from} to ${to})` };
    }),
  };
}
