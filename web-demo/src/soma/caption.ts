// The texts around a saved picture of an experiment.
import { colormap } from "hyperslab/deck";
import { number } from "../text";
import type { Caption } from "../ui/picture";
import type { SomaModel } from "./model";
import { categoryColour, cssColour } from "./palette";

/** The caption of the current picture. */
export function captionOf(model: SomaModel): Omit<Caption, "sources"> & { name: string } {
  const { experiment, map, layer, positions, selection, by } = model;
  const place = experiment.maps[map.peek()]?.name ?? "";
  const colouring = model.colouring.peek();
  const name = model.opened.dataset.title || model.opened.dataset.name || "experiment";
  const [low, high] = model.range.peek() ?? (colouring?.kind === "numbers" ? [colouring.low, colouring.high] : [0, 0]);
  const now = by.peek();
  const matrix = now && "gene" in now ? `, ${experiment.layers[layer.peek()]?.name ?? ""}` : "";
  const chosen = selection.peek();
  return {
    name: [name, place, colouring?.name ?? ""].filter(Boolean).join("-").replace(/[^\p{L}\p{N}._-]+/gu, "_"),
    title: `${name}: ${colouring?.name ?? ""}`,
    lines: [`${place}, ${(positions.peek()?.length ?? 0).toLocaleString("en")} observations${chosen ? `, ${chosen.length.toLocaleString("en")} selected` : ""}`],
    scale: colouring?.kind === "numbers" ? { title: `${colouring.name}${matrix}`, colormap: colormap("viridis"), low: number(low), high: number(high) } : undefined,
    classes: colouring?.kind === "categories" ? colouring.labels.map((text, code) => ({ text, code })).filter(({ code }) => !model.hidden.peek().has(code)).map(({ text, code }) => ({ text, color: cssColour(categoryColour(code)) })) : [],
  };
}
