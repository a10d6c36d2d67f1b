// Recognizes arrays that can be drawn as points. The page loads this file first, so it imports no heavy ones.
import { arrayOf, type Opened } from "../opened";

/** Whether there are points to draw. */
export function isPoints(opened: Opened): boolean {
  return arrayOf(opened)?.kind === "sparse" && plotted(opened) !== undefined;
}

/** The names of the horizontal and the vertical dimension. `undefined` if no two dimensions are numbers or dates. */
export function plotted(opened: Opened): [string, string] | undefined {
  const array = arrayOf(opened);
  const numbers = (array?.dims ?? []).filter(({ domain, type }) => domain && !/^string/.test(type)).map(({ name }) => name);
  const told = opened.dataset.tables?.[0]?.points?.filter((name) => numbers.includes(name)) ?? [];
  const find = (pattern: RegExp) => numbers.find((name) => pattern.test(name));
  const x = told[0] ?? find(/^(lon|longitude|x)$/i) ?? numbers[1] ?? numbers[0];
  const y = told[1] ?? find(/^(lat|latitude|y)$/i) ?? numbers.find((name) => name !== x) ?? x;
  return x === undefined || y === undefined ? undefined : [x, y];
}
