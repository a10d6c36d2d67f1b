// Plans of reads, and reads ahead.
import { check } from "./arguments.js";
import type { CallOptions, Extreme, TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import { boxJson, clamped, rangesJson, selectionJson, type Ranges, type Selection } from "./select.js";
import { slabsOf } from "./slabs.js";
import type { Priority } from "./store.js";

/** The options of {@link TileArray.explain} and {@link TileArray.tiles}. */
export interface PlanOptions extends CallOptions {
  /** The attributes or dimensions to read. Default: all. */
  attrs?: string | readonly string[];
  /** The order of the cells. Default: `"row"` for dense arrays, `"unordered"` for sparse ones. */
  order?: "row" | "col" | "global" | "unordered";
  /** A condition. Tiles are left out if their statistics show that no cell meets it. */
  where?: string;
}

/** A byte range of a file of the store. */
export interface PlannedRequest {
  /** The file. */
  readonly key: string;
  /** The first byte. */
  readonly offset: number;
  /** The number of bytes. */
  readonly length: number;
}

/** A tile of a fragment. */
export interface PlannedTile {
  /** The fragment's name. */
  readonly fragment: string;
  /** The tile's number in its fragment. */
  readonly number: number;
  /** The lowest and the highest coordinate of the tile in each dimension. */
  readonly domain: readonly (readonly [Extreme, Extreme])[];
  /** The stored size of the fields to read. */
  readonly bytes: number;
}

/** The requests of a read, before it runs. */
export interface ReadPlan {
  /** The byte ranges that are not in the cache of tiles. */
  readonly requests: readonly PlannedRequest[];
  /** The sum of the requests' lengths. */
  readonly bytes: number;
  /** The number of tiles with selected cells. Tiles in the cache are not requested. */
  readonly tiles: number;
}

type RawPlan = { requests: PlannedRequest[]; tiles: PlannedTile[] };

/** Plans a read, as the engine returns it. @internal */
export async function planned(array: TileArray, selection: Selection | Ranges | undefined, options: PlanOptions): Promise<RawPlan> {
  check<PrefetchOptions>({ array, options }, { attrs: 1, order: 1, where: 1, priority: 1, signal: 1 });
  const { attrs, order, where, signal } = options;
  const named = attrs === undefined ? undefined : [attrs].flat();
  const inOrder = order ?? (array.kind === "dense" ? "row" : "unordered");
  const plans: RawPlan[] = [];
  for (const json of planJsons(array, selection, named, inOrder)) {
    plans.push(JSON.parse(await call(signal, (aborted) => array.raw.explain(json, named, inOrder, where, aborted))) as RawPlan);
  }
  return { requests: plans.flatMap(({ requests }) => requests), tiles: plans.flatMap(({ tiles }) => tiles) };
}

/** The selections that are read one after the other. */
function planJsons(array: TileArray, selection: Selection | Ranges | undefined, named: readonly string[] | undefined, order: string): string[] {
  const { kind, dims } = array;
  if (kind === "dense") {
    const box = clamped(selection as Selection, dims);
    const slabs = order === "row" || order === "col" ? slabsOf(box, array, named, order, false) : undefined;
    return slabs ? slabs.slabs.map((slab) => selectionJson(slab.selection, dims)) : [boxJson(box, dims).json];
  }
  if (typeof (selection ?? {}) !== "object" || Array.isArray(selection)) {
    throw new HyperslabError("InvalidArgument", "the array is sparse; select ranges by dimension name: { x: [low, high] }");
  }
  return [rangesJson((selection ?? {}) as Ranges, dims)];
}

/** The options of {@link prefetch}. */
export interface PrefetchOptions extends PlanOptions {
  /** Default: `"low"`. */
  priority?: Priority;
}

/**
 * Requests what a read needs, so that the store's cache has it when the read comes. By default, the requests wait while
 * other reads of the store run. Only stores with a cache, such as `HttpStore`, benefit.
 */
export async function prefetch(array: TileArray, selection?: Selection | Ranges, options: PrefetchOptions = {}): Promise<void> {
  const { requests } = await planned(array, selection, options);
  const { store } = array;
  const { priority = "low", signal } = options;
  const read = async ({ key, offset, length }: PlannedRequest) => store.getRange?.(key, { offset, length }, { signal, priority });
  await Promise.all(requests.map(read));
}
