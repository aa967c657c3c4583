// The dashboard and the alert rules: valid, and every metric and label that they name exists on a started gateway.
import test from 'ava';
import type { Family } from '../../src/telemetry/family.ts';
import { startGateway } from '../support/gateway.ts';
import { metricsIn } from './promql.ts';
import { at, type Entries, textOf, type Value, yamlOf } from './read.ts';

let families: ReadonlyMap<string, Family>;
test.before(async () => {
  const gateway = await startGateway({ GATEWAY_METRICS_TOKEN: 'metrics-token-0123456789' });
  try {
    const page = await fetch(`${gateway.origin}/metrics`, {
      headers: { authorization: 'Bearer metrics-token-0123456789' },
    });
    const text = await page.text();
    const served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]!));
    families = new Map(
      gateway.app.families.filter(({ name }) => served.has(name)).map((one) => [one.name, one]),
    );
  } finally {
    await gateway.close();
  }
});

/** The series of a family: a histogram has three, other families one. */
function familyOf(series: string): Family | undefined {
  const base = families.get(series.replace(/_(?:bucket|sum|count)$/, ''));
  return families.get(series) ?? (base?.type === 'histogram' ? base : undefined);
}

/** Labels of selectors and of `by (...)`. */
function labelsIn(expression: string): string[] {
  const inside = [...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, text = '']) =>
    [...text.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((match) => match[1]!),
  );
  const grouped = [...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, text = '']) =>
    text.split(',').map((word) => word.trim()),
  );
  return [...inside, ...grouped];
}

/** What Prometheus adds when it scrapes, and histograms have. */
const ADDED = ['job', 'instance', 'le'];

function faultsOf(expression: string): string[] {
  const named = metricsIn(expression);
  if (named.length === 0) return [`${expression}: names no metric`];
  const unknown = named.filter((name) => familyOf(name) === undefined);
  const labels = new Set([...ADDED, ...named.flatMap((name) => familyOf(name)?.labels ?? [])]);
  return [
    ...unknown.map((name) => `${expression}: there is no metric ${name}`),
    ...labelsIn(expression)
      .filter((label) => !labels.has(label))
      .map((label) => `${expression}: there is no label ${label}`),
  ];
}

test('alert rules have the members that Prometheus takes, and expressions over metrics that exist', (t) => {
  const [file] = yamlOf('alerts.yaml');
  const groups = at(file, 'groups') as readonly Entries[];
  const names = new Set<string>();
  for (const group of groups) {
    t.deepEqual(Object.keys(group), ['name', 'rules']);
    for (const rule of group.rules as readonly Entries[]) {
      const { alert, expr, for: lasting = '0s', labels, annotations, ...others } = rule;
      t.deepEqual(others, {});
      t.regex(String(alert), /^Sluice[A-Z]\w+$/);
      t.false(names.has(String(alert)), String(alert));
      names.add(String(alert));
      t.regex(String(lasting), /^\d+[smh]$/);
      t.true(['critical', 'warning', 'info'].includes(String(at(labels, 'severity'))));
      t.deepEqual(Object.keys(annotations as Entries), ['summary', 'description']);
      t.deepEqual(faultsOf(String(expr)), []);
      // Labels that a summary names are among those that the expression keeps.
      for (const [, label = ''] of JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g))
        t.true(labelsIn(String(expr)).includes(label), `${alert}: ${label}`);
    }
  }
  t.true(names.size >= 8);
});

test('panels of the dashboard query metrics and labels that exist, and do not overlap', (t) => {
  const dashboard = JSON.parse(textOf('dashboard.json')) as Entries;
  t.is(dashboard.title, 'Sluice');
  const panels = dashboard.panels as readonly Entries[];
  t.true(panels.length >= 15);
  t.is(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Set<string>();
  for (const panel of panels) {
    for (const target of panel.targets as readonly Entries[])
      t.deepEqual(faultsOf(String(target.expr)), [], String(panel.title));
    for (const cell of cellsOf(panel.gridPos)) {
      t.false(taken.has(cell), `${panel.title} lies over another panel`);
      taken.add(cell);
    }
  }
  const variables = at(dashboard, 'templating', 'list') as readonly Entries[];
  for (const query of variables
    .map((variable) => at(variable, 'query', 'query'))
    .filter((one) => one !== undefined)) {
    const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(String(query)) ?? [];
    t.deepEqual(faultsOf(selector), []);
    t.true(['job', ...(familyOf(selector.replace(/\{.*/, ''))?.labels ?? [])].includes(label), label);
  }
});

test('what is no PromQL and what is no metric is found', (t) => {
  t.throws(() => metricsIn('sum by ( (rate(x[5m]))'));
  t.deepEqual(metricsIn('rate(a_total{b="c_total"}[$__rate_interval]) / on (d) e'), ['a_total', 'e']);
  t.deepEqual(faultsOf('sluice_nothing_total'), [
    'sluice_nothing_total: there is no metric sluice_nothing_total',
  ]);
  t.is(faultsOf('sluice_store_up{shop="x"}').length, 1);
});

function cellsOf(position: Value | undefined): string[] {
  const [x = 0, y = 0, w = 0, h = 0] = ['x', 'y', 'w', 'h'].map((name) => Number(at(position, name)));
  return Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`);
}
