import type { ReactElement } from 'react';
import type { GraphiQLPlugin } from '@graphiql/react';
import { createStore, useStore } from '../data/store.js';
import { Disclosure } from '../parts/disclosure.js';
import { Icon } from '../parts/icons.js';
import type { Answer } from './session/gateway.js';

interface Message {
  readonly number: number;
  readonly at: Date;
  readonly answer: Answer;
}

const maxMessages = 100;
const clockTime = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

const messages = createStore<readonly Message[]>([]);

/** Forgets the messages: another subscription begins, or somebody else reads the page. */
export function forgetMessages(): void {
  messages.set([]);
}

/** Keeps a message of the subscription that runs, with the time at which it came. */
export function keepMessage(answer: Answer): void {
  const [latest] = messages.get();
  const message = { number: (latest?.number ?? 0) + 1, at: new Date(), answer };
  messages.set([message, ...messages.get().slice(0, maxMessages - 1)]);
}

/** The last 100 messages of a subscription, the newest first. */
export const messagesPlugin: GraphiQLPlugin = {
  title: 'Messages',
  icon: () => <Icon name="pulse" />,
  content: Messages,
};

function Messages(): ReactElement {
  const kept = useStore(messages);
  return (
    <section aria-label="Messages" className="messages">
      <div className="graphiql-doc-explorer-title">Messages</div>
      {kept.length === 0 ? <p>Run a subscription: its last {maxMessages} messages are listed here.</p> : null}
      <ol>
        {kept.map(({ number, at, answer }) => (
          <li key={number}>
            <Disclosure
              className="message"
              summary={
                <>
                  <time dateTime={at.toISOString()}>{clockTime.format(at)}</time> {summaryOf(number, answer)}
                </>
              }
              beginsOpen={false}
            >
              {() => <pre>{JSON.stringify(answer, null, 2)}</pre>}
            </Disclosure>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What tells a message from its neighbours. */
function summaryOf(number: number, { data, errors }: Answer): string {
  return `#${number} ${[...Object.keys(data ?? {}), ...(errors ? ['errors'] : [])].join(', ')}`;
}
