import { useState, type ReactElement, type SubmitEvent } from 'react';
import { pageSettings } from '../../app/page-settings.js';
import { SafeText } from '../../parts/safe-text.js';
import { explainRequest, type Finding, type PastedRequest } from './explain-request.js';

/** Tells why a pasted request would be refused. Nothing of it leaves the page. */
export function RequestForm(): ReactElement {
  const [request, setRequest] = useState<PastedRequest>({
    family: 'shipments',
    signature: '',
    body: '',
    event: '',
  });
  const [findings, setFindings] = useState<readonly Finding[]>();
  const set = (change: Partial<PastedRequest>): void => {
    setRequest((now) => ({ ...now, ...change }));
    setFindings(undefined); // they are of the former request
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const { [request.family]: times = {} } = pageSettings.signatureTimes ?? {};
    setFindings(explainRequest(request, { now: Date.now(), times }));
  };
  const isShipment = request.family === 'shipments';
  return (
    <form className="form" onSubmit={submit}>
      <h2>Why is my request refused?</h2>
      <p className="quiet">
        Paste what was sent. It is looked at in this page alone, by the gateway’s rules, as far as they need
        no secret.
      </p>
      <KindFields request={request} set={set} />
      <label className="field">
        <span>{isShipment ? 'Shipping-Signature' : 'Payments-Signature'}</span>
        <input
          className="mono"
          value={request.signature}
          spellCheck={false}
          autoComplete="off"
          placeholder="t=…,v1=…"
          onChange={({ target }) => set({ signature: target.value })}
        />
      </label>
      <label className="field">
        <span>Body</span>
        <textarea
          className="mono"
          rows={6}
          spellCheck={false}
          value={request.body}
          onChange={({ target }) => set({ body: target.value })}
        />
      </label>
      <div className="form-actions">
        <button className="button primary" type="submit">
          Explain
        </button>
      </div>
      <Findings findings={findings} />
    </form>
  );
}

interface KindFieldsProps {
  readonly request: PastedRequest;
  readonly set: (change: Partial<PastedRequest>) => void;
}

function KindFields({ request, set }: KindFieldsProps): ReactElement {
  return (
    <div className="form-row">
      <label className="field">
        <span>Webhook</span>
        <select
          value={request.family}
          onChange={({ target }) => set({ family: target.value as PastedRequest['family'] })}
        >
          <option value="shipments">Shipment</option>
          <option value="payments">Payment</option>
        </select>
      </label>
      {request.family === 'shipments' && (
        <label className="field">
          <span>Shipping-Event (optional)</span>
          <input
            value={request.event}
            spellCheck={false}
            onChange={({ target }) => set({ event: target.value.trim() })}
          />
        </label>
      )}
    </div>
  );
}

function Findings({ findings = [] }: { readonly findings: readonly Finding[] | undefined }): ReactElement {
  return (
    <div role="status">
      <ul className="findings">
        {findings.map(({ isFault, text }) => (
          <li key={text} className={isFault ? 'fault' : undefined}>
            <b>{isFault ? 'Refused: ' : 'Fine: '}</b>
            <SafeText>{text}</SafeText>
          </li>
        ))}
      </ul>
    </div>
  );
}
