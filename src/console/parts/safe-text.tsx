import { Fragment, type ReactElement } from 'react';
import { count } from './words.js';

/**
 * Controls, bidirectional marks and what has no width: in a name that a stranger sent, each may make one text look like
 * another. Tabs and line ends are left alone, and so is the joiner between two pictures, which makes them one.
 */
const unseen =
  /(?!(?<=\p{Extended_Pictographic}\uFE0F?)\u200D)(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}](?<!\p{Extended_Pictographic}\uFE0F)/gu;

/** A mebibyte in one name, perhaps of nothing that can be seen, would hold up the page. */
const usualMost = 500;

interface SafeTextProps {
  readonly children: string;
  /** How many characters are shown. */
  readonly most?: number;
}

/** A text that somebody else wrote: what cannot be seen is shown by its number, and nothing turns the text around it. */
export function SafeText({ children, most = usualMost }: SafeTextProps): ReactElement {
  const shown = children.slice(0, most);
  const rest = children.length - shown.length;
  const more = rest > 0 && <span className="quiet"> … and {count(rest, 'more character')}</span>;
  const parts = shown.split(unseen);
  const marks = shown.match(unseen) ?? [];
  return (
    <bdi>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {part}
          {marks[index] !== undefined && <span className="unseen">{codePoint(marks[index])}</span>}
        </Fragment>
      ))}
      {more}
    </bdi>
  );
}

/** The same as plain text, for titles and labels. */
export function visible(text: string): string {
  return text.replace(unseen, (mark) => `[${codePoint(mark)}]`);
}

function codePoint(mark: string): string {
  return `U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
