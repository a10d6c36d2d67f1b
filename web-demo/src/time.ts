// CF times: numbers of a unit since a date, such as "hours since 1900-01-01".

const SECONDS: readonly [RegExp, number][] = [
  [/^(d|days?)$/i, 86_400], [/^(h|hrs?|hours?)$/i, 3600], [/^(min|mins?|minutes?)$/i, 60], [/^(s|secs?|seconds?)$/i, 1],
  [/^(ms|msecs?|milliseconds?)$/i, 1e-3], [/^(us|microseconds?)$/i, 1e-6],
];

/**
 * The date of a number in a unit such as "days since 1990-01-01 12:00". `undefined` if the unit is none of time, or if the
 * calendar is not that of dates in JavaScript.
 */
export function cfTime(value: number, unit: string, calendar = "standard"): string | undefined {
  const [, word = "", date = "", clock = "00:00:00", zone = "Z"] = /^(\w+) since (-?\d{1,4}-\d{1,2}-\d{1,2})(?:[T ]+(\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d+)?)?))?\s*(Z|UTC|[+-]\d{1,2}:?\d{2})?/i.exec(unit) ?? [];
  const seconds = SECONDS.find(([pattern]) => pattern.test(word))?.[1];
  if (seconds === undefined || !/^(standard|gregorian|proleptic_gregorian)$/i.test(calendar)) return undefined;
  const [year = "", month = "", day = ""] = date.split("-");
  const [hour = "0", minute = "0", second = "0"] = clock.split(":");
  const from = Date.UTC(2000, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const start = new Date(from);
  start.setUTCFullYear(Number(year));
  const ms = start.getTime() - zoneMinutes(zone) * 60_000 + value * seconds * 1000;
  // Before this day, the standard calendar is Julian.
  if (!/^proleptic/i.test(calendar) && ms < Date.UTC(1582, 9, 15)) return undefined;
  const then = new Date(Math.round(ms));
  if (Number.isNaN(then.getTime())) return undefined;
  const [ymd = "", hms = ""] = then.toISOString().split("T");
  if (/^00:00:00\.000Z$/.test(hms)) return ymd;
  return `${ymd} ${hms.replace(/(:00)?\.000Z$|Z$/, "")}`;
}

function zoneMinutes(zone: string): number {
  const [, sign = "", hours = "0", minutes = "0"] = /^([+-])(\d{1,2}):?(\d{2})$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
