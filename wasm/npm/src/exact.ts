// What numbers of JavaScript can say of integers.
import { HyperslabError } from "./errors.js";

/** Refuses an integer that a number may have rounded, whatever was meant by it. */
export function refuseRounded(what: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isInteger(value) || Number.isSafeInteger(value)) return;
  const example = Math.abs(value) < 2 ** 64 ? `, such as ${BigInt(value)}n` : "";
  throw new HyperslabError("InvalidArgument", `${what}: the number ${value} may have been rounded, as integers beyond 2^53 are; give a BigInt${example}`);
}

/** An object without a prototype: names such as `constructor` or `__proto__` are found in it only if they were put there. */
export function record<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const made = Object.create(null) as Record<string, T>;
  for (const [name, value] of entries) made[name] = value;
  return made;
}
