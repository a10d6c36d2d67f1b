// Formats numbers, sizes and times.

export function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i += 1; }
  return `${i === 0 ? n : n.toFixed(n < 10 ? 1 : 0)} ${units[i]}`;
}

export function number(v: number): string {
  if (!Number.isFinite(v)) return String(v);
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return v.toLocaleString("en");
  return Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(3) : String(Number(v.toPrecision(6)));
}

export function moment(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace("T", " ").replace(/(:00)?\.000Z$|Z$/, "");
}

/** The length of each date unit shorter than a month, in attoseconds. */
const STEPS: Record<string, bigint> = {
  week: 604_800n * 10n ** 18n, day: 86_400n * 10n ** 18n, hr: 3_600n * 10n ** 18n, min: 60n * 10n ** 18n, sec: 10n ** 18n,
  ms: 10n ** 15n, us: 10n ** 12n, ns: 10n ** 9n, ps: 10n ** 6n, fs: 1000n, as: 1n,
};

/** Formats a date, given in units since 1970, exactly and to the precision of the unit. */
function date(steps: bigint, unit: string): string {
  if (unit === "year" || unit === "month") {
    const months = unit === "year" ? steps * 12n : steps;
    const year = 1970n + floor(months, 12n);
    return unit === "year" ? String(year) : `${year}-${String(months - floor(months, 12n) * 12n + 1n).padStart(2, "0")}`;
  }
  const second = STEPS["sec"] as bigint;
  const all = steps * (STEPS[unit] ?? second);
  const seconds = floor(all, second);
  const day = new Date(Number(seconds) * 1000);
  if (Number.isNaN(day.getTime())) return `${steps.toLocaleString("en")} ${unit}`;
  const [ymd, hms] = day.toISOString().replace(/\.\d+Z$/, "").split("T") as [string, string];
  if (unit === "week" || unit === "day") return ymd;
  const fraction = String(all - seconds * second).padStart(18, "0").replace(/0+$/, "");
  return `${ymd} ${fraction ? `${hms}.${fraction}` : hms.replace(/:00$/, "")}`;
}

/** The number of digits of a second, by the units that are parts of one. */
const DIGITS: Readonly<Record<string, number>> = { ms: 3, us: 6, ns: 9, ps: 12, fs: 15, as: 18 };

/** A date as selections and other programs read it: exact, with all digits of its unit. */
export function isoDate(steps: bigint, unit: string): string {
  const shown = date(steps, unit);
  if (/^(year|month|week|day)$/.test(unit)) return shown;
  const [ymd = "", clock = ""] = shown.split(" ");
  const [hms = "", fraction = ""] = clock.split(".");
  const digits = DIGITS[unit] ?? 0;
  return `${ymd}T${hms.length === 5 ? `${hms}:00` : hms}${digits > 0 ? `.${fraction.padEnd(digits, "0")}` : ""}`;
}

function floor(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

/** JSON with whole numbers of any size. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part)) ?? "";
}

/** Formats a value of an attribute or dimension by its type. */
export function value(v: unknown, type: string): string {
  if (v === null || v === undefined) return "null";
  const [, kind, unit = ""] = /^(datetime|time)_(\w+)$/.exec(type) ?? [];
  const steps = typeof v === "bigint" ? v : typeof v === "number" && Number.isInteger(v) ? BigInt(v) : undefined;
  if (kind !== undefined && steps === -(2n ** 63n)) return "NaT";
  if (kind === "datetime" && steps !== undefined) return date(steps, unit);
  if (kind === "time" && steps !== undefined) return `${steps.toLocaleString("en")} ${unit}`;
  if (type === "bool") return Number(v) ? "true" : "false";
  // 64-bit integers are shown exactly.
  if (typeof v === "bigint") return v.toLocaleString("en");
  return typeof v === "number" ? number(v) : String(v);
}
