// What is stored and needed by calls, in memory: read once, then following its changes.

import { McpReplica } from '../access/mcp/mcp-replica.ts';
import { organisationIds } from '../access/organisation-ids.ts';
import { environmentDocuments, sourceOf } from '../access/providers/environment-documents.ts';
import { ProviderReplica } from '../access/providers/provider-replica.ts';
import { AliasCatalogue } from '../configs/alias-catalogue.ts';
import { ConfigCatalogue } from '../configs/config-catalogue.ts';
import { GuardrailCatalogue } from '../configs/guardrail-catalogue.ts';
import { OwnPrices } from '../ledger/prices/own-prices.ts';
import { PromptReplica } from '../prompts/prompt-replica.ts';
import { providerById } from '../providers/catalog/registry.ts';
import { SecretReferences } from '../secrets/references.ts';
import { follow, type ReplicaSource } from '../store/follow.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';

export type Replicas = Awaited<ReturnType<typeof openReplicas>>;

/** Resolves when all of it was read. @throws GatewayError store_unavailable */
export async function openReplicas(
  { settings, log, stores: { store, feed, documents }, onTrouble }: Base,
  { keys, sessions, grants, identityProviders, directory, scimGroups, managed, tokens, tenancy }: Identity,
) {
  const { providers: given, faults } = settings.environmentProviders;
  for (const fault of faults) log.warn({ fault }, 'a variable of the environment makes no provider');
  const environment = environmentDocuments(given, tenancy, Date.now());
  for (const [i, { id }] of environment.entries()) managed.fix(id, sourceOf(given[i]!.variable));
  const configs = new ConfigCatalogue();
  const guardrails = new GuardrailCatalogue();
  const aliases = new AliasCatalogue();
  const providers = new ProviderReplica({ providerById, now: Date.now, fixed: environment });
  const mcp = new McpReplica();
  const prompts = new PromptReplica();
  const secretReferences = new SecretReferences();
  const ownPrices = new OwnPrices();
  const source: ReplicaSource = {
    feed,
    documents,
    organisations: () => organisationIds(store.maintenance),
    onError: (error) => onTrouble(error, 'a change could not be read yet'),
  };
  const stops = await Promise.all([
    follow(source, [...directory.replicas, tokens.replica, keys.replica, sessions.replica, managed.replica]),
    follow(source, [scimGroups.replica, grants.replica, identityProviders.replica]),
    follow(source, [guardrails.replica, configs.replica, aliases.replica]),
    follow(source, providers.replicas),
    follow(source, mcp.replicas),
    follow(source, prompts.replicas),
    follow(source, [secretReferences.replica]),
    follow(source, [ownPrices.replica]),
  ]);
  return {
    source,
    environment,
    configs,
    guardrails,
    aliases,
    providers,
    mcp,
    prompts,
    secretReferences,
    ownPrices,
    stop() {
      for (const stop of stops) stop();
    },
  };
}
