// Measures pages of users, members and workspaces over the embedded store, with total and records:
// node test/bench/users.ts [users, 10,000 by default].

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { ListUsersRequestSchema, UserListSchema } from '../../gen/gateway/admin/v2/users_pb.ts';
import {
  ListWorkspaceMembersRequestSchema,
  WorkspaceMemberListSchema,
} from '../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { Directory } from '../../src/access/directory.ts';
import { accessCollections, members, users, workspaces } from '../../src/access/identity-collections.ts';
import { scopesOf } from '../../src/access/scopes.ts';
import { usersService } from '../../src/admin/users/service.ts';
import { workspaceMembersService } from '../../src/admin/workspace-members/service.ts';
import { codec } from '../../src/rest/codec.ts';
import { insertOperation } from '../../src/store/documents.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { callBy } from '../access/audit/calls.ts';
import { applyDocument } from '../support/apply-document.ts';

const USERS = Number(process.argv[2] ?? 10_000);
const PAGE = 100;
const ROUNDS = 15;
const ORGANISATION = 'org-1';
const scope = { organisationId: ORGANISATION, workspaceId: undefined };

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-users-'));
const store = await openSqliteStore({ dataDir, collections: accessCollections });
const { documents } = store;
const directory = new Directory();
try {
  await fill();
  await pages();
} finally {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function fill(): Promise<void> {
  const place = { id: 'ws-1', slug: 'one', createdAt: 1, body: { name: 'One' } };
  applyDocument(directory, workspaces.name, await documents.insert(scope, workspaces, place));
  for (let first = 0; first < USERS; first += 200) {
    const made = Array.from({ length: Math.min(200, USERS - first) }, (_, k) => {
      const i = first + k;
      const email = `person-${i}@people.test`;
      const role = i % 50 === 0 ? ('admin' as const) : ('member' as const);
      const createdAt = 1_700_000_000_000 + i;
      return [
        insertOperation(users, {
          id: `user-${i}`,
          createdAt,
          body: { email, role, firstName: 'P', lastName: String(i) },
        }),
        insertOperation(members, {
          id: `member-${i}`,
          createdAt,
          workspaceId: 'ws-1',
          body: { userId: `user-${i}`, role: 'member' as const, email },
        }),
      ];
    });
    const operations = made.flat();
    const written = await documents.commit(scope, operations);
    for (const [i, document] of written.entries())
      applyDocument(directory, operations[i]!.collection.name, document);
  }
}

async function pages(): Promise<void> {
  const call = callBy(ORGANISATION);
  call.principal = {
    organisationId: ORGANISATION,
    workspaceId: undefined,
    keyId: 'k',
    keyName: 'bench',
    kind: 'organisation-service',
    scopes: new Set(scopesOf('organisation-service')),
  };
  const facts = {
    documents,
    directory,
    now: Date.now,
    changes: { commit: async () => [] },
  };
  const people = usersService(facts);
  const places = workspaceMembersService(facts);
  const lists: Readonly<Record<string, (page: number) => Promise<unknown>>> = {
    users: async (currentPage) =>
      codec.encode(
        UserListSchema,
        await people.listUsers(create(ListUsersRequestSchema, { currentPage, pageSize: PAGE }), call),
      ),
    'users by role': async (currentPage) =>
      codec.encode(
        UserListSchema,
        await people.listUsers(
          create(ListUsersRequestSchema, { currentPage, pageSize: PAGE, role: 'member' }),
          call,
        ),
      ),
    'users by email': async () =>
      codec.encode(
        UserListSchema,
        await people.listUsers(
          create(ListUsersRequestSchema, { pageSize: PAGE, email: 'person-4321@people.test' }),
          call,
        ),
      ),
    members: async (currentPage) =>
      codec.encode(
        WorkspaceMemberListSchema,
        await places.listWorkspaceMembers(
          create(ListWorkspaceMembersRequestSchema, { workspaceId: 'one', currentPage, pageSize: PAGE }),
          call,
        ),
      ),
  };
  const last = Math.ceil(USERS / PAGE) - 1;
  console.log(`pages of ${PAGE} of ${USERS}, ms (median of ${ROUNDS}): first, middle, last`);
  for (const [name, list] of Object.entries(lists)) {
    const times: string[] = [];
    for (const page of [0, last >> 1, last]) times.push(await median(() => list(page)));
    console.log(`${name.padEnd(20)} ${times.map((time) => time.padEnd(8)).join(' ')}`);
  }
}

async function median(run: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1]!.toFixed(1);
}
