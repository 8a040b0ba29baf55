import { fault } from '../errors.js';
import type { CreateNoteInput, ShareNoteInput, UpdateNoteInput, UserError } from '../generated/resolvers.js';

/** The greatest number of characters of a note's content (apis/notes.md §2), counted in code points. */
const longestContent = 10_000;
const address = /^[^\s@]+@[^\s@]+$/;

/** What can be found wrong in a new note before any call. */
export function checkNewNote({ title, content }: CreateNoteInput): readonly UserError[] {
  return [
    ...(title == null ? [fault('REQUIRED', 'A note needs a title.', 'title')] : []),
    ...(content == null ? [fault('REQUIRED', 'A note needs content.', 'content')] : []),
    ...checkLength(content),
  ];
}

/** What can be found wrong in a change before any call: null is no value for any member. */
export function checkNoteChange({ content, ...input }: UpdateNoteInput): readonly UserError[] {
  const nulls = Object.entries({ ...input, content }).filter(([, value]) => value === null);
  return [
    ...nulls.map(([name]) => fault('INVALID', `Leave ${name} out to keep it: it cannot be null.`, name)),
    ...checkLength(content),
  ];
}

/** What can be found wrong in a share before any call. */
export function checkShare({ email, permission }: ShareNoteInput): readonly UserError[] {
  return [
    ...(email ? [] : [fault('REQUIRED', 'Say with whom to share.', 'email')]),
    ...(email && !address.test(email) ? [fault('INVALID', 'This is no e-mail address.', 'email')] : []),
    ...(permission ? [] : [fault('REQUIRED', 'Say what that person may do.', 'permission')]),
  ];
}

/** The members that the service asks to be there and that were sent blank. */
export function blanks({ title, content }: CreateNoteInput): readonly UserError[] {
  return [
    ...(title?.trim() === '' ? [fault('REQUIRED', 'A note needs a title.', 'title')] : []),
    ...(content?.trim() === '' ? [fault('REQUIRED', 'A note needs content.', 'content')] : []),
  ];
}

/** Content that is too long only as others count: "characters" (apis/notes.md §2) may be UTF-16 units or bytes. */
export function isLongOtherwise(content: string | null | undefined): content is string {
  return content != null && Buffer.byteLength(content) > longestContent;
}

/** The fault of content that is too long. */
export function tooLong(): UserError {
  return fault(
    'TOO_LONG',
    'The content is longer than the 10,000 characters that the service keeps.',
    'content',
  );
}

function checkLength(content: string | null | undefined): readonly UserError[] {
  return content != null && codePoints(content, longestContent) > longestContent ? [tooLong()] : [];
}

/** The number of code points, counted up to the first beyond `most`. */
function codePoints(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let count = 0;
  for (const _ of text) if (++count > most) break;
  return count;
}
