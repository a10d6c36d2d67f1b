import { use, useEffect, useRef, useState, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { get, open } from "hyperslab";

const opening = open("arrays/temperature", { http: { listing: "manifest" } });

/** The chunk of a selection. It stays the last one until the next has arrived; late reads are aborted. */
function useChunk(array, selection) {
  const [chunk, setChunk] = useState();
  const [error, setError] = useState();
  const key = JSON.stringify(selection);
  useEffect(() => {
    const abort = new AbortController();
    get(array, JSON.parse(key), { signal: abort.signal })
      .then(setChunk)
      .catch((reason) => abort.signal.aborted || setError(reason));
    return () => abort.abort();
  }, [array, key]);
  if (error) throw error;
  return chunk;
}

function Frame({ chunk: { data, shape: [height, width] } }) {
  const canvas = useRef();
  useEffect(() => {
    const image = new ImageData(width, height);
    data.forEach((degrees, i) => image.data.set([128 + 5 * degrees, 100, 128 - 5 * degrees, 255], 4 * i));
    canvas.current.getContext("2d").putImageData(image, 0, 0);
  }, [data, width, height]);
  return <canvas ref={canvas} width={width} height={height} style={{ width: 720, imageRendering: "pixelated" }} />;
}

function Viewer() {
  const array = use(opening);
  const [day, setDay] = useState(0);
  const chunk = useChunk(array, { day });
  const [first, last] = array.dims[0].domain;
  return (
    <>
      <p>
        <label>Day <input type="range" min={first} max={last} value={day} onChange={(event) => setDay(Number(event.target.value))} /></label>
        <output> {chunk && `${Math.min(...chunk.data).toFixed(1)} to ${Math.max(...chunk.data).toFixed(1)} °C`}</output>
      </p>
      {chunk && <Frame chunk={chunk} />}
    </>
  );
}

createRoot(document.querySelector("#root")).render(<Suspense fallback="loading …"><Viewer /></Suspense>);
