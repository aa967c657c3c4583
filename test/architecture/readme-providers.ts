// The README's list of providers, made from the catalogue.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { providers } from '../../src/providers/catalog/registry.ts';
import type { ProviderEntry } from '../../src/providers/dialect.ts';
import { createDialects } from '../../src/providers/dialects/registry.ts';
import { offered } from '../../src/providers/offered.ts';
import { comesFrom, headersOf } from '../../src/providers/options/index-of.ts';
import { codec } from '../../src/rest/codec.ts';
import { ROOT } from './tools.ts';

const FILE = join(ROOT, 'README.md');
const BEGIN = '<!-- providers: generated from src/providers/catalog by npm run generate -->';
const dialects = createDialects(codec);
const END = '<!-- providers: end -->';

/** The README as it should be, and as it is. @throws Error when it has no place for the list. */
export async function readmeProviders(): Promise<{ readonly made: string; readonly there: string }> {
  const there = await readFile(FILE, 'utf8');
  const [before, rest] = there.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`README.md has no "${BEGIN}" ... "${END}"`);
  return { made: `${before}${BEGIN}\n${table()}\n${END}${after}`, there };
}

/** Puts the list right. */
export async function placeReadmeProviders(): Promise<void> {
  const { made, there } = await readmeProviders();
  if (made !== there) await writeFile(FILE, made);
}

function table(): string {
  const rows = [...providers].sort((a, b) => (a.id < b.id ? -1 : 1)).map(row);
  return ['| provider | operations | options as headers |', '|---|---|---|', ...rows].join('\n');
}

function row(entry: ProviderEntry): string {
  const { id, baseUrl, options = [] } = entry;
  const needs = baseUrl === undefined ? ['`x-gateway-custom-host` (required)'] : [];
  const headers = options
    .filter((spec) => comesFrom(spec, 'header'))
    .map((spec) => `\`x-gateway-${headersOf(spec)[0]}\`${spec.required === undefined ? '' : ' (required)'}`);
  const operations = offered(entry, dialects).filter((name) => name !== 'model');
  return `| ${id} | ${operations.join(', ')} | ${[...needs, ...headers].join(', ')} |`;
}
