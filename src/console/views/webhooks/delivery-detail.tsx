import { useMemo, type ReactElement } from 'react';
import { hrefOf } from '../../app/router.js';
import type { DeliveryPartsFragment } from '../../generated/index.js';
import { Disclosure } from '../../parts/disclosure.js';
import { Facts } from '../../parts/facts.js';
import { SafeText } from '../../parts/safe-text.js';
import { Moment } from '../../parts/times.js';
import { Tree } from '../../parts/tree.js';
import { OutcomeBadge } from './outcome.js';

/** How much of a body is laid out as text: a mebibyte in one line would hold up the page. */
const maxShown = 20_000;

/** One delivery: what became of it and why, and what was sent. */
export function DeliveryDetail({ delivery }: { readonly delivery: DeliveryPartsFragment }): ReactElement {
  const { outcome, type, reason, message, receivedAt, signedAt, eventId, endpoint, family, entityId } =
    delivery;
  const view = family === 'SHIPMENTS' ? 'shipments' : 'payments';
  return (
    <>
      <h2 className="mono">{type == null ? 'No event' : <SafeText>{type}</SafeText>}</h2>
      <p className="timeline-head">
        <OutcomeBadge outcome={outcome} />
        {reason != null && <code>{reason}</code>}
      </p>
      {message != null && (
        <p className="notice">
          <SafeText>{message}</SafeText>
        </p>
      )}
      <Facts
        facts={[
          ['Sent to', endpoint?.endpointId ?? 'An address that is not configured'],
          ['Received', <Moment key="received" at={receivedAt} />],
          ['Signed', signedAt == null ? undefined : <Moment key="signed" at={signedAt} />],
          ['Event', eventId],
          [
            family === 'SHIPMENTS' ? 'Shipment' : 'Payment',
            entityId == null ? undefined : (
              <a key="entity" className="mono" href={hrefOf(view, entityId)}>
                <SafeText>{entityId}</SafeText>
              </a>
            ),
          ],
        ]}
      />
      <Body body={delivery.body ?? undefined} truncated={delivery.truncated} />
    </>
  );
}

function Body(props: { readonly body: string | undefined; readonly truncated: boolean }): ReactElement {
  const { body, truncated } = props;
  const tree = useMemo(() => parse(body), [body]);
  if (body === undefined) return <p className="quiet">The body was not kept.</p>;
  return (
    <>
      {tree && (
        <section aria-label="Body as a tree">
          <h3>Body</h3>
          <Tree value={tree.value} />
        </section>
      )}
      <Disclosure
        className="data"
        summary={tree ? 'As it came' : 'Body as it came, which is not JSON'}
        beginsOpen={!tree}
      >
        {() => (
          <pre className="raw" tabIndex={0}>
            <SafeText most={maxShown}>{body}</SafeText>
          </pre>
        )}
      </Disclosure>
      {truncated && <p className="quiet">Only its beginning was kept.</p>}
    </>
  );
}

function parse(body: string | undefined): { readonly value: unknown } | undefined {
  try {
    return body === undefined ? undefined : { value: JSON.parse(body) as unknown };
  } catch {
    return undefined;
  }
}
