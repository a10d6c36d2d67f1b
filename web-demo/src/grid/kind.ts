// Grids and images: dense variables with at least one axis.
import type { Kind } from "../kind";
import { Controls } from "./Controls";
import { GridModel } from "./model";
import { Stage } from "./Stage";

export const grid: Kind<GridModel> = {
  name: "grid",
  model: (opened, link, before) => new GridModel(opened, link, before instanceof GridModel ? before : undefined),
  compares: true,
  Controls,
  Stage,
};
