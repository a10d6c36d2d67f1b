// The channels of an image: where their values are, and how they are drawn together.
import type { Channel, Variable } from "hyperslab";
import type { ChannelStyle } from "hyperslab/deck";
import type { LabelledAxis } from "./axes";

/** A channel that can be drawn together with others. */
export interface DrawnChannel {
  readonly name: string;
  /** Red, green and blue, 0 to 255. */
  readonly color: readonly [number, number, number];
  /** The values that are black and of full colour. `undefined`: those that most values are between. */
  readonly range: readonly [number, number] | undefined;
  readonly isOn: boolean;
  /** Where its values are. */
  readonly source: Omit<ChannelStyle, "color" | "range">;
}

/** The most channels that can be drawn together. */
export const TOGETHER_MAX = 6;
const NAMED: Readonly<Record<string, readonly [number, number, number]>> = { red: [255, 0, 0], green: [0, 255, 0], blue: [0, 0, 255] };
/** Colours of channels that have none. */
const OTHERS: readonly (readonly [number, number, number])[] = [[0, 255, 255], [255, 0, 255], [255, 255, 0], [255, 128, 0], [128, 255, 128], [255, 255, 255]];

/**
 * The channels of a variable that can be drawn together: those along its channel axis, or the other variables of its
 * array. Empty if there is nothing to blend: no channel has a colour.
 */
export function channelsOf(variable: Variable, channels: readonly Channel[], variables: readonly Variable[], axis: LabelledAxis | undefined): DrawnChannel[] {
  const along = channels.filter((channel) => channel.variable === variable.name && channel.index !== undefined);
  const beside = channels.filter((channel) => channel.index === undefined && attributeOf(channel, variable, variables) !== undefined);
  const found = along.length > 1 && axis ? along : beside;
  const drawn = found.filter(({ interpretation }) => interpretation !== "alpha");
  if (drawn.length < 2 || !drawn.some(({ color, interpretation = "" }) => color !== undefined || Object.hasOwn(NAMED, interpretation))) return [];
  return drawn.map((channel, i) => ({
    name: channel.name ?? channel.interpretation ?? `Channel ${channel.index ?? i}`,
    color: colorOf(channel, i),
    range: channel.range ?? (channel.interpretation && Object.hasOwn(NAMED, channel.interpretation) ? fullRange(variable.datatype) : undefined),
    isOn: i < TOGETHER_MAX,
    source: sourceOf(channel, variable, variables, axis),
  }));
}

function sourceOf(channel: Channel, variable: Variable, variables: readonly Variable[], axis: LabelledAxis | undefined): DrawnChannel["source"] {
  if (channel.index === undefined || !axis) return { attribute: attributeOf(channel, variable, variables) ?? variable.attribute };
  // The samples of a pixel may follow each other along the axis of columns.
  const isInterleaved = variable.axes.some(({ dimension, stride = 1 }) => dimension === axis.axis.dimension && stride > 1);
  return isInterleaved ? { component: channel.index } : { axis: axis.axis.dimension, index: axis.coordinate(channel.index - axis.first) };
}

/** The attribute of a channel that is a variable of its own, in the same array. */
function attributeOf(channel: Channel, { path }: Variable, variables: readonly Variable[]): string | undefined {
  return variables.find((other) => other.name === channel.variable && other.path === path)?.attribute;
}

function colorOf({ color, interpretation = "" }: Channel, i: number): readonly [number, number, number] {
  if (color) return [color[0], color[1], color[2]];
  return (Object.hasOwn(NAMED, interpretation) ? NAMED[interpretation] : OTHERS[i % OTHERS.length]) ?? [255, 255, 255];
}

function fullRange(datatype: string): readonly [number, number] | undefined {
  return datatype === "uint8" ? [0, 255] : undefined;
}
