import type { ReactElement } from 'react';
import { SafeText } from './safe-text.js';
import { count } from './words.js';

/** Members of one object that are shown: a hostile body may have a million. */
const maxMembers = 200;
/** How deep a tree is shown. */
const maxDepth = 40;

interface TreeProps {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}

/** A JSON value as a tree whose branches open and close. */
export function Tree({ value, name, depth = 0 }: TreeProps): ReactElement {
  if (typeof value !== 'object' || value === null)
    return (
      <div className="tree-leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  const members = Object.entries(value);
  const kind = Array.isArray(value) ? count(members.length, 'item') : count(members.length, 'member');
  return (
    <details className="tree" open={depth < 3}>
      <summary>
        <Name name={name} />
        <span className="quiet">{kind}</span>
      </summary>
      {depth >= maxDepth ? (
        <p className="quiet">Nested deeper than {maxDepth} levels.</p>
      ) : (
        members
          .slice(0, maxMembers)
          .map(([key, member]) => <Tree key={key} name={key} value={member} depth={depth + 1} />)
      )}
      {members.length > maxMembers && <p className="quiet">And {members.length - maxMembers} more.</p>}
    </details>
  );
}

function Name({ name }: { readonly name: string | undefined }): ReactElement | null {
  if (name === undefined) return null;
  return (
    <span className="tree-name">
      <SafeText>{name}</SafeText>:{' '}
    </span>
  );
}

function Leaf({ value }: { readonly value: unknown }): ReactElement {
  if (typeof value !== 'string') return <span className="tree-value">{String(value)}</span>;
  return (
    <span className="tree-text">
      “<SafeText>{value}</SafeText>”
    </span>
  );
}
