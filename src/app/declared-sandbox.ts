// The control plane's services over documents that are not stored yet: what they keep in memory is made anew for it.
import type { DescMethod } from '@bufbuild/protobuf';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { ConfigsService } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { GuardrailsService } from '../../gen/gateway/admin/v2/guardrails_pb.ts';
import { IntegrationsService } from '../../gen/gateway/admin/v2/integrations_pb.ts';
import { ModelAliasesService } from '../../gen/gateway/admin/v2/model_aliases_pb.ts';
import { ModelPricingService } from '../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { ProvidersService } from '../../gen/gateway/admin/v2/providers_pb.ts';
import { RateLimitPoliciesService } from '../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { UsageLimitPoliciesService } from '../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { accessCheck } from '../access/authorize.ts';
import { Directory } from '../access/directory.ts';
import { ProviderReplica } from '../access/providers/provider-replica.ts';
import { apiKeysService } from '../admin/api-keys/service.ts';
import { configsService } from '../admin/configs/service.ts';
import type { Sandbox } from '../admin/declared-state/sandbox.ts';
import { StagedChanges } from '../admin/declared-state/staged-changes.ts';
import { StagedDocuments } from '../admin/declared-state/staged-documents.ts';
import { guardrailsService } from '../admin/guardrails/service.ts';
import { integrationsService } from '../admin/integrations/service.ts';
import { modelAliasesService } from '../admin/model-aliases/service.ts';
import { modelPricingService } from '../admin/model-pricing/service.ts';
import { rateLimitPoliciesService } from '../admin/policies/rate-limits.ts';
import { usageLimitPoliciesService } from '../admin/policies/usage-limits.ts';
import type { PromptsDeps } from '../admin/prompts/deps.ts';
import { promptsService } from '../admin/prompts/service.ts';
import { providersService } from '../admin/providers/service.ts';
import { workspacesService } from '../admin/workspaces/service.ts';
import { Call } from '../call/call.ts';
import { ConfigCatalogue } from '../configs/config-catalogue.ts';
import { fail } from '../lib/errors.ts';
import { PromptCatalogue } from '../prompts/prompt-catalogue.ts';
import { PromptReplica } from '../prompts/prompt-replica.ts';
import { providerById } from '../providers/catalog/registry.ts';
import { codec } from '../rest/codec.ts';
import { annotationsOf } from '../rest/routes.ts';
import { implement } from '../rpc/implement.ts';
import { check } from '../rpc/interceptors/validate.ts';
import { SecretReferences } from '../secrets/references.ts';
import type { DocumentStore } from '../store/documents.ts';
import { everyDocument } from '../store/every-document.ts';
import type { Followed } from '../store/replica.ts';
import { identityDeps, type Rooms } from './control-plane-deps.ts';

/** What an organisation has, in memory, with changes that are not stored. */
export async function openSandbox(rooms: Rooms, organisationId: string): Promise<Sandbox> {
  const memory = {
    directory: new Directory(),
    configs: new ConfigCatalogue(),
    providers: new ProviderReplica({ providerById, now: Date.now, fixed: rooms.replicas.environment }),
    prompts: new PromptReplica(),
    secretReferences: new SecretReferences(),
  };
  const { directory, configs, providers, prompts, secretReferences } = memory;
  const replicas: readonly Followed[] = [
    ...directory.replicas,
    configs.replica,
    ...providers.replicas,
    ...prompts.replicas,
    secretReferences.replica,
  ];
  for (const replica of replicas) await fill(rooms.stores.documents, organisationId, replica);
  const named = new Map(replicas.map((replica) => [replica.collection.name, replica]));
  const documents = new StagedDocuments(rooms.stores.documents, organisationId, (collection, document) => {
    named.get(collection.name)?.apply(document);
  });
  const changes = new StagedChanges(documents);
  const services = servicesOver({
    ...rooms,
    stores: { ...rooms.stores, documents },
    identity: { ...rooms.identity, directory, auditLog: { ...rooms.identity.auditLog, changes } as never },
    replicas: { ...rooms.replicas, configs, providers, prompts, secretReferences },
    opened: openedOver(rooms, providers),
  });
  return {
    documents,
    changes,
    directory,
    async run(method, json, call) {
      const found = services.get(method);
      if (found === undefined) throw new Error(`${method.name} is not part of declared state`);
      if (call.principal === undefined) throw fail('unauthenticated', 'an API key is needed');
      accessCheck(annotationsOf(method).access)(call.principal);
      const message = codec.decodeRequest(method.input, json);
      check(rooms.validator, method.input, message);
      const own = new Call(method, call.source, call.id);
      own.principal = call.principal;
      return (await found(message, own)) as never;
    },
  };
}

/** Plans are checked with the stored providers that there will be. */
function openedOver({ opened }: Rooms, providers: ProviderReplica): Rooms['opened'] {
  const { pipeline, plans } = opened;
  const peekProvider: typeof plans.peekProvider = (tenant, slug) => providers.resolve(tenant, slug);
  const own = { peekProvider, resolveProvider: peekProvider };
  const planner = { ...pipeline.planner, deps: { ...pipeline.planner.deps, ...own } };
  return { ...opened, plans: { ...plans, ...own }, pipeline: { ...pipeline, planner } };
}

type Own = (request: never, call: Call) => Promise<unknown>;

function servicesOver(
  rooms: Rooms,
): ReadonlyMap<DescMethod, (request: unknown, call: Call) => Promise<unknown>> {
  const { replicas, stores, validator } = rooms;
  const messageRules: PromptsDeps['messageRules'] = (desc, message) => check(validator, desc, message);
  const book = new PromptCatalogue(replicas.prompts, stores.documents);
  const deps = { ...identityDeps(rooms), book, messageRules };
  const registered = [
    implement(WorkspacesService, workspacesService(deps)),
    implement(IntegrationsService, integrationsService(deps)),
    implement(ProvidersService, providersService(deps)),
    implement(ConfigsService, configsService(deps)),
    implement(PromptsService, promptsService(deps)),
    implement(GuardrailsService, guardrailsService(deps)),
    implement(RateLimitPoliciesService, rateLimitPoliciesService(deps)),
    implement(UsageLimitPoliciesService, usageLimitPoliciesService(deps)),
    implement(ModelPricingService, modelPricingService(deps)),
    implement(ModelAliasesService, modelAliasesService(deps)),
    implement(ApiKeysService, apiKeysService(deps)),
  ];
  return new Map(
    registered.flatMap(({ service, implementation }) =>
      service.methods.map((method): [DescMethod, (request: unknown, call: Call) => Promise<unknown>] => [
        method,
        implementation[method.localName] as unknown as Own as (
          request: unknown,
          call: Call,
        ) => Promise<unknown>,
      ]),
    ),
  );
}

async function fill(documents: DocumentStore, organisationId: string, replica: Followed): Promise<void> {
  const scope = { organisationId, workspaceId: undefined };
  for await (const document of everyDocument(documents, scope, replica.collection)) replica.apply(document);
}
