// Numbers, sizes and times as people read them.

export function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i += 1; }
  return `${i === 0 ? n : n.toFixed(n < 10 ? 1 : 0)} ${units[i]}`;
}

export function number(v: number): string {
  if (!Number.isFinite(v)) return String(v);
  if (Number.isInteger(v)) return v.toLocaleString("en");
  return Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(3) : String(Number(v.toPrecision(6)));
}

export function moment(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace("T", " ").replace(/(:00)?\.000Z$|Z$/, "");
}

/** A value of any attribute; dates and times by their type. */
export function value(v: unknown, type: string): string {
  if (v === null || v === undefined) return "null";
  if (type === "datetime_ms") return moment(Number(v));
  if (type === "datetime_sec") return moment(Number(v) * 1000);
  if (type === "bool") return Number(v) ? "true" : "false";
  // Integers of 64 bits are shown to the last digit.
  if (typeof v === "bigint") return v.toLocaleString("en");
  return typeof v === "number" ? number(v) : String(v);
}
