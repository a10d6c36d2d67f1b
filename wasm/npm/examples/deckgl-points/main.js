import { Deck, MapView } from "@deck.gl/core";
import { open } from "hyperslab";
import { QueryLayer } from "hyperslab/deck";

const [slider, output] = [document.querySelector("input"), document.querySelector("output")];
const array = await open("arrays/quakes", { http: { listing: "manifest" } });
const deck = new Deck({ views: new MapView({ repeat: true }), initialViewState: { longitude: -118, latitude: 36, zoom: 4 }, controller: true });
// A change of the condition aborts the former query.
const show = () => deck.setProps({ layers: [new QueryLayer({
  id: "quakes", array, x: "lon", y: "lat", where: `mag >= ${slider.value}`, fillColor: [255, 140, 0], size: "mag", sizeRange: [2, 6], sizePixels: [6, 16],
  onCount: (count) => { output.textContent = `${count} earthquakes`; },
})] });
slider.addEventListener("input", show);
show();
