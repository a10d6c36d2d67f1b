// What a user takes away: lines of code that read the cells that are shown, and files with them.
import { mount, type TileArray } from "hyperslab";
import * as text from "./text";

/** Coordinates of a dimension, both ends included: bigints for types of 64 bits. */
export interface Span { readonly type: string; readonly lo: number | bigint; readonly hi: number | bigint }

/** What is shown of a dense array. */
export interface GridQuery {
  /** The address of the array. */
  readonly url: string;
  readonly attribute: string;
  /** The range of each dimension, in the order of dimensions. */
  readonly ranges: readonly Span[];
  /** In milliseconds since 1970; `undefined` for the newest. */
  readonly at: number | undefined;
}

/** What is shown of a sparse array. */
export interface PointsQuery {
  readonly url: string;
  /** The range of each dimension that is drawn, with its name. */
  readonly ranges: readonly (Span & { readonly name: string })[];
  /** The names of all dimensions, in order. */
  readonly dims: readonly string[];
  readonly where: string;
  readonly at: number | undefined;
}

/** A way to read the same cells. */
export interface Line { readonly name: string; readonly code: string }

/** A file with the cells that are shown. */
export interface File { readonly name: string; readonly label: string; read(): Promise<BlobPart> }

/** The formats of files that can be saved, by their endings. */
const FORMATS = { npy: "NumPy", csv: "CSV", arrow: "Arrow" } as const;

/** Files with the same cells. Their names say what was selected and when. */
export function gridFiles(query: GridQuery, array: TileArray): File[] {
  const { url, attribute, at } = query;
  const select = selectionOf(query);
  const name = [nameOf(url), attribute, select.replaceAll(":", "-").replaceAll(",", "_"), ...(at === undefined ? [] : [`at-${at}`])].filter(Boolean).join(".");
  return Object.entries(FORMATS).map(([ending, label]) => ({
    name: `${name}.${ending}`, label, read: async () => (await mount(array).readFile(`slices/${encodeURIComponent(attribute || UNNAMED)}@${select}.${ending}`)) as Uint8Array<ArrayBuffer>,
  }));
}

/** What an attribute without a name is called. */
const UNNAMED = "data";

/** The selection of all dimensions, as command line, mount and JavaScript write it. */
function selectionOf({ ranges }: GridQuery): string {
  return ranges.map((span) => (span.lo === span.hi ? end(span, span.lo) : rangeOf(span))).join(",");
}

/** A range of one dimension. Those of dates and of fractions include both ends, and those of integers only the first. */
function rangeOf(span: Span): string {
  const { type, lo, hi } = span;
  if (unitOf(span) !== undefined || type.startsWith("float")) return `${end(span, lo)}:${end(span, hi)}`;
  return `${lo}:${typeof hi === "bigint" ? hi + 1n : hi + 1}`;
}

/** A coordinate: dates as such. */
function end(span: Span, coordinate: number | bigint): string {
  const unit = unitOf(span);
  return unit === undefined ? String(coordinate) : text.isoDate(BigInt(coordinate), unit);
}

/** The ranges in Python: `multi_index` includes both ends, whatever the type. */
function pythonOf({ ranges }: GridQuery): string {
  return ranges.map((span) => (span.lo === span.hi ? pythonEnd(span, span.lo) : `${pythonEnd(span, span.lo)}:${pythonEnd(span, span.hi)}`)).join(", ");
}

function pythonEnd(span: Span, coordinate: number | bigint): string {
  const unit = unitOf(span);
  return unit === undefined ? String(coordinate) : `np.datetime64(${BigInt(coordinate)}, ${quote(NUMPY[unit] ?? unit)})`;
}

/** The names of numpy's units, where they are others. */
const NUMPY: Readonly<Record<string, string>> = { year: "Y", month: "M", week: "W", day: "D", hr: "h", min: "m", sec: "s" };

/** The unit of the dates of a dimension. `undefined` if it has none. */
function unitOf({ type }: Span): string | undefined {
  return /^datetime_(\w+)$/.exec(type)?.[1];
}

/** The same cells by command, from a mount, in JavaScript and in Python. */
export function gridLines(query: GridQuery): Line[] {
  const { url, attribute, at } = query;
  const select = selectionOf(query);
  const file = nameOf(url);
  const time = at === undefined ? "" : ` --at ${at}`;
  return [
    { name: "Command line", code: `hyperslab export ${shell(url)} ${shell(`${file}.npy`)} --select ${shell(select)} --attrs ${shell(attribute || UNNAMED)}${time}` },
    { name: "Mount", code: `np.load(${quote(`mnt/${at === undefined ? "" : `at/${at}/`}slices/${attribute || UNNAMED}@${select}.npy`)})` },
    { name: "JavaScript", code: `const array = await open(${quote(url)}${at === undefined ? "" : `, { at: ${at} }`});\nconst { data, shape } = await get(array, ${quote(select)}, { attrs: ${quote(attribute)} });` },
    { name: "Python", code: `with tiledb.open(${quote(url)}${at === undefined ? "" : `, timestamp=${at}`}) as array:\n    values = array.multi_index[${pythonOf(query)}][${quote(attribute)}]` },
  ];
}

/** The same points by command, in JavaScript and in Python. */
export function pointsLines({ url, ranges, dims, where, at }: PointsQuery): Line[] {
  const select = ranges.map((span) => `${span.name}=${rangeOf(span)}`).join(",");
  const object = ranges.map(({ name, lo, hi }) => `${quote(name)}: [${[lo, hi].map((end) => (typeof end === "bigint" ? `${end}n` : String(end))).join(", ")}]`).join(", ");
  const time = at === undefined ? "" : ` --at ${at}`;
  const python = dims.map((dim) => {
    const span = ranges.find(({ name }) => name === dim);
    return span ? `${pythonEnd(span, span.lo)}:${pythonEnd(span, span.hi)}` : ":";
  }).join(", ");
  return [
    { name: "Command line", code: `hyperslab export ${shell(url)} ${shell(`${nameOf(url)}.csv`)} --select ${shell(select)}${where ? ` --where ${shell(where)}` : ""}${time}` },
    { name: "JavaScript", code: `const array = await open(${quote(url)}${at === undefined ? "" : `, { at: ${at} }`});\nconst { columns } = await query(array, { ranges: { ${object} }${where ? `, where: ${quote(where)}` : ""} }).columns();` },
    { name: "Python", code: `with tiledb.open(${quote(url)}${at === undefined ? "" : `, timestamp=${at}`}) as array:\n    columns = array${where ? `.query(cond=${quote(where)})` : ""}.multi_index[${python}]` },
  ];
}

function nameOf(url: string): string {
  return url.replace(/\/+$/, "").split("/").at(-1)?.replace(/[^\w.-]/g, "_") || "array";
}

/** A word for a shell: quoted if it has other characters than those of names and paths. */
function shell(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
