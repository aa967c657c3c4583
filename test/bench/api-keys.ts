// Measures API keys and prints a table: node test/bench/api-keys.ts [keys, 100,000 by default].
// Pages are those of the service over the embedded store, with total and records; checks are the ring's.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { ApiKeyListSchema, ListApiKeysRequestSchema } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { createAuditLog } from '../../src/access/audit/audit-log.ts';
import { authenticate } from '../../src/access/authenticate.ts';
import { Directory } from '../../src/access/directory.ts';
import {
  type ApiKeyBody,
  accessCollections,
  apiKeys,
  workspaces,
} from '../../src/access/identity-collections.ts';
import { createKeyHasher } from '../../src/access/key-hash.ts';
import { KeyRing } from '../../src/access/key-ring.ts';
import { makeKey } from '../../src/access/keys.ts';
import { scopesOf } from '../../src/access/scopes.ts';
import { apiKeysService } from '../../src/admin/api-keys/service.ts';
import type { KeyKind, Principal } from '../../src/call/principal.ts';
import { UsageReader } from '../../src/ledger/limits/usage.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';
import { codec } from '../../src/rest/codec.ts';
import { type Document, insertOperation, type NewDocument } from '../../src/store/documents.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { callBy } from '../access/audit/calls.ts';
import { applyDocument } from '../support/apply-document.ts';

const KEYS = Number(process.argv[2] ?? 100_000);
const PAGE = 100;
const USERS = 10_000;
const WORKSPACES = 20;
const ORGANISATION = 'org-1';
const ROUNDS = 15;

const print = (what: string, figure: string): void => console.log(`${what.padEnd(60)} ${figure}`);
const userName = (i: number): string => `user-${i % USERS}`;
const workspaceName = (i: number): string => `workspace-${i % WORKSPACES}`;
const TWO_KINDS = new Set(['workspace_service_api_keys.list', 'workspace_user_api_keys.list']);
const hasher = createKeyHasher(new Uint8Array(32).fill(7));

/** One in a hundred is the organisation's, the others are half services', half people's. */
function kindOf(i: number): KeyKind {
  if (i % 100 === 0) return 'organisation-service';
  return i % 2 === 0 ? 'workspace-service' : 'workspace-user';
}

function keyOf(i: number): { secret: string; document: NewDocument<ApiKeyBody> } {
  const kind = kindOf(i);
  const workspaceId = kind === 'organisation-service' ? undefined : workspaceName(i);
  const user = kind === 'workspace-user' ? { userId: userName(i) } : {};
  const key = { name: `Key ${i} of many`, kind, scopes: scopesOf(kind).slice(0, 10 + (i % 20)), ...user };
  return makeKey(hasher, { ...key, organisationId: ORGANISATION, workspaceId }, 1_700_000_000_000 + i);
}

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-keys-'));
const store = await openSqliteStore({ dataDir, collections: accessCollections });
const { documents } = store;
const scope = { organisationId: ORGANISATION, workspaceId: undefined };
const directory = new Directory();
try {
  await fill();
  await pages();
  await checks();
} finally {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function fill(): Promise<void> {
  const start = performance.now();
  for (let i = 0; i < WORKSPACES; i++) {
    const document = { id: workspaceName(i), createdAt: 1, body: { name: workspaceName(i) } };
    applyDocument(directory, workspaces.name, await documents.insert(scope, workspaces, document));
  }
  for (let first = 0; first < KEYS; first += 500) {
    const count = Math.min(500, KEYS - first);
    const operations = Array.from({ length: count }, (_, i) =>
      insertOperation(apiKeys, keyOf(first + i).document),
    );
    await documents.commit(scope, operations);
  }
  print(`${KEYS} keys stored`, `${((performance.now() - start) / 1000).toFixed(1)} s`);
}

async function pages(): Promise<void> {
  const call = callBy(ORGANISATION);
  const admin: Principal = {
    organisationId: ORGANISATION,
    workspaceId: undefined,
    keyId: randomUUID(),
    keyName: 'bench',
    kind: 'organisation-service',
    scopes: new Set(scopesOf('organisation-service')),
  };
  const { changes } = createAuditLog({
    documents,
    now: Date.now,
    addressOf: () => '',
    homeOrganisationId: ORGANISATION,
    ownerOf: () => undefined,
    onLost: () => {},
  });
  const state = await openMemoryState({ dataDir: join(dataDir, 'state') });
  const usage = new UsageReader({ state, now: Date.now, onTrouble: () => {} });
  const service = apiKeysService({ documents, changes, directory, hasher, usage, now: Date.now });
  const some = (await documents.page(scope, apiKeys, { pageSize: 100, page: 3 })).documents.map(
    ({ id }) => id,
  );
  const filters: Readonly<Record<string, object>> = {
    none: {},
    workspace_id: { workspaceId: workspaceName(7) },
    'type: workspace-user': { type: 'workspace-user' },
    'type: organisation-service': { type: 'organisation-service' },
    'workspace_id and type': { workspaceId: workspaceName(7), type: 'workspace-user' },
    user_id: { userId: userName(4321) },
    'name, found 11 times': { name: 'Key 4321' },
    'name, found always': { name: 'of many' },
    'name, found never': { name: 'nothing like it' },
    'workspace_id and name': { workspaceId: workspaceName(7), name: 'of many' },
    exact_name: { exactName: 'Key 4321 of many' },
    ids: { ids: some.join(',') },
    'two of the kinds': {},
  };
  console.log(
    `\n${`pages of ${PAGE}, ms (best / median of ${ROUNDS})`.padEnd(40)} total    first          middle         last`,
  );
  for (const [name, filter] of Object.entries(filters)) {
    const list = async (currentPage: number) => {
      call.principal = { ...admin, scopes: name === 'two of the kinds' ? TWO_KINDS : admin.scopes };
      const request = create(ListApiKeysRequestSchema, { ...filter, currentPage, pageSize: PAGE });
      const answer = await service.listApiKeys(request, call);
      codec.encode(ApiKeyListSchema, answer);
      return answer;
    };
    const matching = await countOf(list);
    const last = Math.max(0, Math.ceil(matching / PAGE) - 1);
    const times: string[] = [];
    for (const page of [0, Math.floor(last / 2), last]) times.push(await timed(() => list(page)));
    console.log(
      `${name.padEnd(40)} ${String(matching).padEnd(8)} ${times.map((time) => time.padEnd(14)).join(' ')}`,
    );
  }
}

/** How many match, beyond where totals stop. */
async function countOf(
  list: (page: number) => Promise<{ total: bigint; totalCapped: boolean; data: object[] }>,
) {
  const { total, totalCapped } = await list(0);
  if (!totalCapped) return Number(total);
  let [low, high] = [Number(total) / PAGE, KEYS / PAGE];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await list(middle)).data.length === PAGE) low = middle + 1;
    else high = middle;
  }
  return low * PAGE;
}

