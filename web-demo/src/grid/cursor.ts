// The text for the cell under the pointer, and for the level that is drawn.
import type { TileArray } from "hyperslab";
import type { ArrayLayer, PickedCell } from "hyperslab/deck";
import { changeText } from "./compare/cells";
import type { GridModel, Loaded } from "./model";
import { valueText } from "./values";

/** The coordinates and the value of the cell at a place of the world, and how it changed. Empty outside the array. */
export function cursorText(model: GridModel, { x, y, meaning, levels, method }: Loaded, layer: ArrayLayer, at: readonly [number, number]): string {
  const cell = layer.cellAt(at);
  if (!cell) return "";
  const [column, row] = cell.position;
  const named = [...(y ? [`${y.axis.name} ${y.text(row)}`] : []), `${x.axis.name} ${x.text(column)}`].join(", ");
  const { comparison } = model;
  if (!comparison.times.value) return `${named}: ${text()}`;
  const isKept = comparison.isUnchanged(column, row);
  return `${named}: ${changeText(comparison.differences.value ?? [], column, row) ?? `${text()} (${isKept ? "unchanged" : "not compared"})`}`;

  function text(): string {
    const { value, stored, factor, level } = cell as PickedCell;
    // An overview need not cover the whole array.
    if (stored === undefined) return model.busy.value > 0 ? "…" : "no data";
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

/** The coordinates of the cell under the pointer, in the order of the array's dimensions. `undefined` outside the picture. */
export function coordinatesAt({ pointer, camera, at }: GridModel, { x, y, others, placement }: Loaded, { dims }: TileArray): (number | bigint)[] | undefined {
  if (!pointer.value) return undefined;
  void camera.state.value;
  const place = camera.toWorld(...pointer.value);
  const [column, row] = [Math.floor(place[0]), Math.floor(place[1] / placement.aspect)];
  if (column < 0 || row < 0 || column >= x.length || row >= (y?.length ?? 1)) return undefined;
  return dims.map(({ name }) => {
    const axis = [x, y, ...others].find((one) => one?.axis.dimension === name);
    return axis?.coordinate(axis === x ? column : axis === y ? row : at.value[name] ?? 0) ?? 0;
  });
}
