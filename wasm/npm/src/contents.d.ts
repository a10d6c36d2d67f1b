// The files in the entry point `inline`. The build makes this module.
import type { Part } from "./engine.js";

/** The files of the engine, as base64 of gzip. */
export const parts: Record<Part, string>;
/** The workers' script. */
export const worker: string;
