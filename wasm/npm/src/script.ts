// The script of the workers, next to this module. Workers do not import this module, because some bundlers hang on a
// worker that starts itself. In the entry point `inline`, `inline-script` replaces this module.
import { original } from "./places.js";

const here = import.meta.url;

/** The address of the script, for pages that must start workers in another way than {@link plainWorker}. */
export const workerScript = (): string => original(here.replace(/[^/]*$/, "worker.js"));

/** Starts a worker. */
export function plainWorker(): Worker {
  if (original(here) !== here) return new Worker(workerScript(), { type: "module" });
  // Bundlers recognise exactly this expression.
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}
