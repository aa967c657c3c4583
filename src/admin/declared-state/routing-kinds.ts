// Configs, guardrails, prompts and model aliases in declared state.

import { isDeepStrictEqual } from 'node:util';
import { ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { GuardrailsService } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import { ModelAliasesService } from '../../../gen/gateway/admin/v2/model_aliases_pb.ts';
import { PromptsService } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import {
  type ConfigBody,
  configs,
  type GuardrailBody,
  guardrails,
  type ModelAliasBody,
  modelAliases,
} from '../../configs/config-collections.ts';
import { providerOf } from '../../prompts/prompt-catalogue.ts';
import {
  type PromptBody,
  promptCollections,
  prompts,
  promptVersions,
  versionSlug,
} from '../../prompts/prompt-collections.ts';
import type { JsonObject } from '../../store/collection.ts';
import { saying, slugOfWorkspace, textsOf, withoutSecrets } from './exported.ts';
import type { Kind } from './kind.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const configKind: Kind = {
  list: 'configs',
  collection: configs,
  create: ConfigsService.method.createConfig,
  update: ConfigsService.method.updateConfig,
  remove: ConfigsService.method.deleteConfig,
  id: 'slug',
  place: 'workspace',
  slugs: true,
  choosesSlug: true,
  absent: { is_default: 0 },
  nameOf: ({ name }) => text(name),
  storedName: (document) => (document.body as ConfigBody).name,
  prepare: ({ is_default: isDefault, ...members }) => ({
    ...members,
    ...(isDefault === undefined ? {} : { is_default: isDefault === true ? 1 : isDefault || 0 }),
  }),
  async exported(document, { directory, organisationId }) {
    const body = document.body as ConfigBody;
    return saying({
      slug: document.slug,
      name: body.name,
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
      is_default: body.isDefault ? 1 : undefined,
      config: withoutSecrets(body.config),
    });
  },
};

export const guardrailKind: Kind = {
  list: 'guardrails',
  collection: guardrails,
  create: GuardrailsService.method.createGuardrail,
  update: GuardrailsService.method.updateGuardrail,
  remove: GuardrailsService.method.deleteGuardrail,
  id: 'guardrail_id',
  place: 'either',
  slugs: true,
  choosesSlug: true,
  nameOf: ({ name }) => text(name),
  storedName: (document) => (document.body as GuardrailBody).name,
  async exported(document, { directory, organisationId }) {
    const body = document.body as GuardrailBody;
    return saying({
      slug: document.slug,
      name: body.name,
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
      checks: withoutSecrets(body.checks as never),
      actions: withoutSecrets(body.actions),
    });
  },
};

export const promptKind: Kind = {
  list: 'prompts',
  collection: prompts,
  create: PromptsService.method.createPrompt,
  update: PromptsService.method.updatePrompt,
  remove: PromptsService.method.deletePrompt,
  id: 'prompt_id',
  place: 'workspace',
  slugs: true,
  choosesSlug: true,
  nameOf: ({ name }) => text(name),
  storedName: (document) => (document.body as PromptBody).name,
  // What is sent makes a version: only what is different is.
  changed: (json, known) => ({
    ...Object.fromEntries(
      Object.entries(json).filter(
        ([name, value]) =>
          ['prompt_id', 'workspace_id'].includes(name) || !isDeepStrictEqual(value, known[name]),
      ),
    ),
    patch: true,
  }),
  async more(_record, { id, organisationId, workspaceId = '' }, before, { run, documents }) {
    if (before === undefined) return;
    const now = await documents.get({ organisationId, workspaceId }, prompts, id);
    if (now === undefined || now.body.latest === now.body.published) return;
    await run(PromptsService.method.publishPrompt, {
      prompt_id: id,
      version: now.body.latest,
      workspace_id: workspaceId,
    });
  },
  async exported(document, { directory, documents, organisationId }) {
    const body = document.body as PromptBody;
    const scope = { organisationId, workspaceId: document.workspaceId };
    const slug = versionSlug(document.id, body.published);
    const version = await documents.get(scope, promptVersions, slug);
    if (version === undefined) return undefined;
    const { content, number } = version.body;
    const collection = await documents.get(scope, promptCollections, body.collectionId);
    return saying({
      slug: document.slug,
      name: body.name,
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
      collection_id: collection === undefined || collection.body.isDefault ? undefined : collection.slug,
      string: content.string,
      model: content.model,
      parameters: content.parameters,
      virtual_key: providerOf(body, number, content.virtualKey),
      functions: content.functions as never,
      tools: content.tools as never,
      tool_choice: content.toolChoice,
      is_raw_template: content.isRawTemplate ? 1 : undefined,
      version_description: version.body.description,
      template_metadata: body.metadata,
    });
  },
};

export const aliasKind: Kind = {
  list: 'aliases',
  collection: modelAliases,
  create: ModelAliasesService.method.createModelAlias,
  update: ModelAliasesService.method.updateModelAlias,
  remove: ModelAliasesService.method.deleteModelAlias,
  id: 'alias_id',
  place: 'workspace',
  slugs: false,
  nameOf: ({ name }) => text(name),
  storedName: (document) => (document.body as ModelAliasBody).name,
  async exported(document, { directory, organisationId }): Promise<JsonObject> {
    const body = document.body as ModelAliasBody;
    return saying({
      ...textsOf(this, document),
      config: body.configSlug,
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
    });
  },
};
