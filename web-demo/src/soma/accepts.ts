// What is shown as an experiment. This file is loaded with the page.
import { groupOf, type Opened } from "../opened";
import { experimentOf } from "./experiment";

/** Whether the group is a SOMA experiment. */
export function isExperiment(opened: Opened): boolean {
  return groupOf(opened) !== undefined && experimentOf(opened.dataset) !== undefined;
}
