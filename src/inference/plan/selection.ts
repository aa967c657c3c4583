// The provider that a call's headers (or its model) select.

import type { TenantScope } from '../../call/scope.ts';
import { aliasHint } from '../../lib/alias-hint.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { nearest } from '../../lib/nearest.ts';
import { theNearest } from '../../lib/nearest-names.ts';
import { nearProviders } from '../../providers/catalog/registry.ts';
import type { Selected } from './bind.ts';
import { clip } from './faults.ts';
import type { PlanDeps, StoredProvider } from './plan-deps.ts';
import { NO_TENANT, type PlannedCall } from './planned-call.ts';
import { canonical } from './request-settings.ts';

/** The headers that select. */
export interface Selection {
  readonly provider: string | undefined;
  readonly virtualKey: string | undefined;
  readonly config: string | undefined;
  readonly customHost: string | undefined;
}

/** @throws GatewayError selection_conflict */
export function readSelection(headers: GatewayHeaders): Selection {
  const given = {
    provider: headers.get('provider'),
    virtualKey: headers.get('virtual-key'),
    config: headers.get('config'),
    customHost: headers.get('custom-host'),
  };
  const { provider, virtualKey, config, customHost } = given;
  if (virtualKey !== undefined) {
    if (config !== undefined) throw conflict(headers, 'virtual-key', 'config');
    if (customHost !== undefined) throw conflict(headers, 'virtual-key', 'custom-host');
    if (provider !== undefined && provider !== `@${virtualKey}` && provider !== virtualKey)
      throw conflict(headers, 'virtual-key', 'provider');
  }
  return given;
}

/** Two headers that say different things. */
export function conflict(headers: GatewayHeaders, a: string, b: string): GatewayError {
  const name = canonical(headers, a);
  return fail(
    'selection_conflict',
    `${name} and ${canonical(headers, b)} select different providers; send one of them`,
    { param: name },
  );
}

/** Whether a call leaves it to its tenant where it goes. */
export function selectsNothing(
  { provider, virtualKey, customHost }: Selection,
  model: string | undefined,
): boolean {
  return (provider ?? virtualKey ?? customHost) === undefined && !model?.startsWith('@');
}

/** The provider by header, virtual key or model. @throws GatewayError provider_missing, provider_unknown, selection_conflict */
export function select(
  call: PlannedCall,
  { provider, virtualKey, customHost }: Selection,
  deps: PlanDeps,
  model: string | undefined,
  mayBeMissing: boolean,
): Selected | undefined | Promise<Selected | undefined> {
  const { headers } = call;
  const name = (bare: string): string => canonical(headers, bare);
  if (virtualKey !== undefined) {
    const slug = virtualKey.replace(/^@/, '');
    return stored(call, slug, name('virtual-key'), deps, sameModel(call, slug, deps, model));
  }
  if (provider === undefined || provider === '') {
    const [, slug, rest] = SLUG.exec(model ?? '') ?? [];
    const missing = (): Selected | undefined | Promise<Selected> => {
      if (mayBeMissing) return undefined;
      return byModel(call, customHost, deps, model);
    };
    // Names of models may begin so: Cloudflare's and Hugging Face's do.
    if (slug === undefined || slug === 'cf' || slug === 'hf') return missing();
    if (customHost !== undefined) throw conflict(headers, 'custom-host', 'provider');
    return stored(call, slug, 'model', deps, rest);
  }
  if (provider.startsWith('@')) {
    if (customHost !== undefined) throw conflict(headers, 'provider', 'custom-host');
    const slug = provider.slice(1);
    return stored(call, slug, name('provider'), deps, sameModel(call, slug, deps, model));
  }
  const entry = deps.providerById(provider);
  if (entry === undefined)
    throw fail('provider_unknown', `the provider is not known: ${clip(provider)}${nearProviders(provider)}`, {
      param: name('provider'),
    });
  if (customHost !== undefined) deps.checkHost(customHost, name('custom-host'), entry.localPort);
  return { entry, stored: undefined, customHost, model: undefined };
}

const SLUG = /^@([^/]{1,255})\/(.+)$/s;

/** What a model names of a stored provider: "@slug/model" without its slug; undefined: it does not name it. */
export function modelOfSlug(slug: string, model: string | undefined): string | undefined {
  const [, named, rest] = SLUG.exec(model ?? '') ?? [];
  return named === slug ? rest : undefined;
}

