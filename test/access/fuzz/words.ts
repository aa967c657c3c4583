// What texts are made of: ids of things that exist, by what a field names, and texts that are in nobody's way.
import type { DescField } from '@bufbuild/protobuf';
import { scopesOf } from '../../../src/access/scopes.ts';
import type { Dice } from './dice.ts';

/** What ids are of, in one word: workspace, user, key, policy. */
export type Thing = string;

/** Ids and slugs, by what they are of. */
export type Ids = Readonly<Record<Thing, readonly string[]>>;

/** What a message may speak of. */
export interface Words {
  /** The caller's own things. */
  readonly own: Ids;
  /** Another tenant's. */
  readonly foreign: Ids;
  /** Names and emails of the caller's own tenant. */
  readonly names: readonly string[];
}

const NOTHING = '00000000-0000-4000-8000-000000000000';
const SCOPES = [...scopesOf('organisation-service'), ...scopesOf('workspace-user')];
const MODELS = [
  'gpt-ok',
  'gpt-ok',
  'gpt-ok',
  'gpt-ok',
  'gpt-4o',
  'status-404',
  'status-503',
  'garbage',
  'cut',
  'html',
  'reset',
  'absent-1',
];
const STRANGE = [
  '',
  ' ',
  '\u0000',
  'a\nb',
  '👋',
  '\ud800',
  '__proto__',
  'constructor',
  '../x',
  "' OR 1=1 --",
  '%',
  '$where',
];
const PLAIN = [
  'x',
  'abc',
  'Some name',
  'a-slug',
  'default',
  'POST',
  '/v1/chat/completions',
  'someone@people.test',
];

/** The thing that a field's text is an id of. */
export function thingOf({ name, parent }: DescField): Thing | undefined {
  if (name === 'id' || name === 'ids') {
    if (parent.name.includes('ApiKey')) return 'key';
    if (parent.name.includes('Feedback')) return 'feedback';
    if (parent.name === 'NewWorkspaceMember') return 'user';
    return parent.name === 'InvitedWorkspace' ? 'workspace' : undefined;
  }
  if (name === 'workspaces' || name === 'workspace_slug') return 'workspace';
  if (name === 'api_key_ids') return 'key';
  if (name === 'users' || name === 'actor') return 'user';
  if (name === 'target_id') return 'key';
  if (name === 'secret_reference_id') return 'reference';
  if (name === 'trace_id' && parent.name === 'GetTraceRequest') return 'trace';
  if (name === 'slug' && !parent.name.startsWith('Create')) {
    if (parent.name.includes('Config')) return 'config';
    if (parent.name.includes('Integration')) return 'integration';
    if (/Provider|VirtualKey/.test(parent.name)) return 'provider';
  }
  return /^(?!request|trace|config)([a-z]+)_id$/.exec(name)?.[1];
}

/** The thing that a method makes: the last word of its name. */
export function thingMadeBy(method: string): Thing | undefined {
  return /^Create(?:[A-Z][a-z]+)*?([A-Z][a-z]+)$/.exec(method)?.[1]?.toLowerCase();
}

/** An id: mostly one that exists, every fourth time another tenant's. */
function anyId(dice: Dice, { own, foreign }: Words, thing: Thing): string {
  const roll = dice.next();
  const list = (roll < 0.62 ? own[thing] : roll < 0.9 ? foreign[thing] : undefined) ?? [];
  if (list.length > 0) return dice.pick(list);
  return dice.pick([NOTHING, 'default', 'nothing', ...(own[dice.pick(Object.keys(own))] ?? [])]);
}

/** A text for a field. @param wild strange ones, too */
export function anyText(dice: Dice, words: Words, field: DescField, wild: boolean): string {
  const { name } = field;
  if (wild && dice.chance(0.5)) return dice.pick([...STRANGE, 'x'.repeat(dice.pick([41, 101, 300]))]);
  const thing = thingOf(field);
  if (thing !== undefined) {
    const one = anyId(dice, words, thing);
    return name === 'ids' && dice.chance(0.5) ? `${one},${anyId(dice, words, thing)}` : one;
  }
  if (name === 'key') return dice.pick(['api_key', 'workspace_id', 'organisation_id', 'metadata.team']);
  if (name === 'scopes') return dice.pick(SCOPES);
  if (name === 'ai_provider_id' || name === 'provider')
    return dice.pick(['openai', 'openai', 'anthropic', 'azure-openai', 'ollama', 'nobody']);
  if (name === 'model') return dice.pick(MODELS);
  if (name === 'status_code') return dice.pick(['200', '200,404', '500']);
  if (name === 'status') return dice.pick(['active', 'archived', 'active,archived', 'pending']);
  if (name === 'method') return dice.pick(['GET', 'POST', 'PUT', 'DELETE']);
  if (name === 'path' || name === 'uri')
    return dice.pick(['/v1/chat/completions', '/admin/users', '/v1/models?a=1']);
  if (name.endsWith('email') || name === 'alert_emails')
    return dice.chance(0.5) ? `f${dice.below(1e6)}@people.test` : dice.pick(['a@b.c', ...words.names]);
  if (name === 'metadata') return dice.pick(['{"team":"a"}', '{}', '{"_user":1}', '[]']);
  if (name === 'metadata_key') return dice.pick(['team', '_user', 'a b']);
  if (name === 'cache_status') return dice.pick(['HIT', 'MISS,DISABLED', 'semantic_hit']);
  if (name === 'ai_org_model') return dice.pick(['openai__gpt-4o', 'openai__a__b,x__y', 'openai']);
  if (name === 'requested_data') return dice.pick(['id', 'request', 'cost', 'metadata']);
  if (name === 'columns') return dice.pick(['cost', 'cost,avg_latency,last_seen', 'p99_latency', 'secrets']);
  if (name === 'order_by') return dice.pick(['requests', 'requests', 'cost', 'timestamp', 'avg_tokens']);
  if (name === 'time_of_generation_min' && dice.chance(0.8))
    return new Date(Date.now() - dice.pick([1e6, 1e8, 1e9, 1e10])).toISOString();
  if (name === 'time_of_generation_max' && dice.chance(0.8))
    return new Date(Date.now() + dice.below(1e6)).toISOString();
  if (/(_at|_time|_min|_max)$/.test(name))
    return new Date(Date.now() + (dice.next() - 0.3) * 1e9 * dice.pick([1, 100, 8000])).toISOString();
  if (name === 'slug') return `s-${dice.below(1e9)}`;
  if (name === 'token') return `${dice.below(1e9)}-token`;
  if (name === 'hash') return 'ab'.repeat(32);
  if (name === 'clear')
    return dice.pick(['description', 'settings', 'workspaces', 'metadata', 'rate_limits', 'icon']);
  if (name.endsWith('name')) return dice.pick([...words.names, `n ${dice.below(1000)}`]);
  return dice.pick(PLAIN);
}
