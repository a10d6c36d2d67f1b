// Reads tiles, a few at a time, and keeps the latest used ones up to a number of bytes.
import type { Texture } from "@luma.gl/core";
import type { Rect } from "./place.js";
import type { Cells } from "./planes.js";
import type { Tile } from "./pyramid.js";

const IN_FLIGHT = 6;

/** A tile that is wanted, read or kept. */
export interface Held {
  readonly id: number;
  readonly key: string;
  readonly tile: Tile;
  /** Identifies the state that it belongs to: the arrays, the attribute and the coordinates of the other axes. */
  readonly state: string;
  planes?: readonly Cells[];
  texture?: Texture;
  /** Identifies what the texture was made of, besides the cells. */
  textured?: string;
  /** The parts that are drawn. */
  parts?: readonly Rect[];
  /** Bytes of its cells and of its texture. */
  bytes: number;
  textureBytes: number;
  failure?: unknown;
  abort?: AbortController;
}

/** A tile to read. */
export type Wanted = Pick<Held, "key" | "tile" | "state"> & { readonly read: (signal: AbortSignal) => Promise<readonly Cells[]> };

/** The calls that tell about reads. */
export interface TilesEvents {
  /** A tile has come, failed or begun. */
  changed(): void;
  failed(error: unknown): void;
}

/** The tiles of a layer. */
export class Tiles {
  private readonly held = new Map<string, Held>();
  private queue: Wanted[] = [];
  private needed = new Set<string>();
  private running = 0;
  private count = 0;
  private isOver = false;

  constructor(private readonly events: TilesEvents, private bytesMax: number) {}

  /** The number of tiles that are still to come. */
  get busy(): number {
    return this.queue.length + this.running;
  }

  /** All tiles that have come, the latest used last. */
  loaded(): Held[] {
    return [...this.held.values()].filter(({ planes }) => planes);
  }

  get(key: string): Held | undefined {
    return this.held.get(key);
  }

  /** Reads these tiles in this order, and aborts all other reads. Tiles in `kept` are not dropped. */
  want(wanted: readonly Wanted[], kept: Iterable<string>, bytesMax: number): void {
    this.bytesMax = bytesMax;
    this.needed = new Set([...kept, ...wanted.map(({ key }) => key)]);
    const asked = new Set(wanted.map(({ key }) => key));
    for (const held of this.held.values()) {
      if (asked.has(held.key)) continue;
      held.abort?.abort(new DOMException("the tile is no longer needed", "AbortError"));
      // A failed tile is tried again when it comes back into view.
      delete held.failure;
    }
    for (const { key } of wanted) this.touch(key);
    this.queue = wanted.filter(({ key }) => {
      const held = this.held.get(key);
      return !held || (!held.planes && !held.abort && held.failure === undefined);
    });
    this.evict();
    this.next();
  }

  /** Counts the bytes of a texture. */
  grow(held: Held, bytes: number): void {
    held.textureBytes = bytes;
  }

  /** Aborts all reads and frees all textures. */
  end(): void {
    this.isOver = true;
    this.queue = [];
    for (const held of this.held.values()) {
      held.abort?.abort(new DOMException("the layer was removed", "AbortError"));
      held.texture?.destroy();
    }
    this.held.clear();
  }

  /** Keeps the map in the order of use. */
  private touch(key: string): void {
    const held = this.held.get(key);
    if (!held) return;
    this.held.delete(key);
    this.held.set(key, held);
  }

  private next(): void {
    while (this.running < IN_FLIGHT && !this.isOver) {
      const wanted = this.queue.shift();
      if (!wanted) return;
      void this.read(wanted);
    }
  }

  private async read({ key, tile, state, read }: Wanted): Promise<void> {
    const abort = new AbortController();
    const held: Held = { id: (this.count += 1), key, tile, state, bytes: 0, textureBytes: 0, abort };
    this.held.set(key, held);
    this.running += 1;
    try {
      const planes = await read(abort.signal);
      held.planes = planes;
      held.bytes = [...new Set(planes.map(({ data }) => data))].reduce((sum, data) => sum + data.byteLength, 0);
    } catch (error) {
      // A tile that was wanted again meanwhile is read again.
      if (this.held.get(key) === held) this.held.delete(key);
      if (!abort.signal.aborted) {
        held.failure = error;
        this.held.set(key, held);
        if (!this.isOver) this.events.failed(error);
      }
    } finally {
      delete held.abort;
      this.running -= 1;
      if (!this.isOver) {
        this.evict();
        this.next();
        this.events.changed();
      }
    }
  }

  /** Drops the tiles that were used longest ago, except the needed ones. */
  private evict(): void {
    let sum = 0;
    for (const { bytes, textureBytes } of this.held.values()) sum += bytes + textureBytes;
    for (const held of [...this.held.values()]) {
      if (sum <= this.bytesMax) return;
      if (this.needed.has(held.key) || held.abort) continue;
      sum -= held.bytes + held.textureBytes;
      held.texture?.destroy();
      this.held.delete(held.key);
    }
  }
}
