// Entries of the request log for tests through the front door.
import { randomUUID } from 'node:crypto';
import { scopesOf } from '../../src/access/scopes.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { invitation, ok } from '../support/front-door.ts';
import type { TestGateway } from '../support/gateway.ts';

/** An entry of the gateway's first workspace, as one call that went well. */
export function bookEntry({ app }: TestGateway, more: Partial<RequestRecord> = {}): RequestRecord {
  const { organisationId, workspaceId } = app.tenancy;
  return {
    id: randomUUID(),
    traceId: randomUUID(),
    organisationId,
    workspaceId,
    apiKeyId: 'key-1',
    createdAt: Date.now(),
    operation: 'gateway.inference.v2.ChatService/CreateChatCompletion',
    protocol: 'rest',
    method: 'POST',
    path: '/chat/completions',
    provider: 'openai',
    model: 'gpt-4o',
    responseModel: 'gpt-4o',
    statusCode: 200,
    outcome: 'success',
    streamed: false,
    latencyMs: 10,
    metadata: {},
    attempts: [],
    cost: '0',
    ...more,
  };
}

/** A key of a workspace that holds all scopes of a service. */
export async function serviceKey(
  gateway: TestGateway,
  workspace = 'default',
  without: readonly string[] = [],
) {
  const scopes = scopesOf('workspace-service').filter((scope) => !without.includes(scope));
  const body = { name: 'service', workspace_id: workspace, scopes };
  const { key, id } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  return { key: String(key), id: String(id) };
}

let people = 0;

/** A new person of the organisation with a place in a workspace, and a workspace key of theirs. */
export async function personKey(
  gateway: TestGateway,
  role: string,
  scopes: readonly string[],
  workspace = 'default',
  inOrganisation = 'member',
) {
  const email = `person-${++people}-${randomUUID()}@people.test`;
  const body = { email, role: inOrganisation, workspaces: [{ id: workspace, role }] };
  const { invite_link } = await ok(gateway, 'POST', '/admin/users/invites', { body });
  const { path, token } = invitation(invite_link);
  const { user_id } = await ok(gateway, 'POST', `${path}/accept`, { body: { token }, key: '-' });
  const key = { name: 'k', workspace_id: workspace, user_id, scopes };
  const made = await ok(gateway, 'POST', '/api-keys/workspace/user', { body: key });
  return { key: String(made.key), id: String(made.id), userId: String(user_id) };
}
