// One tag per service.
import type { DescService } from '@bufbuild/protobuf';
import { commentOf } from './comments.ts';
import type { Json } from './json.ts';

/** Tags in the order of use: model calls, then what they need, then what is seen of them, then administration. */
const ORDER = [
  'Chat',
  'Messages',
  'Responses',
  'Gemini',
  'Bedrock',
  'Completions',
  'Embeddings',
  'Rerank',
  'Moderations',
  'Images',
  'Audio',
  'Files',
  'Batches',
  'Fine Tuning',
  'Assistants',
  'Models',
  'Prompt Completions',
  'Proxy',
  'Integrations',
  'Providers',
  'Virtual Keys',
  'Provider Catalogue',
  'Mcp Integrations',
  'Mcp Servers',
  'Secret References',
  'Configs',
  'Config Explanation',
  'Model Aliases',
  'Guardrails',
  'Prompts',
  'Prompt Partials',
  'Labels',
  'Collections',
  'Api Keys',
  'Rate Limit Policies',
  'Usage Limit Policies',
  'Model Pricing',
  'Logs',
  'Traces',
  'Feedback',
  'Log Exports',
  'Analytics Graphs',
  'Analytics Groups',
  'Analytics Summaries',
  'Workspaces',
  'Workspace Members',
  'Workspace Exclusions',
  'Users',
  'User Invites',
  'Organisations',
  'Jwt Settings',
  'Deployments',
  'Audit Logs',
];

/** Packages of model calls: their tags come before others that have no place in the order. */
const INFERENCE = 'gateway.inference.';

/** The service's name without "Service", its words apart. */
export function tagOf({ name }: DescService): string {
  return name.replace(/Service$/, '').replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ');
}

/** The tags of services in the order of use, described by their comments. */
export function tagsOf(services: readonly DescService[]): Json[] {
  return services
    .map((service) => ({ service, name: tagOf(service), rank: rankOf(service) }))
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
    .map(({ service, name }): Json => ({ name, description: commentOf(service) }));
}

function rankOf(service: DescService): number {
  const at = ORDER.indexOf(tagOf(service));
  if (at >= 0) return at;
  return service.typeName.startsWith(INFERENCE) ? ORDER.indexOf('Models') - 0.5 : ORDER.length;
}
