import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';

/** Lets Tab leave the editors, as anything else on a page; Ctrl+M (macOS: Ctrl+Shift+M) makes it indent again. */
export function TabKey(): null {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => {
    editor?.trigger('page', 'editor.action.toggleTabFocusMode', null); // once for all editors
  }, [editor]);
  return null;
}
