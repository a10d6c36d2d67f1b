// The moment that the shown one is compared with.
import { signal } from "@preact/signals";

/** In milliseconds since 1970; `undefined`: none. */
export const compared = signal<number | undefined>(undefined);
