import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';

/** Shows the editor's hover text below a field: above, it would be cut off on the first lines. */
export function HoverBelow(): null {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => editor?.updateOptions({ hover: { above: false } }), [editor]);
  return null;
}
