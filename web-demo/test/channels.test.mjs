// Channels of an image as parts of a link.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { channelLink, linkedChannels } = await load("grid/channels.ts");
const channels = ["dapi", "gfp"].map((name, i) => ({ name, color: [0, i, 255], range: [i, 10], isOn: true, source: {} }));

test("a link keeps which channels are drawn, in their colours and ranges, also if none is", () => {
  for (const states of [[true, true], [false, true], [false, false]]) {
    const drawn = channels.map((channel, i) => ({ ...channel, isOn: states[i] }));
    const link = channelLink(drawn, ({ range }) => range);
    assert.deepEqual(linkedChannels(channels, link).map(({ isOn, color }) => [isOn, color]), drawn.map(({ isOn, color }) => [isOn, color]));
  }
});
