// Values of secret references for an MCP integration. They leave the gateway with every call, so that who maps one must
// decide for the organisation: the address is the caller's own.
import type { McpIntegrationBody } from '../../access/mcp/mcp-collections.ts';
import type { StoredMapping } from '../../access/providers/provider-collections.ts';
import { governs } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { isAllowedHost } from '../../secrets/references.ts';
import { checkUse } from '../secret-references/mapping-rights.ts';
import { type MappingPlace, mappingsOf } from '../secret-references/mappings.ts';
import type { McpDeps } from './deps.ts';

type SecretMappings = Parameters<typeof mappingsOf>[1];

const TARGET = /^(?:custom_headers(?:\.[!#$%&'*+\-^_`|~0-9A-Za-z]{1,128})?|client_secret)$/;
const HELP = 'must be custom_headers, custom_headers.<name> or client_secret, of configurations';

/** The place of a value, with its group before it; undefined: it is none. */
function targetOf(text: string): string | undefined {
  const bare = text.replace(/^configurations\./, '').replace(/^oauth_metadata\./, '');
  return TARGET.test(bare) ? `configurations.${bare}` : undefined;
}

/** @throws GatewayError validation_failed. */
export function readMcpMappings(
  deps: Pick<McpDeps, 'secretReferences'>,
  given: SecretMappings,
  place: Omit<MappingPlace, 'group'>,
): readonly StoredMapping[] | undefined {
  const read = mappingsOf(deps, given, place, targetOf, HELP);
  return read.length === 0 ? undefined : read;
}

/**
 * That the caller may have these values sent to this address. What did not change is nobody's to ask again.
 * @throws GatewayError forbidden; validation_failed for a reference that is bound to other hosts
 */
export function checkMcpMappings(
  { directory, secretReferences }: Pick<McpDeps, 'directory' | 'secretReferences'>,
  caller: Principal,
  before: McpIntegrationBody | undefined,
  after: McpIntegrationBody,
): void {
  const { secretMappings: mappings = [], url } = after;
  const text = (body: McpIntegrationBody | undefined): string => JSON.stringify(body?.secretMappings ?? []);
  const same = before !== undefined && text(before) === text(after);
  if (mappings.length === 0 || (same && addressesOf(before) === addressesOf(after))) return;
  checkUse(directory, caller);
  if (!governs(directory, caller))
    throw fail(
      'forbidden',
      'secret_mappings: beside an address of your own they take an owner or admin of the organisation, or its key: ' +
        'give the credential itself, or ask one of them',
      { param: 'secret_mappings' },
    );
  const urls = [url, after.oauth?.tokenEndpoint].filter((one) => one !== undefined);
  for (const [i, { secretReferenceId }] of mappings.entries()) {
    const hosts = secretReferences.find(caller.organisationId, undefined, secretReferenceId)?.body.hosts;
    const outside = hosts && urls.find((one) => !isAllowedHost(hosts, one));
    if (outside !== undefined)
      throw invalidField(
        `secret_mappings[${i}].secret_reference_id`,
        `is bound to ${hosts?.slice(0, 5).join(', ')}, and calls go to ${new URL(outside).host}: add it to the reference's allowed_hosts`,
      );
  }
}

/** Where the integration's secrets go, as one text. */
export function addressesOf({ url, oauth }: McpIntegrationBody): string {
  const origins = [url, oauth?.tokenEndpoint, oauth?.authorizationEndpoint];
  return origins.map((one) => (one === undefined ? '' : URL.parse(one)?.origin)).join(' ');
}
