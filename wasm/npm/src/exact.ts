// Guards against integers that JavaScript numbers round, and against inherited property names.
import { HyperslabError } from "./errors.js";

/** Refuses an integer beyond 2^53, which may have been rounded. */
export function refuseRounded(what: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isInteger(value) || Number.isSafeInteger(value)) return;
  const example = Math.abs(value) < 2 ** 64 ? `, such as ${BigInt(value)}n` : "";
  throw new HyperslabError("InvalidArgument", `${what}: the number ${value} may be rounded; beyond 2^53, give a BigInt${example}`);
}

/** Refuses rounded integers anywhere in a schema, such as in domains, tiles, fill values and enumerations. */
export function refuseRoundedIn(entry: unknown, path: string, type?: unknown): void {
  if (typeof entry === "number" && !String(type).startsWith("float")) refuseRounded(path, entry);
  if (typeof entry !== "object" || entry === null) return;
  const own = Object.hasOwn(entry, "type") ? (entry as { type: unknown }).type : type;
  for (const [name, value] of Object.entries(entry)) refuseRoundedIn(value, `${path}.${name}`, own);
}

/** An object without a prototype, so that it has names such as `constructor` or `__proto__` only if they are entries. */
export function record<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const made = Object.create(null) as Record<string, T>;
  for (const [name, value] of entries) made[name] = value;
  return made;
}
