// Every member and parameter of the document that is money says its unit.
import { readFileSync } from 'node:fs';
import test from 'ava';

const MONEY = /(?:^|_)(?:cost|costs|price|saved|savings|credit_limit|alert_threshold|amount|spent)(?:_|$)/;
/** Named after money, and none: ids of prices, whether costs are counted at all, which currency. */
const NONE = /_id$|_attribution$|_currency$/;
const UNIT = /US (?:cents|dollars)/;

/** Names of money by their places, with what is said of them. */
function moneyOf(node: unknown, place: string): [place: string, description: string][] {
  if (typeof node !== 'object' || node === null) return [];
  const found: [string, string][] = [];
  const note = (name: string, of: unknown): void => {
    const { description = '', type } = of as { readonly description?: string; readonly type?: unknown };
    const isMoney = MONEY.test(name) && !NONE.test(name) && type !== 'boolean';
    if (isMoney) found.push([`${place} ${name}`, description]);
  };
  const { name, in: within, properties } = node as Readonly<Record<string, unknown>>;
  if (typeof name === 'string' && typeof within === 'string') note(name, node);
  if (typeof properties === 'object') for (const [key, of] of Object.entries(properties ?? {})) note(key, of);
  for (const [key, child] of Object.entries(node)) found.push(...moneyOf(child, `${place}/${key}`));
  return found;
}

test('what is money says its unit', (t) => {
  const all = moneyOf(JSON.parse(readFileSync('gen/openapi.json', 'utf8')), '');
  t.true(all.length > 50, String(all.length));
  for (const [place, description] of all) t.regex(description, UNIT, place);
});

test('costs of logs, traces and analytics are in one unit', (t) => {
  const all = moneyOf(JSON.parse(readFileSync('gen/openapi.json', 'utf8')), '');
  const costs = all.filter(([place]) =>
    /(?:Log\w+|Trace\w*|\w+Group|ReRate)\S* (?:cost\w*|saved)$/.test(place),
  );
  const plain = costs.filter(([place]) => !place.endsWith('_exact'));
  t.true(plain.length >= 9);
  for (const [place, description] of plain) t.regex(description, /US cents/, place);
});