async function timed(run: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return `${times[0]!.toFixed(1)} / ${times[ROUNDS >> 1]!.toFixed(1)}`;
}

async function checks(): Promise<void> {
  console.log('');
  const before = process.memoryUsage().heapUsed;
  const ring = new KeyRing(hasher);
  const secrets: string[] = [];
  const start = performance.now();
  for (let i = 0; i < KEYS; i++) {
    const { secret, document } = keyOf(i);
    if (i % 97 === 0) secrets.push(secret);
    const stored = {
      ...document,
      organisationId: ORGANISATION,
      version: 1,
      status: 'active',
      updatedAt: 0,
      schemaVersion: 1,
    };
    ring.replica.apply(JSON.parse(JSON.stringify(stored)) as Document<ApiKeyBody>);
  }
  print(`${KEYS} keys made and put into the ring`, `${((performance.now() - start) / 1000).toFixed(1)} s`);
  globalThis.gc?.();
  print(
    'heap of the ring (exact with --expose-gc)',
    `${((process.memoryUsage().heapUsed - before) / 1e6).toFixed(0)} MB`,
  );
  const names = new HeaderNames(['x-gateway-']);
  const requests = secrets.map(
    (key) =>
      new GatewayHeaders(names, { 'x-gateway-api-key': key, authorization: 'Bearer sk-of-a-provider' }),
  );
  const each = (check: (i: number) => unknown): number => {
    const count = 300_000;
    for (let i = 0; i < count; i++) check(i);
    const from = performance.now();
    for (let i = 0; i < count; i++) check(i);
    return ((performance.now() - from) * 1000) / count;
  };
  const connection = {};
  print(
    'a key check, another key every time',
    `${each((i) => ring.find(secrets[i % secrets.length]!)).toFixed(2)} us`,
  );
  print(
    'a key check, the same key on a connection',
    `${each(() => ring.find(secrets[0]!, connection)).toFixed(2)} us`,
  );
  print(
    'a whole authentication, another key every time',
    `${each((i) => authenticate(requests[i % requests.length]!, { keys: ring }, 0)).toFixed(2)} us`,
  );
  print(
    'a text that is no key of ours',
    `${each(() => ring.find('sk-of-a-provider-0123456789')).toFixed(2)} us`,
  );
}
