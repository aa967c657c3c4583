// An MCP integration's body, made of what callers ask for.
import type {
  CreateMcpIntegrationRequest,
  UpdateMcpIntegrationRequest,
} from '../../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import type { McpAuthType, McpIntegrationBody, McpTransport } from '../../access/mcp/mcp-collections.ts';
import type { TenantScope } from '../../call/scope.ts';
import { invalidField } from '../../lib/errors.ts';
import { commandNameOf } from '../../lib/stdio-commands.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { defined, patch } from '../kit/patch.ts';
import type { McpLevel } from './access.ts';
import { type Configured, checkAddress, configurationMembers, configured } from './configurations.ts';
import type { McpDeps } from './deps.ts';
import { addressesOf, readMcpMappings } from './mappings.ts';
import { readRules } from './rules.ts';

/** The body of an integration to be. @throws GatewayError validation_failed, host_refused. */
export async function newMcpBody(
  deps: McpDeps,
  level: McpLevel,
  scope: TenantScope,
  ownerId: string,
  slug: string,
  request: CreateMcpIntegrationRequest,
): Promise<McpIntegrationBody> {
  const checkHost = deps.dialer.check.bind(deps.dialer);
  const members = configurationMembers((request.configurations ?? {}) as JsonObject);
  const body = defined<McpIntegrationBody>({
    name: request.name,
    searchText: searchTextOf(request.name, slug),
    description: request.description,
    level,
    ownerId,
    url: request.url,
    transport: request.transport as McpTransport,
    authType: request.authType as McpAuthType,
    ...configured({ checkHost }, {}, members),
    secretMappings: readMcpMappings(deps, request.secretMappings, scope),
    rules: await readRules(deps.documents, scope, members),
  });
  checkWhole(deps, body);
  return body;
}

/** What lists search: at most what an index holds. */
export function searchTextOf(name: string, slug: string): string {
  return `${name} ${slug}`.toLowerCase();
}

const CLEARABLE = ['description', 'configurations', 'secret_mappings'];

/** The body after an update. @throws GatewayError validation_failed, host_refused. */
export async function changedMcpBody(
  deps: McpDeps,
  { organisationId, workspaceId, slug = '', body }: Document<McpIntegrationBody>,
  request: UpdateMcpIntegrationRequest,
): Promise<McpIntegrationBody> {
  const { name, description, configurations, url, authType, transport, secretMappings, clear } = request;
  const given = [name, description, configurations, url, authType, transport];
  if (given.every((one) => one === undefined) && secretMappings.length === 0 && clear.length === 0)
    throw invalidField('name', 'or another member is needed: there is nothing to change', 'required');
  const fields = patch(clear, CLEARABLE);
  const scope = { organisationId, workspaceId };
  const checkHost = deps.dialer.check.bind(deps.dialer);
  const members = configurations && configurationMembers(configurations as JsonObject);
  const own = await configuredAfter(members);
  const after = defined<McpIntegrationBody>({
    ...body,
    name: fields.always('name', name, body.name),
    searchText: searchTextOf(name ?? body.name, slug),
    description: fields.optional('description', description, body.description),
    url: url ?? body.url,
    transport: (transport as McpTransport | undefined) ?? body.transport,
    authType: (authType as McpAuthType | undefined) ?? body.authType,
    ...own,
    secretMappings: fields.list(
      'secret_mappings',
      readMcpMappings(deps, secretMappings, scope) ?? [],
      body.secretMappings,
    ),
  });
  checkWhole(deps, after);
  if (addressesOf(body) !== addressesOf(after)) checkGivenAgain(after, request, members ?? {});
  return after;

  async function configuredAfter(all: JsonObject | undefined) {
    if (all === undefined && !fields.cleared('configurations')) return {};
    const before: Configured = fields.cleared('configurations') ? {} : body;
    const rules = await readRules(deps.documents, scope, all ?? {});
    return { ...NOTHING, ...configured({ checkHost }, before, all ?? {}), rules };
  }
}

/** Members that a change of `configurations` replaces as a whole. */
const NOTHING = {
  passthroughHeaders: undefined,
  oauth: undefined,
  secrets: undefined,
  headerMasks: undefined,
  clientSecretMask: undefined,
  holdChangedTools: undefined,
};

/** That the members fit together, and that the address may be called. */
function checkWhole({ dialer, programs }: McpDeps, body: McpIntegrationBody): void {
  if (body.transport === 'stdio') {
    checkProgram(programs.names, body);
    return;
  }
  const { url, transport, authType, headerMasks, secretMappings = [], clientSecretMask, oauth } = body;
  checkAddress((text, field) => dialer.check(text, field), url, 'url');
  if (transport === 'openapi' && url.includes('?'))
    throw invalidField('url', 'must have no query: paths of the document follow it');
  const mapped = (target: string): boolean =>
    secretMappings.some(({ targetField }) => targetField.startsWith(`configurations.${target}`));
  if (authType === 'headers' && headerMasks === undefined && !mapped('custom_headers'))
    throw invalidField('configurations.custom_headers', 'is required for auth_type headers', 'required');
  if (oauth?.authMethod !== undefined && authType !== 'oauth_client_credentials')
    throw invalidField(
      'configurations.oauth_metadata.token_endpoint_auth_method',
      'is for auth_type oauth_client_credentials',
    );
  if (authType === 'oauth_client_credentials') {
    if (oauth?.clientId === undefined)
      throw invalidField(
        'configurations.oauth_metadata.client_id',
        `is required for ${authType}`,
        'required',
      );
    if (clientSecretMask === undefined && !mapped('client_secret'))
      throw invalidField(
        'configurations.oauth_metadata.client_secret',
        `is required for ${authType}`,
        'required',
      );
  }
}

/** Only what the operator's settings name is ever started: a body says nothing but its name. */
function checkProgram(names: readonly string[], body: McpIntegrationBody): void {
  const { url, authType, headerMasks, secretMappings, passthroughHeaders } = body;
  const name = commandNameOf(url);
  if (name === undefined || !names.includes(name))
    throw invalidField('url', 'must be stdio: and the name of a program of the setting GATEWAY_MCP_STDIO');
  if (authType !== 'none')
    throw invalidField('auth_type', 'must be none: a program gets its variables from the settings');
  if (headerMasks !== undefined || passthroughHeaders !== undefined)
    throw invalidField('configurations', 'must have no headers: a program takes none');
  if (secretMappings !== undefined) throw invalidField('secret_mappings', 'must be empty for a program');
}

/** A secret was given for an address. Who may change the address and never saw the secret must not get it sent there. */
function checkGivenAgain(
  { headerMasks, clientSecretMask, secretMappings }: McpIntegrationBody,
  request: UpdateMcpIntegrationRequest,
  members: JsonObject,
): void {
  const oauth = (members.oauth_metadata ?? {}) as JsonObject;
  const missing = [
    headerMasks !== undefined && members.custom_headers === undefined
      ? 'configurations.custom_headers'
      : undefined,
    clientSecretMask !== undefined && oauth.client_secret === undefined
      ? 'configurations.oauth_metadata.client_secret'
      : undefined,
    secretMappings !== undefined && request.secretMappings.length === 0 ? 'secret_mappings' : undefined,
  ].find((field) => field !== undefined);
  if (missing !== undefined)
    throw invalidField(missing, 'must be given again: the address that it is sent to is another', 'required');
}
