// The channels of an image: where their values are, and how they are drawn together.
import type { Channel, Variable } from "hyperslab";
import type { ChannelStyle } from "hyperslab/deck";
import { rangeOf } from "../link";
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

/** The channels that are drawn, as parts of a link by their index: the colour and the range. `channels=none` if none is. */
export function channelLink(channels: readonly DrawnChannel[], rangeFor: (channel: DrawnChannel) => readonly [number, number]): Record<string, string> {
  if (!channels.some(({ isOn }) => isOn)) return { channels: "none" };
  return Object.fromEntries(channels.flatMap((channel, i) => (channel.isOn ? [[`c${i}`, [hexOf(channel.color), ...rangeFor(channel)].join(",")] as const] : [])));
}

/** The channels as a link says: `channels=none` for none. Without a valid channel in the link, they stay as they are. */
export function linkedChannels(channels: readonly DrawnChannel[], link: Readonly<Record<string, string>>): readonly DrawnChannel[] {
  if (link["channels"] === "none") return channels.map((channel) => ({ ...channel, isOn: false }));
  const linked = channels.map((channel, i): DrawnChannel => {
    const [hex = "", ...ends] = (link[`c${i}`] ?? "").split(",");
    const range = rangeOf(ends.join(","));
    return /^[0-9a-f]{6}$/.test(hex) && range ? { ...channel, color: colorOfHex(hex), range, isOn: true } : { ...channel, isOn: false };
  });
  const on = linked.filter(({ isOn }) => isOn).length;
  return on > 0 && on <= TOGETHER_MAX ? linked : channels;
}

/** A colour as six digits, without `#`. */
export function hexOf(color: readonly number[]): string {
  return color.map((part) => part.toString(16).padStart(2, "0")).join("");
}

/** The colour of six digits. */
export function colorOfHex(hex: string): [number, number, number] {
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as [number, number, number];
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
