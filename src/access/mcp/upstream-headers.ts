// The headers that an integration adds to every request to its server, secrets in their places.
import { fail } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { headerFault } from '../providers/header-fault.ts';
import type { McpIntegrationBody, McpSecrets } from './mcp-collections.ts';

/** Whose call it is. */
interface Tenant {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
}

/** Puts the values of secret references in their places: `withSecrets` with its resolver. */
export type FillSecrets = (
  fields: JsonObject,
  mappings: NonNullable<McpIntegrationBody['secretMappings']>,
  tenant: Tenant,
) => Promise<JsonObject>;

/**
 * The integration's secrets as they are sent.
 * @throws GatewayError secret_unavailable and its like for a reference that cannot be read
 */
export async function upstreamSecrets(
  { organisationId, body }: Pick<Document<McpIntegrationBody>, 'organisationId' | 'body'>,
  workspaceId: string | undefined,
  fill: FillSecrets,
): Promise<McpSecrets> {
  const { secrets = {}, secretMappings = [] } = body;
  if (secretMappings.length === 0) return secrets;
  const { customHeaders = {}, clientSecret } = secrets;
  const given: JsonObject = clientSecret === undefined ? {} : { client_secret: clientSecret };
  const fields: JsonObject = { configurations: { custom_headers: customHeaders, ...given } };
  const whole = await fill(fields, secretMappings, { organisationId, workspaceId });
  const { custom_headers: headers = {}, client_secret: secret } = whole.configurations as JsonObject;
  const filled = Object.entries(headers as JsonObject).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (headerFault(name, text) !== undefined)
      throw fail(
        'secret_unavailable',
        `the secret for the header ${name.slice(0, 128)} cannot be sent as one`,
      );
    return [name, text];
  });
  return {
    customHeaders: Object.fromEntries(filled),
    ...(typeof secret === 'string' ? { clientSecret: secret } : {}),
  };
}
