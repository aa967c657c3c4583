// The README says what is there: every setting, every provider, every operation.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { providers } from '../../src/providers/catalog/registry.ts';
import { createRouteTable } from '../../src/rest/routes.ts';
import { generatedFiles, servicesOf } from './contract.ts';

const root = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const readme = root('README.md');

test('every setting has its row', (t) => {
  const names = new Set(
    [...(root('src/settings.ts') + root('src/telemetry/settings.ts')).matchAll(/'((?:[A-Z]+_)*[A-Z]+)'/g)]
      .map((match) => match[1]!)
      .filter((name) => name.length > 3),
  );
  t.true(names.has('GATEWAY_EGRESS_ALLOW'));
  const rows = readme.split('\n').filter((line) => line.startsWith('| `'));
  for (const name of names) {
    if (name === 'CERTIFICATE') continue;
    t.true(
      rows.some((row) => row.includes(`\`${name}\``)),
      name,
    );
  }
});

test('every provider is named', (t) => {
  for (const { id } of providers) t.regex(readme, new RegExp(`(?<![\\w-])${id}(?![\\w-])`), id);
});

test('every route has its row', async (t) => {
  for (const route of createRouteTable(servicesOf(await generatedFiles())).routes) {
    t.true(readme.includes(`${route.verb} ${route.template.text.replace('=**', '')}`), route.template.text);
  }
});
