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

function NotShown(): ReactElement {
  return (
    <section className="no-grant" role="alert">
      <h1>This view could not be shown</h1>
      <p>Perhaps the gateway was updated: load the page again.</p>
      <div className="form-actions">
        <button className="button" type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </div>
    </section>
  );
}
