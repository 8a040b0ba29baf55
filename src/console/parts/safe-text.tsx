import { Fragment, type ReactElement } from 'react';

/**
 * Controls, bidirectional marks and what has no width: in a name that a stranger sent, each may make one text look like
 * another. Tabs and line ends are left alone, and so is the joiner between two pictures, which makes them one.
 */
const unseen =
  /(?!(?<=\p{Extended_Pictographic}\uFE0F?)\u200D)(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}](?<!\p{Extended_Pictographic}\uFE0F)/gu;

/** A text that somebody else wrote: what cannot be seen is shown by its number, and nothing turns the text around it. */
export function SafeText({ children }: { readonly children: string }): ReactElement {
  const parts = children.split(unseen);
  if (parts.length === 1) return <bdi>{children}</bdi>;
  const marks = children.match(unseen) ?? [];
  return (
    <bdi>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {part}
          {marks[index] !== undefined && <span className="unseen">{codePoint(marks[index])}</span>}
        </Fragment>
      ))}
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