/** What a model names: "@slug/model" of a stored provider that is there. Names of some providers' models begin so, too. */
export function namedByModel(
  { principal }: PlannedCall,
  { peekProvider }: PlanDeps,
  model: string | undefined,
): { readonly slug: string; readonly model: string } | undefined {
  const [, slug, rest] = SLUG.exec(model ?? '') ?? [];
  if (slug === undefined || rest === undefined) return undefined;
  return peekProvider?.(principal ?? NO_TENANT, slug) === undefined ? undefined : { slug, model: rest };
}

/** @throws GatewayError selection_conflict where the model names another stored provider than the header */
function sameModel(
  call: PlannedCall,
  slug: string,
  deps: PlanDeps,
  model: string | undefined,
): string | undefined {
  const named = namedByModel(call, deps, model);
  if (named === undefined || named.slug === slug) return modelOfSlug(slug, model);
  throw otherProvider(named.slug, 'the call goes to another one');
}

/** A model that names another stored provider than where the call goes. */
export function otherProvider(slug: string, why: string): GatewayError {
  return fail(
    'selection_conflict',
    `model: names the stored provider ${clip(slug)}, and ${why}; leave the slug or the other selection out`,
    { param: 'model' },
  );
}

/** @throws GatewayError provider_missing, selection_conflict */
function byModel(
  call: PlannedCall,
  customHost: string | undefined,
  deps: PlanDeps,
  model: string | undefined,
): Selected | Promise<Selected> {
  const tenant = call.principal ?? NO_TENANT;
  const found =
    model === undefined || customHost !== undefined ? undefined : deps.selectByModel?.(tenant, model);
  if (found === undefined) throw providerMissing(call.headers, model, deps.slugsOf?.(tenant));
  return stored(call, found.slug, 'model', deps, found.model);
}

function stored(
  call: PlannedCall,
  slug: string,
  param: string,
  deps: PlanDeps,
  model: string | undefined,
): Selected | Promise<Selected> {
  const made = (found: StoredProvider | undefined): Selected => {
    if (found === undefined) throw unknownSlug(call, deps, slug, param);
    return ofStored(found, model);
  };
  const found = deps.resolveProvider(call.principal ?? NO_TENANT, slug);
  return found instanceof Promise ? found.then(made) : made(found);
}

export function ofStored({ entry, ...settings }: StoredProvider, model?: string): Selected {
  return { entry, stored: settings, customHost: undefined, model };
}

/** The refusal of a slug that names nothing: what it may have meant, or why it is not there. */
export function unknownSlug(
  { principal }: Pick<PlannedCall, 'principal'>,
  { slugsOf, unsharedAs }: Pick<PlanDeps, 'slugsOf' | 'unsharedAs'>,
  slug: string,
  param: string,
): GatewayError {
  return fail('provider_unknown', slugFault(principal ?? NO_TENANT, { slugsOf, unsharedAs }, slug), {
    param,
  });
}

/** In words. */
export function slugFault(
  tenant: TenantScope,
  { slugsOf, unsharedAs }: Pick<PlanDeps, 'slugsOf' | 'unsharedAs'>,
  slug: string,
): string {
  const why = unsharedAs?.(tenant, slug);
  if (why !== undefined) return why;
  return `there is no stored provider ${clip(slug)}${theNearest(slug, slugsOf?.(tenant) ?? [])}`;
}

/** How a model names its stored provider: `opena/gpt-4o` has a slug that is nearly one. */
function storedHint(model: string, slugs: readonly string[]): string {
  const [first] = slugs;
  if (first === undefined) return '';
  const [given = '', ...rest] = model.replace(/^@/, '').split('/');
  const meant = rest.length === 0 ? undefined : nearest(given, slugs);
  return meant === undefined
    ? `; or the model as @${first}/${clip(model)}`
    : `; did you mean the model ${meant}/${clip(rest.join('/'))}?`;
}

/** @param slugs stored providers that may be named */
export function providerMissing(
  headers: GatewayHeaders,
  model?: string,
  slugs: readonly string[] = [],
): GatewayError {
  const name = (bare: string): string => canonical(headers, bare);
  const stored = storedHint(model ?? 'MODEL', slugs);
  return fail(
    'provider_missing',
    `no provider is selected: send ${name('provider')} with a credential, ${name('config')}, or ${name('custom-host')} with ${name('provider')}${stored}${aliasHint(headers)}`,
    { param: name('provider') },
  );
}
