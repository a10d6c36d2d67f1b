// SOMA experiments: cells with positions, categories and genes.
import type { Kind } from "../kind";
import { groupOf } from "../opened";
import { Controls } from "./controls";
import { experimentOf } from "./experiment";
import { SomaModel } from "./model";
import { Stage } from "./stage";

export const soma: Kind<SomaModel> = {
  name: "soma",
  accepts: (opened) => groupOf(opened) !== undefined && experimentOf(opened.dataset) !== undefined,
  model: (opened, link, before) => new SomaModel(opened, link, before instanceof SomaModel ? before : undefined),
  Controls,
  Stage,
};
