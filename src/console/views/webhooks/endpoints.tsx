import { useState, type ReactElement } from 'react';
import { useMutation } from '../../data/use-mutation.js';
import { useQuery } from '../../data/use-query.js';
import {
  RotateSecretDocument,
  WebhookEndpointsDocument,
  type WebhookEndpointsQuery,
} from '../../generated/index.js';
import { Facts } from '../../parts/facts.js';
import { OtherErrors, type UserErrors } from '../../parts/field.js';
import { KeepIt } from '../../parts/keep-it.js';
import { useGrant } from '../../parts/no-grant.js';
import { Problem } from '../../parts/problem.js';
import { SafeText } from '../../parts/safe-text.js';
import { Ago, Moment } from '../../parts/times.js';

type Endpoint = WebhookEndpointsQuery['webhookEndpoints'][number];

/** Each endpoint: the address to register, and its secret's age; the secret itself is never shown. */
export function Endpoints(): ReactElement {
  const { data, error, loading, reload } = useQuery(WebhookEndpointsDocument, {});
  return (
    <div className="cards">
      <h2>Endpoints</h2>
      <Problem error={error} retry={reload} busy={loading} />
      {loading && !data && <p className="quiet">Loading …</p>}
      {data?.webhookEndpoints.map((endpoint) => (
        <EndpointCard key={endpoint.id} endpoint={endpoint} rotated={reload} />
      ))}
      {data?.webhookEndpoints.length === 0 && (
        <p className="empty">
          No webhook is configured: see <code>SHIPMENT_WEBHOOKS</code> and <code>PAYMENT_WEBHOOKS</code>.
        </p>
      )}
    </div>
  );
}

interface EndpointCardProps {
  readonly endpoint: Endpoint;
  readonly rotated: () => void;
}

function EndpointCard({ endpoint, rotated }: EndpointCardProps): ReactElement {
  const { endpointId, family, url, secretSince, previousSecretValidUntil, lastDeliveryAt } = endpoint;
  const mayRotate = useGrant('WEBHOOKS_ROTATE');
  return (
    <article className="card">
      <header className="section-head">
        <h3 className="mono">
          <SafeText>{endpointId}</SafeText>
        </h3>
        <span className="badge" data-tone="plain">
          {family === 'SHIPMENTS' ? 'Shipments' : 'Payments'}
        </span>
      </header>
      <CopyField label={`Address to register for ${endpointId}`} value={url} />
      <Facts
        facts={[
          ['Secret set', <Ago key="since" at={secretSince} />],
          [
            'Previous secret counts until',
            previousSecretValidUntil == null ? (
              'Only the current one counts'
            ) : (
              <Moment key="until" at={previousSecretValidUntil} />
            ),
          ],
          ['Last new event', lastDeliveryAt == null ? 'None yet' : <Ago key="last" at={lastDeliveryAt} />],
        ]}
      />
      {family === 'PAYMENTS' && mayRotate && <RotateButton endpointId={endpointId} rotated={rotated} />}
    </article>
  );
}

function CopyField({ label, value }: { readonly label: string; readonly value: string }): ReactElement {
  /** Undefined until that is known. */
  const [isCopied, setCopied] = useState<boolean>();
  /** There is none at an address that is neither https nor loopback; the text is selected when it gets the focus. */
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const copy = (): void => {
    setCopied(undefined); // so that the same one is said once more
    clipboard?.writeText(value).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <div className="copy">
      <input
        className="mono"
        readOnly
        value={value}
        aria-label={label}
        onFocus={({ target }) => target.select()}
      />
      {clipboard && (
        <>
          <button className="button small" type="button" onClick={copy}>
            Copy
          </button>
          <span role="status" className={isCopied === false ? 'fault' : 'quiet small'}>
            {isCopied === true && 'Copied.'}
            {isCopied === false && 'It could not be copied.'}
          </span>
        </>
      )}
    </div>
  );
}

/** Asks once more: whoever else holds the secret has a day to follow. */
function RotateButton({
  endpointId,
  rotated,
}: {
  readonly endpointId: string;
  readonly rotated: () => void;
}): ReactElement {
  const { run, busy, error } = useMutation(RotateSecretDocument);
  const [isSure, setSure] = useState(false);
  const [errors, setErrors] = useState<UserErrors>([]);
  const [until, setUntil] = useState<string>();
  async function act(): Promise<void> {
    if (busy) return;
    if (!isSure) return setSure(true);
    setErrors([]);
    setUntil(undefined);
    const payload = (await run({ input: { endpointId } }))?.rotatePaymentWebhookSecret;
    setSure(false);
    if (!payload) return undefined;
    setErrors(payload.errors);
    setUntil(payload.previousSecretValidUntil ?? undefined);
    return rotated();
  }
  return (
    <div className="form">
      <OtherErrors errors={errors} paths={[]} />
      <Problem error={error} />
      {until !== undefined && (
        <p className="done" role="status">
          The new secret is in use. The previous one counts until <Moment at={until} />.
        </p>
      )}
      <div className="form-actions">
        <button
          className={isSure ? 'button primary' : 'button'}
          type="button"
          onClick={() => void act()}
          aria-disabled={busy}
        >
          {busy ? 'Rotating …' : isSure ? 'Yes, rotate it now' : 'Rotate the secret'}
        </button>
        {isSure && <KeepIt keep={() => setSure(false)} />}
      </div>
    </div>
  );
}
