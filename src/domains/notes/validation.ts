import { userError } from '../../graphql/errors.js';
import type { NoteChange } from './service/requests.js';
import type {
  CreateNoteInput,
  ShareNoteInput,
  UpdateNoteInput,
  UserError,
} from '../../generated/resolvers.js';

/** The maximum length of a note's content (apis/notes.md §2), in code points. */
const maxContentLength = 10_000;
const address = /^[^\s@]+@[^\s@]+$/;

/** The errors in a new note that can be found before any call. */
export function checkNewNote({ content }: CreateNoteInput): readonly UserError[] {
  return checkLength(content);
}

/** The errors in a change that can be found before any call; null is not a value for any member. */
export function checkNoteChange({ content, ...input }: UpdateNoteInput): readonly UserError[] {
  const nulls = Object.entries({ ...input, content }).filter(([, value]) => value === null);
  return [
    ...nulls.map(([name]) =>
      userError('INVALID', `Field ${name} cannot be null: leave it out to keep its value.`, name),
    ),
    ...checkLength(content),
  ];
}

/** The errors in a share that can be found before any call. */
export function checkShare({ email }: ShareNoteInput): readonly UserError[] {
  return [
    ...(email
      ? []
      : [userError('REQUIRED', 'Enter the e-mail address of the person to share with.', 'email')]),
    ...(email && !address.test(email)
      ? [userError('INVALID', 'This is not an e-mail address.', 'email')]
      : []),
  ];
}

/** An error for each required member that was sent blank. */
export function checkBlank({ title, content }: NoteChange): readonly UserError[] {
  return [
    ...(title?.trim() === '' ? [userError('REQUIRED', 'A note needs a title.', 'title')] : []),
    ...(content?.trim() === '' ? [userError('REQUIRED', 'A note needs content.', 'content')] : []),
  ];
}

/** Whether it is too long in bytes: "characters" (apis/notes.md §2) may mean UTF-16 units or bytes. */
export function exceedsBytes(content: string | null | undefined): boolean {
  return content != null && Buffer.byteLength(content) > maxContentLength;
}

/** The error for content that is too long. */
export function tooLong(): UserError {
  return userError(
    'TOO_LONG',
    'The content is too long: the notes service accepts at most 10,000 characters.',
    'content',
  );
}

function checkLength(content: string | null | undefined): readonly UserError[] {
  return content != null && exceedsCodePoints(content, maxContentLength) ? [tooLong()] : [];
}

/** Whether a text has more code points than `limit`; counts no further than that. */
function exceedsCodePoints(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  let count = 0;
  for (const _ of text) if (++count > limit) return true;
  return false;
}
