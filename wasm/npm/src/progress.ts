// The progress of reads.
import { readerOf, watch, type Reader } from "./bridge.js";
import type { Priority } from "./store.js";

/** How far a read is. */
export interface Progress {
  /** The amount that has arrived. */
  readonly loaded: number;
  /** The amount that the read needs. */
  readonly total: number;
  /** Bytes as they are stored. Cached bytes count as loaded when the read starts. */
  readonly unit: "bytes";
}

/** Runs a read. If the caller wants to know its progress, plans it first. */
export async function progressing<T>(
  { priority, onProgress }: { priority?: Priority | undefined; onProgress?: ((progress: Progress) => void) | undefined },
  plan: () => Promise<{ bytes: number }>,
  read: (reader: Reader | undefined) => Promise<T>,
): Promise<T> {
  const reader = readerOf(priority);
  if (!onProgress) return read(reader);
  const { bytes: total } = await plan();
  let loaded = 0;
  const tell = () => onProgress({ loaded, total, unit: "bytes" });
  tell();
  const { call, stop } = watch((bytes) => {
    // A worker may read metadata too, and another one may have cached what this one reads.
    const before = loaded;
    loaded = Math.min(loaded + bytes, total);
    if (loaded > before) tell();
  });
  try {
    const result = await read({ ...reader, call });
    if (loaded < total) {
      loaded = total;
      tell();
    }
    return result;
  } finally {
    stop();
  }
}
