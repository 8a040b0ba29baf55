import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';

/** Shows what the editor says of a field below it: above the first lines it would be cut off. */
export function HoverBelow(): null {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => editor?.updateOptions({ hover: { above: false } }), [editor]);
  return null;
}
