// Runs the work of buttons, one at a time, and shows its progress or why it failed.
import { signal, type Signal } from "@preact/signals";
import { changing, failure, messageOf } from "../session";

export class Task {
  /** The running work, or why it failed. */
  readonly text: Signal<string | undefined> = signal(undefined);
  readonly isRunning = signal(false);

  /** Runs work, unless other work is running. Returns whether it succeeded. */
  async run(what: string, work: () => Promise<unknown>): Promise<boolean> {
    if (this.isRunning.peek()) return false;
    this.isRunning.value = true;
    changing.value += 1;
    this.text.value = what;
    failure.value = undefined;
    try {
      await work();
      this.text.value = undefined;
      return true;
    } catch (error) {
      this.text.value = messageOf(error);
      return false;
    } finally {
      this.isRunning.value = false;
      changing.value -= 1;
    }
  }
}
