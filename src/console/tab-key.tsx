import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';

/** Lets Tab leave the editors, as it does anything else on a page; Ctrl+M (macOS: Ctrl+Shift+M) makes it indent. */
export function TabKey(): null {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => {
    editor?.trigger('page', 'editor.action.toggleTabFocusMode', null); // once for all editors
  }, [editor]);
  return null;
}
