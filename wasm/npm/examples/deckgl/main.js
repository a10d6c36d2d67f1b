import { Deck, MapView } from "@deck.gl/core";
import { ScatterplotLayer } from "@deck.gl/layers";
import { open, points, query } from "hyperslab";

const slider = document.querySelector("input");
const output = document.querySelector("output");
const quakes = await open("arrays/quakes", { http: { listing: "manifest" } });

const deck = new Deck({
  views: new MapView({ repeat: true }),
  initialViewState: { longitude: -118, latitude: 36, zoom: 4 },
  controller: true,
});

let latest = new AbortController();
async function show() {
  latest.abort();
  const { signal } = (latest = new AbortController());
  const where = `mag >= ${slider.value}`;
  const cells = await query(quakes, { where, attrs: ["lon", "lat", "mag"], signal }).columns();
  const { length, positions, size } = points(cells, { x: "lon", y: "lat" });
  const radii = cells.columns.mag.values.map((magnitude) => 10_000 * magnitude);
  deck.setProps({
    layers: [
      new ScatterplotLayer({
        id: "quakes",
        // Binary attributes: deck.gl copies them to the GPU, and makes no object for each point.
        data: { length, attributes: { getPosition: { value: positions, size }, getRadius: { value: radii, size: 1 } } },
        getFillColor: [255, 140, 0],
      }),
    ],
  });
  output.textContent = `${length} earthquakes`;
}

const update = () => show().catch((error) => { if (error.name !== "AbortError") output.textContent = error.message; });
slider.addEventListener("input", update);
await update();
