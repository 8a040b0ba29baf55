import { Fragment, type ReactElement } from 'react';
import { count } from './words.js';

/** A letter or mark of a script whose letters join: two joiners without a width tell how, as Persian and Hindi need. */
const scripts = 'Arab Syrc Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr'.split(' ');
const joining = `(?=[\\p{L}\\p{M}])[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]`;

/** What cannot be seen itself, but shapes what is around it. */
const shaping = [
  /[\t\n\r]/,
  // One picture of two, a picture rather than a sign, and a digit on a key.
  /(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)\u200D(?=\p{Extended_Pictographic})/u,
  /(?<=\p{Extended_Pictographic})\uFE0F|(?<=[\d#*])\uFE0F(?=\u20E3)/u,
  // The flags of England, Scotland and Wales: others with such letters look all the same.
  /(?<=\u{1F3F4}(?=\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F})[\u{E0061}-\u{E007A}]{0,5})[\u{E0061}-\u{E007F}]/u,
  new RegExp(`(?<=${joining})[\\u200C\\u200D](?=${joining})`, 'u'),
];

/**
 * Controls, bidirectional marks and what has no width: in a name that a stranger sent, each may make one text look like
 * another. What shapes an ordinary picture or word is left alone.
 */
const unseen = new RegExp(
  `(?!${shaping.map(({ source }) => source).join('|')})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`,
  'gu',
);

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
