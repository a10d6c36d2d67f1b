// Writes one fragment in parts.
import { check } from "./arguments.js";
import { seed, type FragmentInfo, type Timestamp, type TileArray } from "./array.js";
import { call } from "./engine.js";
import { HyperslabError } from "./errors.js";
import type { EngineWriter } from "./messages.js";
import { selectionJson, type Selection } from "./select.js";
import { beginChange } from "./turns.js";
import { encodedColumns, written, type PutData } from "./write.js";

/** The options of {@link writer}. */
export interface WriterOptions {
  /** The box of a dense write. It must consist of whole tiles. Default: the whole domain. */
  box?: Selection;
  /** The timestamp of the write. Default: now, or just after the latest write if that is up to five seconds ahead of the clock. */
  at?: Timestamp;
}

/**
 * Writes one fragment in parts, of any size: the engine holds about one part and one tile per field. Memory also holds
 * the compressed files, unless the store has `createWritable`, as `FileStore` and `OpfsStore` have. Readers see the cells
 * after `close`.
 */
export class FragmentWriter {
  private raw: EngineWriter | undefined;
  /** Whether a part was refused, so that cells are missing. */
  private isIncomplete = false;

  /** @internal */
  constructor(private readonly array: TileArray, raw: EngineWriter, private readonly time: number, private readonly ended: () => void) {
    this.raw = raw;
  }

  /**
   * Writes the next cells, as {@link put} takes them. They come in the global order: tile by tile, and in the array's
   * cell order within a tile. A part may end anywhere. If this fails, call `abort`.
   */
  async write(data: PutData): Promise<void> {
    check({ data });
    const raw = this.started();
    const before = this.isIncomplete;
    this.isIncomplete = true;
    const columns = encodedColumns(this.array, data, "row");
    await call(undefined, () => raw.push(columns as never));
    this.isIncomplete = before;
  }

  /**
   * Commits the fragment and returns it. The array then shows the new cells, as after {@link put}. If this fails, nothing
   * was written, unless the message starts with "the array was changed": then do not repeat the write.
   */
  async close(): Promise<FragmentInfo> {
    const raw = this.started();
    if (this.isIncomplete) throw new HyperslabError("InvalidArgument", "a write of this fragment failed or has not ended, so cells would be missing; wait for each write, and call abort() after a failed one");
    this.raw = undefined;
    const name = await call(undefined, () => raw.finish()).finally(() => this.free(raw));
    return written(this.array, name, this.time);
  }

  /** Gives the fragment up and removes what was written. Does nothing after `close`. */
  async abort(): Promise<void> {
    const { raw } = this;
    this.raw = undefined;
    if (raw) await call(undefined, () => raw.abandon()).finally(() => this.free(raw));
  }

  private free(raw: EngineWriter): void {
    raw.free();
    this.ended();
  }

  private started(): EngineWriter {
    if (this.raw) return this.raw;
    throw new HyperslabError("InvalidArgument", "this write has ended; start another one with writer(array)");
  }
}

/**
 * Starts a fragment that is written in parts.
 *
 * @example
 * ```js
 * import { create, MemoryStore, writer } from "hyperslab";
 *
 * const array = await create(new MemoryStore(), {
 *   type: "dense",
 *   dims: [{ name: "t", type: "int32", domain: [0, 999], tile: 100 }],
 *   attrs: [{ name: "level", type: "float32", filters: ["zstd"] }],
 * });
 * const out = await writer(array);
 * for (let day = 0; day < 10; day += 1) await out.write(new Float32Array(100).fill(day));
 * const { cells } = await out.close();
 * ```
 */
export async function writer(array: TileArray, options: WriterOptions = {}): Promise<FragmentWriter> {
  check<WriterOptions>({ array, options }, { box: 1, at: 1 });
  const { box, at } = options;
  const dense = array.kind === "dense";
  if (!dense && box !== undefined && box !== null) {
    throw new HyperslabError("InvalidArgument", "the array is sparse: give no box, and the coordinates as columns");
  }
  const json = dense && box !== undefined && box !== null ? selectionJson(box, array.dims) : undefined;
  const { time, ended } = await beginChange(array, at);
  try {
    return new FragmentWriter(array, await call(undefined, () => array.raw.writer(json, time, seed())), time, ended);
  } catch (error) {
    ended();
    throw error;
  }
}
