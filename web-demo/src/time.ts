// CF times: numbers of a unit since a date, such as "hours since 1900-01-01".

const SECONDS: readonly [RegExp, number][] = [
  [/^(d|days?)$/i, 86_400], [/^(h|hrs?|hours?)$/i, 3600], [/^(min|mins?|minutes?)$/i, 60], [/^(s|secs?|seconds?)$/i, 1],
  [/^(ms|msecs?|milliseconds?)$/i, 1e-3], [/^(us|microseconds?)$/i, 1e-6],
];

const LENGTHS: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** The calendars of climate models in which all years have equal lengths, with the days of each month. */
const EQUAL_YEARS: readonly [RegExp, readonly number[]][] = [
  [/^360_day$/i, LENGTHS.map(() => 30)], [/^(noleap|365_day)$/i, LENGTHS], [/^(all_leap|366_day)$/i, LENGTHS.with(1, 29)],
];
const DAY_MS = 86_400_000;

/**
 * The date of a number in a unit such as "days since 1990-01-01 12:00". `undefined` if the unit is not a unit of
 * time, or if the calendar is neither the one of JavaScript dates nor in `EQUAL_YEARS`.
 */
export function cfTime(value: number, unit: string, calendar = "standard"): string | undefined {
  const [, word = "", date = "", clock = "00:00:00", zone = "Z"] = /^(\w+) since (-?\d{1,4}-\d{1,2}-\d{1,2})(?:[T ]+(\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d+)?)?))?\s*(Z|UTC|[+-]\d{1,2}:?\d{2})?/i.exec(unit) ?? [];
  const seconds = SECONDS.find(([pattern]) => pattern.test(word))?.[1];
  if (seconds === undefined) return undefined;
  const [, year = "", month = "", day = ""] = /^(-?\d+)-(\d+)-(\d+)$/.exec(date) ?? [];
  const [hour = "0", minute = "0", second = "0"] = clock.split(":");
  const since = Date.UTC(1970, 0, 1, Number(hour), Number(minute)) + Number(second) * 1000 - zoneMinutes(zone) * 60_000 + value * seconds * 1000;
  const months = EQUAL_YEARS.find(([pattern]) => pattern.test(calendar))?.[1];
  if (months) return equalYears(months, [Number(year), Number(month), Number(day)], Math.round(since));
  if (!/^(standard|gregorian|proleptic_gregorian)$/i.test(calendar)) return undefined;
  const start = new Date(Date.UTC(2000, Number(month) - 1, Number(day)));
  start.setUTCFullYear(Number(year));
  const ms = start.getTime() + since;
  // Before this day, the standard calendar is Julian.
  if (!/^proleptic/i.test(calendar) && ms < Date.UTC(1582, 9, 15)) return undefined;
  const then = new Date(Math.round(ms));
  if (Number.isNaN(then.getTime())) return undefined;
  return withClock(then.toISOString().split("T")[0] ?? "", then);
}

/** The date `since` milliseconds after the start of a day, in a calendar in which all years have equal lengths. */
function equalYears(months: readonly number[], [year, month, day]: readonly [number, number, number], since: number): string | undefined {
  const length = months.reduce((sum, days) => sum + days, 0);
  const days = Math.floor(since / DAY_MS);
  const count = year * length + months.slice(0, month - 1).reduce((sum, days) => sum + days, 0) + day - 1 + days;
  if (!Number.isSafeInteger(count)) return undefined;
  const then = Math.floor(count / length);
  let [rest, i] = [count - then * length, 0];
  for (; rest >= (months[i] ?? length); i += 1) rest -= months[i] ?? 0;
  const padded = (part: number, digits: number) => String(part).padStart(digits, "0");
  return withClock(`${then < 0 ? "-" : ""}${padded(Math.abs(then), 4)}-${padded(i + 1, 2)}-${padded(rest + 1, 2)}`, new Date(since - days * DAY_MS));
}

/** A date, with the time of day unless it is midnight. */
function withClock(date: string, time: Date): string {
  const clock = (time.toISOString().split("T")[1] ?? "").replace(/(:00)?\.000Z$|Z$/, "");
  return clock === "00:00" ? date : `${date} ${clock}`;
}

function zoneMinutes(zone: string): number {
  const [, sign = "", hours = "0", minutes = "0"] = /^([+-])(\d{1,2}):?(\d{2})$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
