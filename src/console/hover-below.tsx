import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';

/** Lets what the editor tells of a field come below it: above the first lines it would be cut off. */
export function HoverBelow(): null {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => editor?.updateOptions({ hover: { above: false } }), [editor]);
  return null;
}
