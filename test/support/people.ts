// An organisation with people in it: workspaces, persons who came by an invitation, and keys of each kind.
import { scopesOf } from '../../src/access/scopes.ts';
import { type Answer, ok as call, invitation, type Json, send as sendTo } from './front-door.ts';
import type { TestGateway } from './gateway.ts';

export type Role = 'admin' | 'manager' | 'member';

export interface Person {
  readonly id: string;
  /** A key of theirs with every scope that people's keys may hold. */
  readonly key: string;
}

export interface People {
  /** By the organisation's key when `key` is absent; '-' sends none. */
  send(verb: string, path: string, body?: Json, key?: string): Promise<Answer>;
  /** The answer's body. @throws for every status but 200 */
  ok(verb: string, path: string, body?: Json, key?: string): Promise<Json>;
  /** Makes a workspace; resolves with its id. */
  workspace(): Promise<string>;
  /** A member of the organisation with a place in a workspace. */
  person(place: string, role: Role): Promise<Person>;
  /** An admin of the organisation, with a key in a workspace. */
  admin(place: string): Promise<Person>;
  /** A key of a workspace itself. */
  service(place: string, scopes?: readonly string[]): Promise<string>;
}

let count = 0;

export function peopleOf(gateway: TestGateway): People {
  const given = (body?: Json, key?: string) => ({
    ...(body && { body }),
    ...(key === undefined ? {} : { key }),
  });
  const send = (verb: string, path: string, body?: Json, key?: string) =>
    sendTo(gateway, verb, path, given(body, key));
  const ok = (verb: string, path: string, body?: Json, key?: string) =>
    call(gateway, verb, path, given(body, key));

  async function invited(body: Json, place: string): Promise<Person> {
    const email = `person${++count}@people.test`;
    const { invite_link: link } = await ok('POST', '/admin/users/invites', { ...body, email });
    const { path, token } = invitation(link);
    const { user_id: id } = await ok('POST', `${path}/accept`, { token }, '-');
    const key = { name: 'k', user_id: id, workspace_id: place, scopes: scopesOf('workspace-user') };
    return { id: String(id), key: String((await ok('POST', '/api-keys/workspace/user', key)).key) };
  }

  return {
    send,
    ok,
    workspace: async () => String((await ok('POST', '/admin/workspaces', { name: `Room ${++count}` })).id),
    person: (place, role) => invited({ role: 'member', workspaces: [{ id: place, role }] }, place),
    admin: (place) => invited({ role: 'admin', workspaces: [] }, place),
    async service(place, scopes = scopesOf('workspace-service')) {
      const body = { name: 's', workspace_id: place, scopes };
      return String((await ok('POST', '/api-keys/workspace/service', body)).key);
    },
  };
}
