// Keeps a fault of the viewer in one part of the page from taking away the others.
import { Component, type ComponentChildren } from "preact";
import { Message } from "./Message";

/** Shows its children, or what went wrong in them. */
export class Guard extends Component<{ children: ComponentChildren }, { fault?: string }> {
  static override getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    const { fault } = this.state;
    if (fault === undefined) return this.props.children;
    return <Message text={`The viewer has a fault: ${fault}. Please report it with the address of this page, and open something else.`} hint={undefined} id="fault" />;
  }
}
