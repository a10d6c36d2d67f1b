// Places the cells of a picture in the world of the canvas, whose unit is a column of the finest level.
import type { Variable } from "hyperslab";
import type { LabelledAxis } from "./axes";

/** How the rows of a picture are drawn. */
export interface Placement {
  /** The height of a row in columns. */
  readonly aspect: number;
  /** Whether later rows are drawn higher: the coordinate of y grows. */
  readonly up: boolean;
}

/** The most different sides of a cell that are drawn as they are. Beyond it, cells are squares. */
const ASPECT_MAX = 20;

/** The width of an array of one dimension, in heights of its row. */
const ROW = 12;

/** The placement of a variable's cells: by the steps of its axes, if both are in the same unit. */
export function placeOf({ geotransform }: Variable, x: LabelledAxis, y: LabelledAxis | undefined): Placement {
  if (!y) return { aspect: Math.max(1, x.length / ROW), up: false };
  const [dx, dy] = geotransform ? [geotransform[1], geotransform[5]] : [stepOf(x), stepOf(y)];
  const areSpatial = geotransform !== undefined || (isPlaced(x) && isPlaced(y) && x.axis.role === "x" && y.axis.role === "y");
  if (!areSpatial || !dx || !dy) return { aspect: 1, up: false };
  const ratio = Math.abs(dy / dx);
  const aspect = ratio > 1 / ASPECT_MAX && ratio < ASPECT_MAX ? ratio : 1;
  return { aspect, up: y.axis.down === undefined ? dy > 0 : !y.axis.down };
}

/** Whether an axis has coordinates of its own. Rows that are only numbered are drawn downwards, like the rows of a matrix. */
function isPlaced({ axis: { coordinates, guessed } }: LabelledAxis): boolean {
  return !guessed && (coordinates.type === "regular" || coordinates.type === "array");
}

/** The mean distance between neighbouring coordinates. */
function stepOf(axis: LabelledAxis): number | undefined {
  const [first, last] = [axis.value(0), axis.value(axis.length - 1)];
  return first === undefined || last === undefined || axis.length < 2 ? undefined : (last - first) / (axis.length - 1);
}
