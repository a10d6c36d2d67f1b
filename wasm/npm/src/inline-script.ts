// The script of the workers in the entry point `inline`: in the module itself.
import { worker } from "./contents.js";

let script: string | undefined;

/** The address of the script. */
export const workerScript = (): string => (script ??= URL.createObjectURL(new Blob([worker], { type: "text/javascript" })));

/** Starts a worker. */
export const plainWorker = (): Worker => new Worker(workerScript(), { type: "module" });
