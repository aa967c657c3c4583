// What an operation makes beside the thing that it is named after stands in its entry, too.
import test from 'ava';
import { invitation, type Json, ok } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

interface Entry {
  readonly target: { readonly id: string };
  readonly changes: readonly { readonly path: string; readonly after?: unknown }[];
}

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

/** The changes of the one entry, by their paths. */
async function told(query: string): Promise<Json> {
  const { records } = await ok(gateway, 'GET', `/audit-logs?${query}`);
  const [entry, ...more] = records as Entry[];
  if (entry === undefined || more.length > 0) throw new Error(`${query}: not one entry`);
  return Object.fromEntries(entry.changes.map(({ path, after }) => [path, after]));
}

test('an acceptance tells of the user and the keys that it made, a new workspace of its members', async (t) => {
  const body = {
    email: 'told@people.test',
    role: 'member',
    workspaces: [{ id: 'default', role: 'member' }],
    workspace_api_key_details: { scopes: ['completions.write'] },
  };
  const { invite_link: link } = await ok(gateway, 'POST', '/admin/users/invites', { body });
  const { path, token } = invitation(link);
  const accepted = await ok(gateway, 'POST', `${path}/accept`, { body: { token }, key: '-' });
  const [key] = accepted.api_keys as Json[];
  t.like(await told('action=accept'), {
    user_id: accepted.user_id,
    api_key_ids: [key?.id],
    status: 'accepted',
  });
  const made = await ok(gateway, 'POST', '/admin/workspaces', {
    body: { name: 'Told', users: [accepted.user_id] },
  });
  t.deepEqual((await told(`action=create&target_id=${made.id}`)).users, [accepted.user_id]);
});
