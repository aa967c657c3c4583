// Who holds more than fits into one commit can still be taken out, with everything that is theirs.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createChain } from '../../src/access/audit/chain.ts';
import { apiKeys, members, users, workspaces } from '../../src/access/identity-collections.ts';
import { makeKey } from '../../src/access/keys.ts';
import { createOrganisation } from '../../src/access/new-organisation.ts';
import { openStores } from '../../src/app/stores.ts';
import { readSettings } from '../../src/settings.ts';
import { insertOperation, type WriteOperation } from '../../src/store/documents.ts';
import { send } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const KEYS = 1100;
const PLACES = 450;
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
const [goes, leaves] = [randomUUID(), randomUUID()];
let gateway: TestGateway;
let admin: string;

test.before(async () => {
  const { documents, hasher, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const facts = { chain: createChain({ documents }), hasher, now: Date.now };
  const owner = { ownerEmail: 'o@many.test', ownerFirstName: 'O', ownerLastName: 'W' };
  const made = await createOrganisation(facts, { handle: 'many', name: 'Many', ...owner });
  admin = made.adminKey;
  const { organisationId, workspaceId } = made;
  const createdAt = Date.now();
  const operations: WriteOperation[] = [goes, leaves].map((id) =>
    insertOperation(users, {
      id,
      createdAt,
      body: { email: `${id}@many.test`, firstName: '', lastName: '', role: 'member' },
    }),
  );
  const place = (userId: string, at: string) =>
    insertOperation(members, {
      id: randomUUID(),
      workspaceId: at,
      createdAt,
      body: { userId, role: 'member', email: `${userId}@many.test` },
    });
  operations.push(place(leaves, workspaceId));
  for (let i = 0; i < PLACES; i++) {
    const id = randomUUID();
    operations.push(insertOperation(workspaces, { id, slug: `w-${i}`, createdAt, body: { name: `W ${i}` } }));
    operations.push(place(goes, id));
  }
  for (const userId of [goes, leaves])
    for (let i = 0; i < KEYS; i++) {
      const scopes = ['logs.list'];
      const key = { name: 'k', kind: 'workspace-user' as const, organisationId, workspaceId, userId, scopes };
      operations.push(insertOperation(apiKeys, makeKey(hasher, key, createdAt).document));
    }
  const scope = { organisationId, workspaceId: undefined };
  while (operations.length > 0) await documents.commit(scope, operations.splice(0, 800));
  await close();
  gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir });
});

test.after.always(async () => {
  await gateway?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const ask = (verb: string, path: string) => send(gateway, verb, path, { key: admin });
const total = async (path: string) => (await ask('GET', path)).json.total;

test('a user with many keys and places is deleted with all of them', async (t) => {
  t.is(await total(`/api-keys?user_id=${goes}`), KEYS);
  const deleted = await ask('DELETE', `/admin/users/${goes}`);
  t.is(deleted.status, 200, JSON.stringify(deleted.json));
  t.is(await total(`/api-keys?user_id=${goes}`), 0);
  t.is(await total('/admin/workspaces/w-449/users'), 0);
});

test('a member with many keys is taken out with all of them', async (t) => {
  const removed = await ask('DELETE', `/admin/workspaces/default/users/${leaves}`);
  t.is(removed.status, 200, JSON.stringify(removed.json));
  t.is(await total(`/api-keys?user_id=${leaves}`), 0);
  t.is((await ask('GET', `/admin/users/${leaves}`)).status, 200);
});
