// The picture of points, with its legend and the point under the pointer.
import type { Layer } from "@deck.gl/core";
import type { Extreme, FragmentInfo, Ranges, Value } from "hyperslab";
import { QueryLayer } from "hyperslab/deck";
import { useCallback, useMemo } from "preact/hooks";
import { colorsOf } from "../colors";
import { canEdit } from "../edit/editable";
import { DeckCanvas } from "../ui/DeckCanvas";
import { Legend } from "../ui/Legend";
import { Message } from "../ui/Message";
import { Status } from "../ui/Status";
import { Tip } from "../ui/Tip";
import { ZoomButtons } from "../ui/ZoomButtons";
import { RowChanges } from "../rows/Panel";
import { WritesStrip } from "../writes/Strip";
import { useBackdrop } from "./backdrop";
import type { PointsModel } from "./model";

export function Stage({ model }: { model: PointsModel }) {
  const { chosen, colormap, range, where, array, camera, count, inView, aspect } = model;
  const points = useMemo(() => (inView.value ? layerOf(model, inView.value) : undefined), [model, chosen.value, colormap.value, range.value, where.value, inView.value, aspect.value, canEdit(model.opened)]);
  const behind = useBackdrop(model);
  const layers = useMemo((): Layer[] => [...(behind ? [behind] : []), ...(points ? [points] : [])], [points, behind]);
  const name = chosen.value;
  return (
    <>
      <DeckCanvas camera={camera} layers={layers} label={`Points of the array, ${array.attrs.length} attributes`} onPoint={(at) => { model.pointer.value = at; }}
        onPick={(picked) => { model.point(picked?.object as Record<string, Value> | undefined); }} onClick={(at, picked) => { if (canEdit(model.opened)) void model.choosePoint(at, picked?.object as Record<string, Value> | undefined); }} onError={(error) => { model.failure.value = error.message; }} />
      {Number.isFinite(range.value[0]) && Number.isFinite(range.value[1]) ? <Legend colormap={colorsOf(colormap.value)} range={range.value} steps={0} shown={(value) => model.shown(name, /int64|time/.test(model.typeOf(name)) ? BigInt(Math.round(value)) : value)} title={name} /> : null}
      <ZoomButtons camera={camera} />
      <Message text={undefined} hint={count.value.done && count.value.read === 0 && model.failure.value === undefined ? "There are no points in view." : undefined} id="bare" />
      <PointTip model={model} />
      <Writes model={model} />
      <RowChanges opened={model.opened} where={where.value} />
      <Bar model={model} />
    </>
  );
}

/** The writes of the array. */
function Writes({ model: { array, camera, x, y, aspect, picked } }: { model: PointsModel }) {
  const rectOf = useCallback(({ nonEmptyDomain }: FragmentInfo) => {
    const range = (name: string) => (nonEmptyDomain?.[array.dims.findIndex((dim) => dim.name === name)] ?? [NaN, NaN]).map(Number) as [number, number];
    const [[x0, x1], [y0, y1]] = [range(x), range(y)];
    return [x0, x1, y0, y1].every(Number.isFinite) ? { x0, x1, y0: y0 * aspect.value, y1: y1 * aspect.value } : undefined;
  }, [array, aspect.value]);
  const point = picked.value;
  const place = point && array.dims.map(({ name }) => point[name]);
  return <WritesStrip array={array} camera={camera} rectOf={rectOf} under={place?.every((part) => part !== null && part !== undefined) ? place as Extreme[] : undefined} />;
}

function layerOf(model: PointsModel, ranges: Ranges): QueryLayer {
  const { array, x, y, size } = model;
  const [lo, hi] = model.range.peek();
  return new QueryLayer({
    id: "points",
    array,
    x,
    y,
    ranges,
    modelMatrix: [1, 0, 0, 0, 0, model.aspect.peek(), 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    pointsMax: model.most,
    columns: model.placeFields,
    ...(model.where.peek() ? { where: model.where.peek() } : {}),
    ...(model.chosen.peek() === "" && model.fields.length === 0 ? {} : { color: model.chosen.peek() }),
    colormap: colorsOf(model.colormap.peek()),
    range: lo <= hi ? [lo, hi] : [0, 1],
    missingColor: [139, 154, 168, 200],
    ...(size === undefined ? {} : { size, sizeRange: [0, 8], sizePixels: [1.5, 9] }),
    pickable: true,
    onCount: (read, done, limited) => model.came(read, done, limited),
    onData: (values) => model.see(values),
    onError: (error) => { model.fail(error); return true; },
  });
}

/** The fields of the point under the pointer. */
function PointTip({ model }: { model: PointsModel }) {
  const [at, point] = [model.pointer.value, model.picked.value];
  if (!at || !point) return null;
  const names = [model.x, model.y, ...Object.keys(point).filter((name) => name !== model.x && name !== model.y)];
  const rows = names.flatMap((name) => {
    const value = point[name];
    return value === null || value === undefined || ArrayBuffer.isView(value) ? [] : [[name, model.textOf(name, value)] as const];
  });
  return <Tip rows={rows} at={at} />;
}

function Bar({ model }: { model: PointsModel }) {
  const { pointer, camera, x, y, count, total, aspect } = model;
  void camera.state.value;
  const place = pointer.value && camera.toWorld(...pointer.value);
  const digits = (scale: number) => Math.max(0, Math.min(20, Math.ceil(Math.log10(scale)) + 1));
  const at = (name: string, value: number, scale: number) => `${name} ${/^(date)?time_/.test(model.typeOf(name)) ? model.shown(name, BigInt(Math.floor(value))) : value.toFixed(digits(scale))}`;
  const { read, done, limited } = count.value;
  const { scale } = camera.state.value;
  const left = limited && done ? `, of ${total.value?.toLocaleString("en") ?? "more"}: zoom in or filter to see the others` : "";
  const points = `${read.toLocaleString("en")} points in view${done ? "" : " so far"}${left}`;
  return <Status cursor={`${place ? `${at(x, place[0], scale)}, ${at(y, place[1] / aspect.value, scale * aspect.value)} · ` : ""}${points}`} busy={model.busy.value > 0} />;
}
