import { Deck, MapView } from "@deck.gl/core";
import { open } from "hyperslab";
import { ArrayLayer } from "hyperslab/deck";

const output = document.querySelector("output");
// Cells of 0.01 degrees, from 45° N 5° E downwards.
const elevation = new ArrayLayer({
  id: "elevation", levels: await open("arrays/elevation", { http: { listing: "manifest" } }), place: [0.01, 0, 5, 0, -0.01, 45],
  range: [0, 800], colormap: "terrain", pickable: true,
  onHover: ({ object }) => { output.textContent = object ? `${object.value} m at row ${object.coordinates.y}, column ${object.coordinates.x}` : ""; },
});
new Deck({ views: new MapView(), initialViewState: { longitude: 10, latitude: 40, zoom: 5 }, controller: true, layers: [elevation] });
