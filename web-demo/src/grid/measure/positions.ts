// Places on an axis as a user enters them.
import type { LabelledAxis } from "../axes";

/** Whether the coordinates of an axis are numbers of its own, such as latitudes. Dates and labels are not entered. */
function hasValues({ axis: { coordinates, unit = "" }, value }: LabelledAxis): boolean {
  return (coordinates.type === "regular" || coordinates.type === "array") && !/ since /.test(unit) && value(0) !== undefined;
}

/** The text for a position in a field: the value of the axis, or else the coordinate in the array. */
export function enteredOf(axis: LabelledAxis, position: number): string {
  return String(hasValues(axis) ? axis.value(position) ?? axis.coordinate(position) : axis.coordinate(position));
}

/** The position nearest to an entered value. `undefined` if the text is no number. */
export function positionOf(axis: LabelledAxis, entered: string): number | undefined {
  const text = entered.trim();
  const last = axis.length - 1;
  const clamp = (position: number) => Math.max(0, Math.min(last, position));
  if (!hasValues(axis)) {
    if (!/^[+-]?\d+$/.test(text)) return undefined;
    return clamp(Number((BigInt(text.replace(/^\+/, "")) - BigInt(axis.coordinate(0))) / BigInt(axis.axis.stride ?? 1)));
  }
  const value = text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? nearest(axis, value) : undefined;
}

/** The position whose value is nearest. Values grow or shrink along the axis. */
function nearest(axis: LabelledAxis, value: number): number {
  const at = (position: number) => axis.value(position) ?? NaN;
  const isRising = at(axis.length - 1) >= at(0);
  let [low, high] = [0, axis.length - 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (at(middle) <= value === isRising) low = middle;
    else high = middle;
  }
  return Math.abs(at(low) - value) <= Math.abs(at(high) - value) ? low : high;
}
