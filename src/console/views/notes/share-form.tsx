import { useState, type ReactElement, type SubmitEvent } from 'react';
import { useMutation } from '../../data/use-mutation.js';
import { ShareNoteDocument, type SharePermission } from '../../generated/index.js';
import { Field, OtherErrors, useUserErrors } from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';

const permissions: readonly (readonly [SharePermission, string])[] = [
  ['READ', 'read it'],
  ['COMMENT', 'comment on it'],
  ['EDIT', 'change it'],
];

/** Shares a note with another person. */
export function ShareForm({ noteId }: { readonly noteId: string }): ReactElement {
  const { run, busy, error } = useMutation(ShareNoteDocument);
  const [email, setEmail] = useState('');
  const [permission, setPermission] = useState<SharePermission>('READ');
  const { form, errors, setErrors } = useUserErrors();
  const [sharedWith, setSharedWith] = useState<string>();

  async function share(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (busy) return;
    setSharedWith(undefined);
    setErrors([]);
    const payload = (await run({ input: { id: noteId, email, permission } }))?.shareNote;
    if (!payload) return;
    setErrors(payload.errors);
    if (payload.sharedNoteId) setSharedWith(email);
  }

  return (
    <form className="form" ref={form} onSubmit={(event) => void share(event)} noValidate>
      <h3>Share</h3>
      <div className="form-row">
        <Field label="With (e-mail)" path="email" errors={errors}>
          {(state) => (
            <input type="email" value={email} onChange={({ target }) => setEmail(target.value)} {...state} />
          )}
        </Field>
        <Field label="Who may" path="permission" errors={errors}>
          {(state) => (
            <select
              value={permission}
              onChange={({ target }) => setPermission(target.value as SharePermission)}
              {...state}
            >
              {permissions.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <OtherErrors errors={errors} paths={['email', 'permission']} />
      <Problem error={error} />
      <div className="form-actions">
        <button className="button" type="submit" aria-disabled={busy}>
          Share
        </button>
        <span role="status" className="quiet">
          {sharedWith !== undefined && `Shared with ${sharedWith}.`}
        </span>
      </div>
    </form>
  );
}
