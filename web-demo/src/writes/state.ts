// Whether the strip of writes is shown.
import { signal } from "@preact/signals";

export const areWritesShown = signal(false);
