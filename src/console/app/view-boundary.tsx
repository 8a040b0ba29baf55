import { Component, type ReactElement, type ReactNode } from 'react';

interface ViewBoundaryProps {
  readonly children: ReactNode;
}

interface State {
  readonly hasFailed: boolean;
}

/** What is said in the place of a view that cannot be shown; the rest of the page goes on. */
export class ViewBoundary extends Component<ViewBoundaryProps, State> {
  override state: State = { hasFailed: false };

  static getDerivedStateFromError(): State {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <NotShown /> : this.props.children;
  }
}

/** A view's script cannot be had from a gateway that is away or was updated, and a browser asks for each only once. */
function NotShown(): ReactElement {
  return (
    <section className="no-grant" role="alert">
      <h1>This view could not be shown</h1>
      <p>
        Perhaps the gateway cannot be reached, or it was updated: load the page again once it can be reached.
      </p>
      <div className="form-actions">
        <button className="button" type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </div>
    </section>
  );
}
