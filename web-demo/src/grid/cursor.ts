// The text for the cell under the pointer, and for the level that is drawn.
import type { ArrayLayer, PickedCell } from "hyperslab/deck";
import type { GridModel, Loaded } from "./model";
import { valueText } from "./values";

/** The coordinates and the value of the cell at a place of the world. Empty outside the array. `isReading`: whether cells are to come. */
export function cursorText({ x, y, meaning, levels, method }: Loaded, layer: ArrayLayer, at: readonly [number, number], isReading: boolean): string {
  const cell = layer.cellAt(at);
  if (!cell) return "";
  const [column, row] = cell.position;
  const named = [...(y ? [`${y.axis.name} ${y.text(row)}`] : []), `${x.axis.name} ${x.text(column)}`].join(", ");
  return `${named}: ${text()}`;

  function text(): string {
    const { value, stored, factor, level } = cell as PickedCell;
    // An overview need not cover the whole array.
    if (stored === undefined) return isReading ? "…" : "no data";
    // In an overview, "no data" means that there was nothing to summarise.
    if (stored === null || (value === null && factor > 1)) return "no data";
    const shown = valueText(stored, meaning);
    if (factor > 1) return `${shown} (${describe(levels[level]?.factors ?? [], method)})`;
    if (stored === meaning.fill) return `${shown} (fill value)`;
    return value === null ? `${shown} (no data)` : shown;
  }
}

/** The text for the cells of a coarser level, if one is drawn. */
export function levelText(model: GridModel): string {
  const loaded = model.loaded.value;
  const level = loaded?.levels[model.view.value?.level ?? 0];
  if (!loaded || !level || level.factors.every((factor) => factor === 1) || model.view.value?.tooMany) return "";
  return `overview: ${describe(level.factors, loaded.method)}`;
}

/** The text for a cell of a level, such as "mean of 1 × 4 × 4 cells". */
function describe(factors: readonly number[], method: string | undefined): string {
  return `${method === undefined ? "" : `${method} of `}${factors.join(" × ")} cells`;
}
