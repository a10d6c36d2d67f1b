import { Map, setWorkerUrl } from "maplibre-gl";
import "maplibre-gl/dist/maplibre-gl.css";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url";
import { open, query } from "hyperslab";

// Bundlers do not find the worker of MapLibre 6 on their own.
setWorkerUrl(workerUrl);

const output = document.querySelector("output");
const quakes = await open("arrays/quakes", { http: { listing: "manifest" } });

const map = new Map({
  container: "map",
  center: [-118, 36],
  zoom: 4,
  // Without a background map, so that the example needs no other server.
  style: { version: 8, sources: {}, layers: [{ id: "sea", type: "background", paint: { "background-color": "#e8f0f4" } }] },
});
await map.once("load");
map.addSource("quakes", { type: "geojson", data: { type: "FeatureCollection", features: [] } });
map.addLayer({
  id: "quakes", type: "circle", source: "quakes",
  paint: { "circle-radius": ["*", 4, ["get", "mag"]], "circle-color": "#d04020" },
});

let latest = new AbortController();
/** Reads the points of the visible part of the map. */
async function show() {
  latest.abort();
  const { signal } = (latest = new AbortController());
  const [west, south, east, north] = map.getBounds().toArray().flat();
  const ranges = { lon: [Math.max(west, -180), Math.min(east, 180)], lat: [Math.max(south, -90), Math.min(north, 90)] };
  const { length, columns } = await query(quakes, { ranges, attrs: ["lon", "lat", "mag", "place"], limit: 10_000, signal }).columns();
  const features = Array.from({ length }, (_, i) => ({
    type: "Feature",
    geometry: { type: "Point", coordinates: [columns.lon.at(i), columns.lat.at(i)] },
    properties: { mag: columns.mag.at(i), place: columns.place.at(i) },
  }));
  map.getSource("quakes").setData({ type: "FeatureCollection", features });
  output.textContent = features.map(({ properties }) => properties.place).sort().join(" · ");
}

const update = () => show().catch((error) => { if (error.name !== "AbortError") output.textContent = error.message; });
map.on("moveend", update);
await update();
