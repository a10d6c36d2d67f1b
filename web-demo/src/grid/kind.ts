// Grids and images: dense variables with at least one axis.
import type { Kind } from "../kind";
import { Controls } from "./Controls";
import { drawable, GridModel } from "./model";
import { Stage } from "./Stage";

export const grid: Kind<GridModel> = {
  name: "grid",
  accepts: (opened) => drawable(opened).length > 0,
  model: (opened, link, before) => new GridModel(opened, link, before instanceof GridModel ? before : undefined),
  Controls,
  Stage,
};
