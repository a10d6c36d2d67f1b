// The picture of points, with its legend and the point under the pointer.
import type { Layer } from "@deck.gl/core";
import { QueryLayer } from "hyperslab/deck";
import { useMemo } from "preact/hooks";
import { colorsOf } from "../colors";
import * as text from "../text";
import { DeckCanvas } from "../ui/DeckCanvas";
import { Legend } from "../ui/Legend";
import { Message } from "../ui/Message";
import { Status } from "../ui/Status";
import { Tip } from "../ui/Tip";
import { ZoomButtons } from "../ui/ZoomButtons";
import { useBackdrop } from "./backdrop";
import type { PointsModel } from "./model";

export function Stage({ model }: { model: PointsModel }) {
  const { chosen, colormap, range, where, array, camera, count } = model;
  const points = useMemo(() => layerOf(model), [model, chosen.value, colormap.value, range.value, where.value]);
  const behind = useBackdrop(model);
  const layers = useMemo((): Layer[] => [...(behind ? [behind] : []), points], [points, behind]);
  const name = chosen.value;
  return (
    <>
      <DeckCanvas camera={camera} layers={layers} label={`Points of the array, ${array.attrs.length} attributes`} onPoint={(at) => { model.pointer.value = at; }}
        onPick={(picked) => { model.picked.value = picked?.object as Record<string, unknown> | undefined; }} onError={(error) => { model.failure.value = error.message; }} />
      {Number.isFinite(range.value[0]) && Number.isFinite(range.value[1]) ? <Legend colormap={colorsOf(colormap.value)} range={range.value} steps={0} shown={(value) => model.shown(name, /int64|time/.test(model.typeOf(name)) ? BigInt(Math.round(value)) : value)} title={name} /> : null}
      <ZoomButtons camera={camera} />
      <Message text={undefined} hint={count.value.done && count.value.read === 0 && model.failure.value === undefined ? "There are no points in view." : undefined} id="bare" />
      <PointTip model={model} />
      <Bar model={model} />
    </>
  );
}

function layerOf(model: PointsModel): QueryLayer {
  const { array, x, y, size } = model;
  const [lo, hi] = model.range.peek();
  return new QueryLayer({
    id: "points",
    array,
    x,
    y,
    follow: true,
    ...(model.where.peek() ? { where: model.where.peek() } : {}),
    ...(model.chosen.peek() === "" && model.fields.length === 0 ? {} : { color: model.chosen.peek() }),
    colormap: colorsOf(model.colormap.peek()),
    range: lo <= hi ? [lo, hi] : [0, 1],
    missingColor: [139, 154, 168, 200],
    ...(size === undefined ? {} : { size, sizeRange: [0, 8], sizePixels: [1.5, 9] }),
    columns: array.attrs.filter(({ cell, type }) => cell === 1 || /^(string|char)/.test(type)).map(({ name }) => name),
    pickable: true,
    onCount: (read, done, limited) => { model.count.value = { read, done, limited }; model.failure.value = undefined; },
    onData: (values) => model.see(values),
    onError: (error) => { model.fail(error); return true; },
  });
}

/** The fields of the point under the pointer. */
function PointTip({ model }: { model: PointsModel }) {
  const [at, point] = [model.pointer.value, model.picked.value];
  if (!at || !point) return null;
  const names = [model.x, model.y, ...Object.keys(point).filter((name) => name !== model.x && name !== model.y)];
  const rows = names.filter((name) => point[name] !== null && point[name] !== undefined).map((name) => [name, textOf(model, name, point[name])] as const);
  return <Tip rows={rows} at={at} />;
}

/** The layer gives enumerations as their values. */
function textOf(model: PointsModel, name: string, value: unknown): string {
  return typeof value === "string" ? value : text.value(value, model.typeOf(name));
}

function Bar({ model }: { model: PointsModel }) {
  const { pointer, camera, x, y, count } = model;
  void camera.state.value;
  const place = pointer.value && camera.toWorld(...pointer.value);
  const at = (name: string, value: number) => `${name} ${/^(date)?time_/.test(model.typeOf(name)) ? model.shown(name, BigInt(Math.floor(value))) : value.toFixed(3)}`;
  const { read, done, limited } = count.value;
  const points = `${read.toLocaleString("en")} points in view${done ? "" : " so far"}${limited ? "; there are more: zoom in or filter" : ""}`;
  return <Status cursor={`${place ? `${at(x, place[0])}, ${at(y, place[1])} · ` : ""}${points}`} busy={model.busy.value > 0} />;
}
