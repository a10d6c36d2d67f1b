// Points: sparse arrays with two dimensions or columns that are coordinates.
import type { Kind } from "../kind";
import { Controls } from "./Controls";
import { PointsModel } from "./model";
import { Stage } from "./Stage";

export const points: Kind<PointsModel> = {
  name: "points",
  model: (opened, link, before) => new PointsModel(opened, link, before instanceof PointsModel ? before : undefined),
  compares: true,
  Controls,
  Stage,
};
