import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';

/** Lets the wheel scroll the page once an editor cannot scroll further; by itself Monaco swallows every event. */
export function Wheel(): null {
  const query = useGraphiQL((state) => state.queryEditor);
  const variables = useGraphiQL((state) => state.variableEditor);
  const headers = useGraphiQL((state) => state.headerEditor);
  const response = useGraphiQL((state) => state.responseEditor);
  useEffect(() => {
    const ends = [query, variables, headers, response].map(share);
    return () => ends.forEach((end) => end());
  }, [query, variables, headers, response]);
  return null;
}

/** An editor, as far as it scrolls. */
interface Scrolling {
  getDomNode(): HTMLElement | null;
  getScrollTop(): number;
  getScrollHeight(): number;
  getLayoutInfo(): { readonly height: number };
}

// Monaco has an option for this, but reads it only when an editor is created, and GraphiQL does not set it.
function share(editor: Scrolling | undefined): () => void {
  const turn = (event: WheelEvent): void => {
    const upOrDown = Math.abs(event.deltaY) > Math.abs(event.deltaX) && !event.shiftKey;
    if (editor && upOrDown && !hasRoom(editor, event.deltaY)) event.stopPropagation();
  };
  // Not the whole editor: its overlays, such as suggestions, scroll by themselves.
  const text = editor?.getDomNode()?.querySelector<HTMLElement>('.overflow-guard');
  text?.addEventListener('wheel', turn, { capture: true, passive: true });
  return () => text?.removeEventListener('wheel', turn, { capture: true });
}

function hasRoom(editor: Scrolling, deltaY: number): boolean {
  const top = editor.getScrollTop();
  return deltaY < 0 ? top > 0 : top + editor.getLayoutInfo().height < editor.getScrollHeight();
}
