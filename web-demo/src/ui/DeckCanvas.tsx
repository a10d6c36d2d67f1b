// The canvas that deck.gl draws on, moved by mouse, touch and keyboard.
import { Deck, OrthographicView, type Layer, type PickingInfo } from "@deck.gl/core";
import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Camera } from "../camera";
import { Message } from "./Message";
import { setDrawing } from "./drawing";

interface Props {
  camera: Camera;
  layers: readonly Layer[];
  /** What the picture is, for screen readers. */
  label: string;
  /** The pointer is over a pixel, or has left: `undefined`. */
  onPoint(at: [number, number] | undefined): void;
  /** The pointer is over something that was drawn, or no longer. Only layers that are `pickable` count. */
  onPick?(picked: PickingInfo | undefined): void;
  /** A pixel was clicked without moving the picture. `picked` was drawn there. */
  onClick?(at: [number, number], picked: PickingInfo | undefined): void;
  /** The picture was drawn. */
  onDrawn?(): void;
  onError(error: Error): void;
}

const STEP_PX = 60;
/** How far from a point, in pixels, it is still under the pointer. */
const REACH_PX = 6;

/** Whether the browser can draw pictures. */
const hasWebgl = () => document.createElement("canvas").getContext("webgl2") !== null;

/** The canvas, or why there is none. */
export function DeckCanvas(props: Props) {
  const works = useMemo(hasWebgl, []);
  if (works) return <Canvas {...props} />;
  return <Message text="This browser cannot draw the picture, because it has no WebGL 2. Turn on hardware acceleration in its settings, or use another browser. Tables need no WebGL." hint={undefined} id="no-webgl" />;
}

function Canvas(props: Props) {
  const { camera, layers, label } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const deck = useRef<Deck<OrthographicView>>(undefined);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    deck.current = start(element, () => latest.current);
    const resize = () => latest.current.camera.resize(element.clientWidth, element.clientHeight);
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    resize();
    setDrawing(() => {
      deck.current?.redraw("the picture is copied");
      return element;
    });
    return () => {
      setDrawing(undefined);
      observer.disconnect();
      deck.current?.finalize();
    };
  }, []);
  useEffect(() => {
    const { clientWidth = 0, clientHeight = 0 } = canvas.current ?? {};
    camera.resize(clientWidth, clientHeight);
    return effect(() => draw());
  }, [camera]);
  useEffect(() => deck.current?.setProps({ layers: [...layers] }), [layers]);
  const draw = () => {
    const flipY = !camera.world.value.up;
    deck.current?.setProps({ views: new OrthographicView({ id: "view", flipY }), viewState: viewState(camera) });
  };
  return (
    <div class="canvas"><canvas id="picture" ref={canvas} tabIndex={0} role="application" aria-label={`${label}. Drag to move, scroll to zoom; or the arrow keys, +, − and 0.`}
      onPointerMove={(event) => props.onPoint([event.offsetX, event.offsetY])} onPointerLeave={() => props.onPoint(undefined)} onKeyDown={(event) => { if (move(camera, event.key)) event.preventDefault(); }} /></div>
  );
}

/** Starts drawing. The props are read when something happens. */
function start(canvas: HTMLCanvasElement, props: () => Props): Deck<OrthographicView> {
  const { camera } = props();
  return new Deck({
    canvas,
    width: "100%",
    height: "100%",
    views: new OrthographicView({ id: "view", flipY: !camera.world.peek().up }),
    controller: { keyboard: false, scrollZoom: { smooth: false, speed: 0.01 }, dragRotate: false, touchRotate: false },
    pickingRadius: REACH_PX,
    viewState: viewState(camera),
    onViewStateChange: ({ viewState: { target = [], zoom } }) => {
      const [x = NaN, y = NaN] = target;
      props().camera.look({ x, y, scale: 2 ** Number(zoom) });
    },
    onHover: (picked) => props().onPick?.(picked.picked ? picked : undefined),
    onClick: (picked) => props().onClick?.([picked.x, picked.y], picked.picked ? picked : undefined),
    onAfterRender: () => props().onDrawn?.(),
    onError: (error) => props().onError(error),
    getCursor: ({ isDragging }) => (isDragging ? "grabbing" : "crosshair"),
  });
}

function viewState(camera: Camera) {
  const { x, y, scale } = camera.state.value;
  return { target: [x, y, 0] as [number, number, number], zoom: Math.log2(scale) };
}

/** Moves by a key. Returns whether the key does so. */
function move(camera: Camera, key: string): boolean {
  const pans: Record<string, [number, number]> = { ArrowLeft: [-STEP_PX, 0], ArrowRight: [STEP_PX, 0], ArrowUp: [0, -STEP_PX], ArrowDown: [0, STEP_PX] };
  const pan = Object.hasOwn(pans, key) ? pans[key] : undefined;
  if (pan) camera.pan(...pan);
  else if (key === "+" || key === "=") camera.zoom(1.5);
  else if (key === "-") camera.zoom(1 / 1.5);
  else if (key === "0") camera.fit();
  else return false;
  return true;
}
