// What of each provider's chat is tested, read off the golden fixtures and the profiles of the shared wire: its own, or
// those of the wire that it shares, which test/providers/shared-wire.test.ts replays for each provider of that wire.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { providers } from '../../../src/providers/catalog/registry.ts';
import type { ProviderEntry } from '../../../src/providers/dialect.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { has } from '../../../src/providers/offered.ts';
import { codec } from '../../../src/rest/codec.ts';
import { PROFILES } from '../../providers/wires/profiles.ts';
import { ROOT } from '../tools.ts';
import { tableOf } from './cell.ts';

const FEATURES = [
  'whole',
  'stream',
  'tools',
  'parallel tools',
  'reasoning',
  'images',
  'structured output',
  'errors',
  'usage',
] as const;

type Feature = (typeof FEATURES)[number];

const GOLDEN = join(ROOT, 'test/providers/golden');
/** The wire that most providers share. */
const SHARED = 'openai';

const dialects = createDialects(codec);

/** One row a provider that has a chat of its own. */
export function conformanceTable(): string {
  const tested = new Map<string, Set<Feature>>();
  for (const folder of readdirSync(GOLDEN))
    for (const name of readdirSync(join(GOLDEN, folder))) {
      const { provider, features } = caseIn(folder, name);
      const known = tested.get(provider) ?? new Set<Feature>();
      for (const feature of features) known.add(feature);
      tested.set(provider, known);
    }
  const rows = providers
    .filter((entry) => has(entry, dialects.get(entry.dialect)!, 'chat'))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((entry) => [entry.id, ...FEATURES.map((feature) => cellOf(entry, feature, tested))]);
  return tableOf(['provider', ...FEATURES], rows);
}

function cellOf(
  { id, dialect }: ProviderEntry,
  feature: Feature,
  tested: ReadonlyMap<string, Set<Feature>>,
): string {
  if (tested.get(id)?.has(feature) || inProfile(id, feature)) return 'yes';
  return dialect === SHARED && tested.get(SHARED)?.has(feature) ? 'shared' : 'not tested';
}

/** test/providers/wires.test.ts asserts all of these of each profile, and thoughts of those that have some. */
function inProfile(id: string, feature: Feature): boolean {
  const profile = PROFILES[id];
  return profile !== undefined && (feature !== 'reasoning' || profile.reasoning !== undefined);
}

interface Case {
  readonly provider: string;
  readonly features: readonly Feature[];
}

const NONE: readonly Feature[] = [];

function caseIn(folder: string, name: string): Case {
  const at = join(GOLDEN, folder, name);
  const text = (file: string): string =>
    existsSync(join(at, file)) ? readFileSync(join(at, file), 'utf8') : '';
  const given = JSON.parse(text('case.json') || '{}') as { provider?: string; operation?: string };
  const provider = given.provider ?? folder;
  if ((given.operation ?? 'chat') !== 'chat') return { provider, features: NONE };
  const request = text('request.json');
  const [whole, chunks] = [text('response.json'), text('chunks.json')];
  const said = `${whole}${chunks}`;
  const answers = said !== '' && !said.startsWith('{\n  "error"');
  const calls = new Set([...said.matchAll(/"id": "([^"]+)",\s*"type": "function"/g)].map(([, id]) => id));
  const has: Readonly<Record<Feature, boolean>> = {
    whole: whole.includes('"answer"'),
    stream: chunks.includes('"object": "chat.completion.chunk"'),
    tools: request.includes('"tools"') && (calls.size > 0 || text('provider-request.json') !== ''),
    'parallel tools': calls.size > 1,
    reasoning: /"reasoning_content"|"thinking"|"reasoning_tokens": [1-9]/.test(said),
    images: request.includes('"image_url"'),
    'structured output': /"json_schema"|"json_object"/.test(request),
    errors: readdirSync(at).some((file) => /^error-\d/.test(file)) || /"reason": "upstream_/.test(said),
    usage: answers && said.includes('"prompt_tokens"'),
  };
  return { provider, features: FEATURES.filter((feature) => has[feature]) };
}
