import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const { panels } = JSON.parse(readFileSync('deploy/grafana/dashboards/trivium.json', 'utf8')) as Dashboard;
/** Grafana fills in the range of a graph. */
const targets = panels.flatMap(({ title, targets: own = [] }) =>
  own.map((target) => ({ title, ...target, expr: target.expr.replaceAll('$__rate_interval', '5m') })),
);
const alerts = readFileSync('deploy/prometheus/alerts.yml', 'utf8');
const alerting = Array.from(alerts.matchAll(/expr: (.*)/g)).map(([, expr]) => ({ expr: expr! }));

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
if (!hasPromtool) test.skip('what Prometheus is asked is parsed: promtool is not installed');

function check(...args: readonly string[]) {
  const { status, stderr } = spawnSync('promtool', ['check', ...args], { encoding: 'utf8' });
  return [status, stderr];
}

test.runIf(hasPromtool)('Prometheus takes its configuration and the alerts as they are shipped', () => {
  expect(check('config', 'deploy/prometheus/prometheus.yml')).toEqual([0, '']);
});

test.runIf(hasPromtool)('Prometheus takes every expression of the dashboard', () => {
  expect(targets.length).toBeGreaterThan(10);
  const rules = targets.map(({ expr }, at) => ({ record: `panel:${at}`, expr }));
  const file = join(mkdtempSync(join(inject('testDirectory'), 'dashboard-')), 'rules.json'); // which is YAML, too
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  expect(check('rules', file)).toEqual([0, '']);
});

/** A series of a gateway, with one value for each minute. */
function series(name: string, labels: Readonly<Record<string, string>>, values: string) {
  const list = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return { series: `${name}{${list.join(',')}}`, values };
}

/** A warning that Prometheus is expected to have. */
function warning(labels: Readonly<Record<string, string>>, summary: string) {
  return { exp_labels: { severity: 'warning', ...labels }, exp_annotations: { summary } };
}

/** Has Prometheus follow the series, and compare what it makes of them with what is expected. */
function compare(input: readonly ReturnType<typeof series>[], expected: object) {
  const file = join(mkdtempSync(join(inject('testDirectory'), 'alerts-')), 'test.json');
  writeFileSync(
    file,
    JSON.stringify({
      rule_files: [resolve('deploy/prometheus/alerts.yml')],
      evaluation_interval: '1m',
      tests: [{ interval: '1m', input_series: input, ...expected }],
    }),
  );
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  return [status, `${stdout}${stderr}`];
}

const equal = [0, expect.stringContaining('SUCCESS')];
const replicaA = { job: 'trivium', instance: 'a' };
const replicaB = { job: 'trivium', instance: 'b' };
const position = 'trivium_log_position';
const resting = 'trivium_upstream_resting';
const accepted = 'trivium_webhook_last_accepted_timestamp_seconds';
const delay = 'nodejs_eventloop_lag_p99_seconds';
const endpoint = { family: 'shipments', endpoint: 'sub_1' };

test.runIf(hasPromtool).each([
  {
    what: 'of a service that rests once, nothing',
    alert: 'TriviumUpstreamResting',
    input: [series(resting, { ...replicaA, upstream: 'notes' }, '0 0 1 0 0 0 0 0')],
    minute: 3,
    expected: [],
  },
  {
    what: 'of a service that rests again and again',
    alert: 'TriviumUpstreamResting',
    input: [series(resting, { ...replicaA, upstream: 'notes' }, '0 1 0 1 0 0')],
    minute: 4,
    expected: [
      warning(
        { ...replicaA, upstream: 'notes' },
        'The service notes keeps failing, and gets no calls for now.',
      ),
    ],
  },
  {
    what: 'of a replica that is behind another',
    alert: 'TriviumReplicaBehind',
    input: [
      series(position, replicaA, '10+10x9'),
      series(position, replicaB, '10 10 10 10 10 10 10 10 10 10'),
    ],
    minute: 9,
    expected: [warning(replicaB, 'Live updates are late on b.')],
  },
  {
    what: 'of a gateway whose log is shorter than that of another gateway, nothing',
    alert: 'TriviumReplicaBehind',
    input: [
      series(position, replicaA, '1000x9'),
      series(position, { job: 'staging', instance: 'c' }, '10x9'),
    ],
    minute: 9,
    expected: [],
  },
  {
    what: 'of an endpoint with a delivery on one replica within a day, nothing',
    alert: 'TriviumEndpointSilent',
    input: [
      series(accepted, { ...replicaA, ...endpoint }, '0x1500'),
      series(accepted, { ...replicaB, ...endpoint }, '60x1500'),
    ],
    minute: 1_440,
    expected: [],
  },
  {
    what: 'of an endpoint without a delivery for a day, though that of another gateway has some',
    alert: 'TriviumEndpointSilent',
    input: [
      series(accepted, { ...replicaA, ...endpoint }, '0x1500'),
      series(accepted, { job: 'staging', instance: 'c', ...endpoint }, '0+60x1500'),
    ],
    minute: 1_441,
    expected: [
      warning({ job: 'trivium', ...endpoint }, 'No delivery was accepted from shipments/sub_1 for a day.'),
    ],
  },
  {
    what: 'of a busy replica, and not of another program on Node.js',
    alert: 'TriviumEventLoopBusy',
    input: [
      series('trivium_build_info', { ...replicaA, version: '1.0.0' }, '1x9'),
      series(delay, replicaA, '0.2x9'),
      series(delay, { job: 'shop', instance: 'a' }, '0.2x9'),
      series(delay, { job: 'trivium', instance: 'shop' }, '0.2x9'),
    ],
    minute: 9,
    expected: [warning(replicaA, 'a has more to do than one core can: add a replica.')],
  },
  {
    what: 'of a replica that does not answer, by a job whose name begins with that of the program',
    alert: 'TriviumDown',
    input: [
      series('up', replicaA, '1x9'),
      series('up', { job: 'trivium-staging', instance: 'c' }, '0x9'),
      series('up', { job: 'shop', instance: 'd' }, '0x9'),
    ],
    minute: 9,
    expected: [
      warning(
        { job: 'trivium-staging', instance: 'c', severity: 'critical' },
        'A replica does not answer: c',
      ),
    ],
  },
])('Prometheus tells $what', ({ alert, input, minute, expected }) => {
  const ofAlert = { eval_time: `${minute}m`, alertname: alert };
  expect(compare(input, { alert_rule_test: [{ ...ofAlert, exp_alerts: expected }] })).toEqual(equal);
});

