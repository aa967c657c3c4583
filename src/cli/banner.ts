// What a start prints: where the gateway is, its keys while they are new, and a first call to paste.
import type { FirstKeys } from '../access/bootstrap.ts';
import { PROVIDER_VARIABLES } from '../providers/from-environment.ts';

/** What the banner is about. */
export interface BannerOptions {
  readonly url: string;
  readonly firstKeys: FirstKeys;
  /** The variables that gave a key, so that the gateway made none. */
  readonly givenBy: readonly string[];
  /** The environment's variables; only names are shown. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Slugs of the providers that those make; none where they do not count. */
  readonly providers?: readonly string[];
  /** Processes that share the port. */
  readonly processes?: number;
}

/** Lines of text, each ended. A key is the last word of its line, and the command stands at the start of its own. */
export function bannerOf(options: BannerOptions): string {
  const { url, firstKeys, variables, providers = [], processes = 1 } = options;
  const { admin, workspace } = firstKeys;
  const more = processes > 1 ? `, ${processes} processes` : '';
  const found = PROVIDER_VARIABLES.filter((name) => (variables[name] ?? '') !== '');
  return [
    `Sluice listens on ${url} (REST under /v1, gRPC and Connect${more})`,
    `Console: ${url}/console   Guides and reference: ${url}/docs`,
    ...(admin ? [`Admin API key, shown until it is used once:     ${admin.secret}`] : []),
    ...(workspace ? [`Workspace API key, shown until it is used once: ${workspace.secret}`] : []),
    'The admin key is for the control plane (providers, keys, budgets), the workspace key for model calls.',
    ...keysLine(options),
    ...(found.length > 0 ? [`Credentials of providers in the environment: ${found.join(', ')}`] : []),
    ...(providers.length > 0
      ? [`They make providers: ${providers.join(', ')}. A call's model selects one: ${providers[0]}/MODEL`]
      : []),
    'A first call:',
    workspace
      ? `curl -s ${url}/v1/models -H 'x-gateway-api-key: ${workspace.secret}'`
      : `curl -s ${url}/healthz`,
    '',
  ].join('\n');
}

/** Where the keys are that are not shown. */
function keysLine({ firstKeys: { admin, workspace }, givenBy }: BannerOptions): string[] {
  if (givenBy.length === 2) return [`The keys are those of ${givenBy.join(' and ')}.`];
  if (admin && workspace) return [];
  const given = givenBy.length === 0 ? '' : `One key is that of ${givenBy[0]}. `;
  if ((admin || workspace) && given !== '') return [given.trim()];
  return [`${given}A key that was used is not shown again: \`sluice keys recover\` makes a new one.`];
}
