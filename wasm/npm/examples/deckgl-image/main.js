import { Deck, OrthographicView } from "@deck.gl/core";
import { levels } from "hyperslab";
import { ArrayLayer } from "hyperslab/deck";

const output = document.querySelector("output");
// Channels are added: where both are bright, the image is white.
const channels = [{ axis: "channel", index: 0, color: [255, 0, 255], range: [0, 200] }, { axis: "channel", index: 1, color: [0, 255, 0], range: [0, 200] }];
const image = new ArrayLayer({
  id: "image", levels: await levels("arrays/image", { http: { listing: "manifest" } }), channels,
  onView: ({ factors }) => { output.textContent = `A cell of the image has ${factors.join(" by ")} pixels`; },
});
new Deck({ views: new OrthographicView(), initialViewState: { target: [256, 256, 0], zoom: -1 }, controller: true, layers: [image] });
