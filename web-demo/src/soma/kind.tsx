// SOMA experiments: cells with positions, categories and genes.
import type { Kind } from "../kind";
import { Controls } from "./controls";
import { SomaModel } from "./model";
import { Stage } from "./stage";

export const soma: Kind<SomaModel> = {
  name: "soma",
  model: (opened, link, before) => new SomaModel(opened, link, before instanceof SomaModel ? before : undefined),
  Controls,
  Stage,
};
