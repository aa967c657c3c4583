import { providers } from '../../../src/providers/catalog/registry.ts';
import type { ProviderEntry } from '../../../src/providers/dialect.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { offered } from '../../../src/providers/offered.ts';
import { comesFrom, headersOf } from '../../../src/providers/options/index-of.ts';
import { codec } from '../../../src/rest/codec.ts';
import { tableOf } from './cell.ts';

const dialects = createDialects(codec);

/** The providers guide's table, from the catalogue. */
export function providersTable(): string {
  const rows = [...providers].sort((a, b) => (a.id < b.id ? -1 : 1)).map(row);
  return tableOf(['provider', 'operations', 'options as headers'], rows);
}

function row(entry: ProviderEntry): string[] {
  const { id, baseUrl, options = [] } = entry;
  const needs = baseUrl === undefined ? ['`x-gateway-custom-host` (required)'] : [];
  const headers = options
    .filter((spec) => comesFrom(spec, 'header'))
    .map((spec) => `\`x-gateway-${headersOf(spec)[0]}\`${spec.required === undefined ? '' : ' (required)'}`);
  const operations = offered(entry, dialects).filter((name) => name !== 'model');
  return [id, operations.join(', ') || 'pass-through only', [...needs, ...headers].join(', ')];
}
