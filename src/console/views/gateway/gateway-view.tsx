import type { ReactElement } from 'react';
import { describeConnection } from '../../app/connection-light.js';
import { pageSettings } from '../../app/page-settings.js';
import { useSession } from '../../app/session.js';
import { useStore } from '../../data/store.js';
import { useGateway } from '../../data/use-gateway.js';
import { Facts } from '../../parts/facts.js';
import { Moment } from '../../parts/times.js';
import { number } from '../../parts/words.js';
import { serviceNames, useHealth, useServices, type ServiceFigures } from './use-health.js';

/** This gateway: its version, whether it can serve, and how its calls to the services go. */
export function GatewayView(): ReactElement {
  const connection = useStore(useGateway().connection);
  const { viewer } = useSession();
  const health = useHealth();
  const { version, sandbox } = pageSettings;
  return (
    <div className="view">
      <header className="view-head">
        <h1>This gateway</h1>
      </header>
      <section className="card" aria-label="Gateway">
        <Facts
          facts={[
            ['Version', version || undefined],
            ['State', <Health key="health" state={health} />],
            ['Live connection', describeConnection(connection)],
            ['Your calls to the notes service', <NotesQuota key="quota" />],
            [
              'Your grants',
              viewer
                ? viewer.grants.map((grant) => grant.toLowerCase().replace('_', ':')).join(', ') || 'None'
                : 'Not known for now',
            ],
            ['Services', sandbox ? `The bundled sandbox, at ${sandbox.url}` : 'As configured'],
          ]}
        />
      </section>
      <Services />
      <p className="link-row">
        <a href="/graphql">Explorer</a> <a href="/docs">Documentation</a> <a href="/schema.graphql">Schema</a>{' '}
        <a href="/readyz">Readiness</a>
      </p>
    </div>
  );
}

/** What this person may still ask the notes service for; most views ask it for something. */
function NotesQuota(): ReactElement {
  const quota = useStore(useGateway().quota);
  if (!quota) return <>Not counted yet: open your notes</>;
  const { quota: most, remaining, resetsAt } = quota;
  return (
    <>
      {number(remaining)} of {number(most)} left this hour
      {resetsAt && (
        <>
          , more at <Moment at={resetsAt.toISOString()} form="clock" />
        </>
      )}
    </>
  );
}

const states = {
  ok: ['green', 'Ready, with its database'],
  draining: ['amber', 'About to stop'],
  'no database': ['red', 'No database'],
  unreachable: ['red', 'Unreachable'],
  unknown: ['plain', 'Asking …'],
} as const;

function Health({ state }: { readonly state: keyof typeof states }): ReactElement {
  const [tone, words] = states[state];
  return (
    <span className="badge" data-tone={tone} role="status">
      {words}
    </span>
  );
}

function Services(): ReactElement {
  const services = useServices();
  return (
    <section className="card" aria-labelledby="services">
      <h2 id="services">Services</h2>
      {services === undefined ? (
        <p className="quiet">
          Their figures are at a port of their own (METRICS_PORT), which this page cannot read.
        </p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">State</th>
              <th scope="col">Calls</th>
              <th scope="col">Failed</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(serviceNames).map(([service, name]) => (
              <ServiceRow key={service} name={name} figures={services.get(service)} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function ServiceRow(props: {
  readonly name: string;
  readonly figures: ServiceFigures | undefined;
}): ReactElement {
  const { calls = 0, failed = 0, isFailing = false, isResting = false } = props.figures ?? {};
  const [tone, words] = isResting
    ? (['red', 'Rested: it failed too often'] as const)
    : isFailing
      ? (['amber', 'Failing'] as const)
      : calls === 0
        ? (['plain', 'Not asked yet'] as const)
        : (['green', 'Answers'] as const);
  return (
    <tr>
      <th scope="row">{props.name}</th>
      <td>
        <span className="badge" data-tone={tone}>
          {words}
        </span>
      </td>
      <td className="figure">{number(calls)}</td>
      <td className="figure">{number(failed)}</td>
    </tr>
  );
}
