// The parts of the engine that its methods need.
import { partMethods, RawArray, RawStore } from "./core.js";
import type { Part } from "./engine.js";

type Load = (part: Exclude<Part, "core">) => Promise<unknown>;
type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Makes the methods of arrays and stores load what they need before they start. */
export function loadBefore(load: Load): void {
  for (const { prototype } of [RawArray, RawStore]) {
    const methods = prototype as unknown as Record<string, Method>;
    const wrap = (name: string, make: (own: Method) => Method) => {
      const own = methods[name];
      if (own) methods[name] = make(own);
    };
    for (const [part, names] of Object.entries(partMethods) as [Parameters<Load>[0], readonly string[]][]) {
      // A write or a view may need a codec that no open array uses.
      const first = part === "more" ? [part] : [part, "codecs" as const];
      for (const name of names) wrap(name, (own) => async function (...args) {
        await Promise.all(first.map(load));
        return own.apply(this, args);
      });
    }
    for (const name of ["get", "put"]) wrap(name, (own) => async function (...args) {
      // The selection is a JSON string: text in the grammar of the mount.
      if (typeof args[0] === "string" && args[0].startsWith('"')) await load("more");
      return own.apply(this, args);
    });
    for (const name of ["open", "at", "group"]) wrap(name, (own) => async function (...args) {
      // The schema of an encrypted array is encrypted too, so decryption is needed to open it.
      if (args[3] instanceof Uint8Array) await load("codecs");
      const found = await own.apply(this, args);
      if (found instanceof RawArray && found.needsCodecs()) await load("codecs");
      return found;
    });
  }
}