test.runIf(hasPromtool)('the dashboard shows the processes of gateways only', () => {
  const ofProcesses = targets.filter(({ expr }) => /^(?:process|nodejs)_/.test(expr));
  expect(ofProcesses).toHaveLength(2);
  for (const { expr } of ofProcesses) {
    const [name = ''] = namesIn([{ expr }]);
    const input = [
      series('trivium_build_info', { ...replicaA, version: '1.0.0' }, '1'),
      series(name, replicaA, '1'),
      series(name, { job: 'shop', instance: 'a' }, '2'),
    ];
    const sample = { labels: `${name}{instance="a",job="trivium"}`, value: 1 };
    const ofPanel = { expr, eval_time: '0m', exp_samples: [sample] };
    expect(compare(input, { promql_expr_test: [ofPanel] })).toEqual(equal);
  }
});

let testbed: Testbed;
let scraped: string;

beforeAll(async () => {
  testbed = await startTestbed({ settings: { NATS_URL: 'nats://127.0.0.1:1' } });
  scraped = await (await fetch(`${testbed.url}/metrics`)).text();
});
afterAll(() => testbed.stop());

/** The names of metrics that expressions ask for. */
function namesIn(expressions: readonly { readonly expr: string }[]): readonly string[] {
  return expressions.flatMap(({ expr }) => expr.match(/\b(?:trivium|process|nodejs)_\w+/g) ?? []);
}

/** The names that a scrape gives: those of histograms have an ending for each of their series. */
function namesScraped(): ReadonlySet<string> {
  const types = Array.from(scraped.matchAll(/^# TYPE (\w+) (\w+)$/gm));
  return new Set(
    types.flatMap(([, name, type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((ending) => `${name}${ending}`) : [name!],
    ),
  );
}

test.each([
  ['the dashboard', targets],
  ['the alerts', alerting],
])('%s asks only for metrics that a gateway gives', (_, expressions) => {
  const names = namesIn(expressions);
  expect(names.length).toBeGreaterThanOrEqual(expressions.length - 1); // one alert asks for `up`
  expect(names.filter((name) => !namesScraped().has(name))).toEqual([]);
});

/** What Prometheus itself adds to a series. */
const added = ['instance', 'job', 'le'];

test('the dashboard and the alerts group and filter by labels that their metrics have', () => {
  const labels = new Map(testbed.telemetry.metrics.described().map((metric) => [metric.name, metric.labels]));
  const used = [...targets, ...alerting].flatMap(({ expr }) => {
    const names = namesIn([{ expr }]).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
    const known = [...added, ...names.flatMap((name) => labels.get(name as `trivium_${string}`) ?? [])];
    const grouped = Array.from(expr.matchAll(/by \(([^)]*)\)/g)).flatMap(([, list]) => list!.split(/, */));
    const filtered = Array.from(expr.matchAll(/(\w+)="/g)).map(([, label]) => label!);
    return [...grouped, ...filtered].map((label) => ({ expr, label, isKnown: known.includes(label) }));
  });
  expect(used.length).toBeGreaterThan(10);
  expect(used.filter(({ isKnown }) => !isKnown)).toEqual([]);
});
