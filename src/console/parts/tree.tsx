import type { ReactElement } from 'react';
import { Disclosure } from './disclosure.js';
import { SafeText } from './safe-text.js';
import { count, number } from './words.js';

/** Members of one object that are shown: a hostile body may have a million. */
const maxMembers = 200;
/** Objects of at most so many members are open from the beginning, down to `openDepth`. */
const openMembers = 20;
const openDepth = 3;
/** Characters of one text that are shown. */
const maxText = 2_000;
/** How deep a tree is shown. */
const maxDepth = 40;

interface TreeProps {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}

/** A JSON value as a tree whose branches open and close. */
export function Tree({ value, name, depth = 0 }: TreeProps): ReactElement {
  if (typeof value === 'object' && value !== null) return <Branch value={value} name={name} depth={depth} />;
  return (
    <div className="tree-leaf">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

interface BranchProps {
  readonly value: object;
  readonly name: string | undefined;
  readonly depth: number;
}

function Branch({ value, name, depth }: BranchProps): ReactElement {
  const members = Object.entries(value);
  const kind = Array.isArray(value) ? count(members.length, 'item') : count(members.length, 'member');
  const summary = (
    <>
      <Name name={name} />
      <span className="quiet">{kind}</span>
    </>
  );
  return (
    <Disclosure
      className="tree"
      summary={summary}
      beginsOpen={depth < openDepth && members.length <= openMembers}
    >
      {() => <Members members={members} depth={depth} />}
    </Disclosure>
  );
}

function Members(props: {
  readonly members: readonly (readonly [string, unknown])[];
  readonly depth: number;
}): ReactElement {
  const { members, depth } = props;
  if (depth >= maxDepth) return <p className="quiet">Nested deeper than {maxDepth} levels.</p>;
  return (
    <>
      {members.slice(0, maxMembers).map(([key, member]) => (
        <Tree key={key} name={key} value={member} depth={depth + 1} />
      ))}
      {members.length > maxMembers && (
        <p className="quiet">And {number(members.length - maxMembers)} more.</p>
      )}
    </>
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
      “<SafeText most={maxText}>{value}</SafeText>”
    </span>
  );
}
