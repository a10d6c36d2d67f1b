// Recognizes arrays that can be drawn as a grid. The page loads this file first, so it imports no heavy ones.
import type { Variable } from "hyperslab";
import { arrayOf, type Opened } from "../opened";

/** Whether there is a variable to draw. */
export function isGrid(opened: Opened): boolean {
  return drawable(opened).length > 0;
}

/** The variables that can be drawn: of one number per cell, in a dense array. */
export function drawable({ dataset: { variables = [] }, ...opened }: Opened): Variable[] {
  const array = arrayOf(opened as Opened);
  if (array?.kind === "sparse") return [];
  const numbers = variables.filter(({ sparse, datatype, axes }) => !sparse && axes.length > 0 && !/^(string|char|blob|any|geom)/.test(datatype));
  const single = array ? numbers.filter(({ attribute }) => array.attrs.find(({ name }) => name === attribute)?.cell === 1) : numbers;
  const data = single.filter(({ role }) => role === "data");
  return data.length > 0 ? data : single;
}
