// What a SOMA experiment has to show, as its description says.
import type { Dataset, Embedding, Table, Variable } from "hyperslab";

/** A matrix with a row for each observation and a column for each gene. */
export interface Layer {
  /** As in "RNA: data". */
  readonly name: string;
  readonly variable: Variable;
  /** The dimensions that count the observations and the genes. */
  readonly rows: string;
  readonly columns: string;
  /** The table of the genes. */
  readonly genes: Table;
}

/** Positions of the observations. */
export interface Map2d { readonly name: string; readonly embedding: Embedding }

export interface Experiment {
  readonly obs: Table;
  readonly maps: readonly Map2d[];
  readonly layers: readonly Layer[];
}

/** How deep measurements may be. */
const DEPTH_MAX = 8;

/** The experiment that a dataset describes. `undefined` if it has no table of observations. */
export function experimentOf(dataset: Dataset): Experiment | undefined {
  const obs = dataset.application === "soma" ? dataset.tables?.find(({ name }) => name === "obs") : undefined;
  if (!obs) return undefined;
  const all = within(dataset, DEPTH_MAX);
  const tables = new Map(all.flatMap(({ tables = [] }) => tables.map((table) => [table.path, table])));
  const maps = all.flatMap(({ name, embeddings = [] }) => embeddings
    .filter(({ table, component_count: count = 2 }) => table === obs.path && count >= 2)
    .map((embedding) => ({ name: named(name, embedding.name.replace(/^obsm\//, "")), embedding })));
  const layers = all.flatMap(({ name, variables = [] }) => variables.flatMap((variable) => layerOf(name, variable, obs, tables)));
  return { obs, maps: [...maps].sort((a, b) => rank(a) - rank(b)), layers };
}

function within(dataset: Dataset, depth: number): Dataset[] {
  return [dataset, ...(depth > 0 ? (dataset.children ?? []).flatMap((child) => within(child, depth - 1)) : [])];
}

function layerOf(measurement: string, variable: Variable, obs: Table, tables: ReadonlyMap<string, Table>): Layer[] {
  const [rows, columns, ...more] = variable.axes;
  const genes = columns?.table === undefined ? undefined : tables.get(columns.table);
  if (!rows || !columns || more.length > 0 || rows.table !== obs.path || !genes || genes === obs) return [];
  return [{ name: named(measurement, variable.name.replace(/^X\//, "")), variable, rows: rows.dimension, columns: columns.dimension, genes }];
}

function named(measurement: string, name: string): string {
  return measurement ? `${measurement}: ${name}` : name;
}

/** Maps that were made to be looked at come first. */
function rank({ name }: Map2d): number {
  const found = [/umap/i, /tsne|t-sne/i, /spatial/i].findIndex((pattern) => pattern.test(name));
  return found < 0 ? 3 : found;
}

/** The columns of text that name genes: symbols before identifiers. */
export function nameColumns({ columns }: Table): string[] {
  const texts = columns.filter(({ datatype, dimension, enumeration }) => !dimension && !enumeration && /^string_|^char$/.test(datatype)).map(({ name }) => name);
  const score = (name: string) => [/^(feature|gene)_?name$/i, /symbol/i, /name/i, /^var_id$/i].findIndex((pattern) => pattern.test(name));
  return texts.sort((a, b) => (score(a) >>> 0) - (score(b) >>> 0)).slice(0, 3);
}
