// Points: sparse arrays with two dimensions or columns that are coordinates.
import type { Kind } from "../kind";
import { arrayOf } from "../opened";
import { Controls } from "./Controls";
import { plotted, PointsModel } from "./model";
import { Stage } from "./Stage";

export const points: Kind<PointsModel> = {
  name: "points",
  accepts: (opened) => arrayOf(opened)?.kind === "sparse" && plotted(opened) !== undefined,
  model: (opened, link, before) => new PointsModel(opened, link, before instanceof PointsModel ? before : undefined),
  Controls,
  Stage,
};
