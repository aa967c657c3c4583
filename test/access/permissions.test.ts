// Every method x every kind of caller, against the table in permissions.ts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, type DescMethod } from '@bufbuild/protobuf';
import test from 'ava';
import { createChain } from '../../src/access/audit/chain.ts';
import { createOrganisation } from '../../src/access/new-organisation.ts';
import { scopesOf } from '../../src/access/scopes.ts';
import { openStores } from '../../src/app/stores.ts';
import { Call } from '../../src/call/call.ts';
import { toGatewayError } from '../../src/lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';
import { annotationsOf } from '../../src/rest/routes.ts';
import { readSettings } from '../../src/settings.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { CALLERS, type Caller, PERMISSIONS } from './permissions.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
let gateway: TestGateway;
let keys: Record<Caller, string>;

test.before(async () => {
  const { documents, hasher, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const facts = { chain: createChain({ documents }), hasher, now: Date.now };
  const person = { ownerFirstName: 'O', ownerLastName: 'W' };
  const made = await createOrganisation(facts, {
    handle: 'tenant',
    name: 'Tenant',
    ownerEmail: 'owner@tenant.test',
    ...person,
  });
  await close();
  gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  keys = await keysOf(made.adminKey, made.ownerId);
});

test.after.always(async () => {
  await gateway?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function post(key: string, path: string, body: object): Promise<Record<string, string>> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

async function keysOf(admin: string, ownerId: string): Promise<Record<Caller, string>> {
  const scopes = scopesOf('workspace-user');
  const keyOf = async (userId: string): Promise<string> => {
    const body = { name: 'k', workspace_id: 'default', user_id: userId, scopes };
    return (await post(admin, '/api-keys/workspace/user', body)).key!;
  };
  const invited = async (role: string, place?: string): Promise<string> => {
    const { invite_link: link = '' } = await post(admin, '/admin/users/invites', {
      email: `${place ?? role}-${role}@tenant.test`,
      role,
      workspaces: place ? [{ id: 'default', role: place }] : [],
    });
    const given = new URLSearchParams(new URL(link).hash.slice(1));
    const path = `/admin/users/invites/${given.get('id')}/accept`;
    const { user_id: id = '' } = await post('-', path, { token: given.get('token') });
    return keyOf(id);
  };
  const service = await post(admin, '/api-keys/workspace/service', {
    name: 's',
    workspace_id: 'default',
    scopes: scopesOf('workspace-service'),
  });
  return {
    admin,
    service: service.key!,
    owner: await keyOf(ownerId),
    orgAdmin: await invited('admin'),
    wsAdmin: await invited('member', 'admin'),
    manager: await invited('member', 'manager'),
    member: await invited('member', 'member'),
  };
}

/** What became of a call with an empty message: only whether the caller was let through counts. */
async function outcome(method: DescMethod, key: string | undefined): Promise<'allowed' | '401' | '403'> {
  const headers = new GatewayHeaders(new HeaderNames(['x-gateway-']), {
    ...(key === undefined ? {} : { 'x-gateway-api-key': key }),
  });
  const call = new Call(method, {
    protocol: 'in-process',
    headers,
    httpMethod: '',
    path: '',
    remote: '127.0.0.1',
  });
  const { transport } = gateway.app.rpc;
  const empty = create(method.input);
  const clientStreams = method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
  const input = clientStreams
    ? (async function* () {
        yield empty;
      })()
    : empty;
  const streams = method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming';
  try {
    if (!streams) await transport.unary(call, input);
    else for await (const _ of await transport.stream(call, input)) break;
    return 'allowed';
  } catch (thrown) {
    const { reason, message } = toGatewayError(thrown);
    if (reason === 'internal') throw new Error(`${method.name}: ${message}`, { cause: thrown });
    if (reason === 'unauthenticated') return '401';
    return reason === 'forbidden' ? '403' : 'allowed';
  }
}

const methods = () => gateway.app.rpc.methods.services.flatMap((service) => service.methods);

const scopesText = (method: DescMethod): string => annotationsOf(method).access.scopes.join(' ');

/** The row of a method: its own, or else the one that all methods with its scopes have. */
function rowOf(method: DescMethod): string | undefined {
  const own = PERMISSIONS[method.name];
  if (own !== undefined) return own;
  const alike = methods().filter(
    (other) => PERMISSIONS[other.name] !== undefined && scopesText(other) === scopesText(method),
  );
  const rows = new Set(alike.map(({ name }) => PERMISSIONS[name]));
  return scopesText(method) === '' || rows.size !== 1 ? undefined : [...rows][0];
}

test('every method has a row, its own or that of its scopes; no row is without a method', (t) => {
  const without = methods().filter((method) => rowOf(method) === undefined);
  t.deepEqual(
    without.map(({ name }) => name),
    [],
    'needs a row in permissions.ts: no other method has its scopes, or they differ',
  );
  const served = new Set(methods().map(({ name }) => name));
  t.deepEqual(
    Object.keys(PERMISSIONS).filter((name) => !served.has(name)),
    [],
  );
});

test('every method lets through exactly the callers of its row', async (t) => {
  const table: string[] = [];
  for (const method of methods()) {
    const row = rowOf(method) ?? '';
    const allowed = row === 'open' ? CALLERS : CALLERS.filter((caller) => row.split(' ').includes(caller));
    const seen: string[] = [];
    for (const caller of CALLERS) {
      const got = await outcome(method, keys[caller]);
      if (got === 'allowed') seen.push(caller);
      else t.is(got, '403', `${method.name} as ${caller}`);
    }
    t.deepEqual(seen, [...allowed], method.name);
    table.push(`${method.name}: ${seen.join(' ')}`);
    const stranger = await outcome(method, undefined);
    t.is(stranger, row === 'open' ? 'allowed' : '401', `${method.name} without a key`);
    t.is(await outcome(method, 'slk_unknown'), row === 'open' ? 'allowed' : '401', method.name);
  }
  t.true(table.length > 40);
});
