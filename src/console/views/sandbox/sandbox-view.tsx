import { useState, type ReactElement, type ReactNode, type SubmitEvent } from 'react';
import { sandboxUrl } from '../../app/page-settings.js';
import { stageNames } from '../shipments/stages.js';
import { useCommand, type Command, type Outcome } from './control.js';

/** Has the sandbox do what services do on a bad day. */
export function SandboxView(): ReactElement {
  return (
    <div className="view">
      <header className="view-head">
        <h1>Sandbox</h1>
      </header>
      {sandboxUrl ? (
        <>
          <p className="quiet">
            The three services, on this machine. Have them do something, and see on the other pages what
            becomes of it.
          </p>
          <EventForm />
          <FaultForm />
          <Buttons />
        </>
      ) : (
        <p className="quiet">
          There is nothing to command here: this page is for a sandbox that the gateway has started, and for a
          browser on the same machine that has opened the gateway at <code>localhost</code>. For a sandbox in
          a process of its own, see <a href="/docs/sandbox">the documentation</a>.
        </p>
      )}
    </div>
  );
}

/** The types of each family; of shipments, each has the name of its stage. */
const families = {
  shipments: Object.keys(stageNames).map((stage) => `shipment.${stage.toLowerCase()}`),
  payments: ['payment.succeeded', 'payment.failed', 'payment.refunded'],
};

type Family = keyof typeof families;

const ways = [
  ['usual', 'as usual'],
  ['twice', 'twice'],
  ['late', 'late: dated three days ago'],
  ['wrong-signature', 'with a wrong signature'],
  ['old-signature', 'with a signature an hour old'],
] as const;

/** Sends one event. */
function EventForm(): ReactElement {
  const { give, busy, outcome } = useCommand();
  const [family, setFamily] = useState<Family>('shipments');
  const [type, setType] = useState(families.shipments[0]!);
  const [id, setId] = useState('');
  const [how, setHow] = useState<string>('usual');

  function chooseFamily(next: Family): void {
    setFamily(next);
    setType(families[next][0]!);
  }

  function send(event: SubmitEvent): void {
    event.preventDefault();
    const body = { family, type, how, ...(id && { data: { id } }) };
    const isUsual = family === 'shipments' || type === families.payments[0];
    const note = isUsual ? '' : ' It skips the event unless PAYMENT_EVENT_TYPES has its type.';
    void give({ path: '/events', body }, ({ statuses }) => `The gateway answered ${list(statuses)}.${note}`);
  }

  return (
    <form className="form card" onSubmit={send} aria-label="Send an event">
      <h2>Send an event</h2>
      <div className="form-row">
        <Choice label="Family" value={family} onChange={(next) => chooseFamily(next as Family)}>
          <option value="shipments">Shipments</option>
          <option value="payments">Payments</option>
        </Choice>
        <Choice label="Type" value={type} onChange={setType}>
          {families[family].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </Choice>
      </div>
      <div className="form-row">
        <label className="field">
          <span>Id (a new one if empty)</span>
          <input value={id} onChange={({ target }) => setId(target.value)} />
        </label>
        <Choice label="How" value={how} onChange={setHow}>
          {ways.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Choice>
      </div>
      <Actions outcome={outcome}>
        <button className="button" type="submit" aria-disabled={busy}>
          Send
        </button>
      </Actions>
    </form>
  );
}

const services = [
  ['notes', 'Notes'],
  ['appointments', 'Appointments'],
  ['issuer', 'Token issuer'],
  ['payments', 'Payments'],
] as const;

const faults = {
  hang: ['gives no answer', { kind: 'hang' }],
  refuse: ['closes the connection', { kind: 'refuse' }],
  500: ['answers 500', { kind: 'answer', status: 500 }],
  429: ['answers 429, for five seconds', { kind: 'answer', status: 429, headers: { 'retry-after': '5' } }],
  delay: ['takes two seconds', { kind: 'delay', ms: 2_000 }],
} as const;

/** Makes a service fail. */
function FaultForm(): ReactElement {
  const { give, busy, outcome } = useCommand();
  const [service, setService] = useState<string>('notes');
  const [fault, setFault] = useState<string>('hang');
  const [isOnce, setOnce] = useState(true);

  function fail(event: SubmitEvent): void {
    event.preventDefault();
    const [, act] = faults[fault as keyof typeof faults];
    const body = { service, act, ...(isOnce && { times: 1 }) };
    void give({ path: '/faults', body }, () =>
      isOnce
        ? 'The next request will meet it, or an older fault. Reads are tried up to three times, so that it may not show there.'
        : 'Every request will meet it, or an older fault, until you end all.',
    );
  }
  const end: Command = { method: 'DELETE', path: '/faults' };

  return (
    <form className="form card" onSubmit={fail} aria-label="Make a service fail">
      <h2>Make a service fail</h2>
      <div className="form-row">
        <Choice label="Service" value={service} onChange={setService}>
          {services.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Choice>
        <Choice label="What it does" value={fault} onChange={setFault}>
          {Object.entries(faults).map(([value, [words]]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Choice>
      </div>
      <label className="check">
        <input type="checkbox" checked={isOnce} onChange={({ target }) => setOnce(target.checked)} /> Only
        once
      </label>
      <Actions outcome={outcome}>
        <button className="button" type="submit" aria-disabled={busy}>
          Fail
        </button>
        <button
          className="button"
          type="button"
          aria-disabled={busy}
          onClick={() => void give(end, () => 'The services work as usual again.')}
        >
          End all faults
        </button>
      </Actions>
    </form>
  );
}

/** What takes no more than a button. */
function Buttons(): ReactElement {
  const { give, busy, outcome } = useCommand();
  const commands: readonly (readonly [string, Command, (answer: Record<string, unknown>) => string])[] = [
    [
      'Move its clock on by an hour',
      { path: '/clock', body: { advanceSeconds: 3_600 } },
      ({ now }) =>
        `Its clock says ${String(now)}. Its webhooks come from the future now, and are refused until you start it anew.`,
    ],
    [
      'End all sessions of the notes service',
      { path: '/sessions/end', body: {} },
      ({ ended }) => `${String(ended)} sessions have ended. Yours ends with your next look at notes.`,
    ],
    [
      'Rotate the secret of payments',
      { path: '/rotate', body: {} },
      () => 'The service signs with a new secret now, which the gateway does not know.',
    ],
  ];
  return (
    <section className="form card" aria-labelledby="more">
      <h2 id="more">And more</h2>
      <Actions outcome={outcome}>
        {commands.map(([words, command, say]) => (
          <button
            key={words}
            className="button"
            type="button"
            aria-disabled={busy}
            onClick={() => void give(command, say)}
          >
            {words}
          </button>
        ))}
      </Actions>
    </section>
  );
}

function Choice(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <label className="field">
      <span>{props.label}</span>
      <select value={props.value} onChange={({ target }) => props.onChange(target.value)}>
        {props.children}
      </select>
    </label>
  );
}

function Actions(props: {
  readonly outcome: Outcome | undefined;
  readonly children: ReactNode;
}): ReactElement {
  const { outcome, children } = props;
  return (
    <div className="form-actions">
      {children}
      <span role="status" className={outcome?.ok === false ? 'fault' : 'quiet'}>
        {outcome?.words}
      </span>
    </div>
  );
}

function list(statuses: unknown): string {
  return Array.isArray(statuses) ? statuses.join(', then ') : 'nothing';
}
