// Measures stored providers and prints a table: node test/bench/stored-providers.ts [providers, 2,000 by default].
// Each goes by an integration of its own with a sealed credential, over the embedded store.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workspaces } from '../../src/access/identity-collections.ts';
import {
  integrations,
  type ProviderBody,
  storedProviders,
} from '../../src/access/providers/provider-collections.ts';
import { ProviderReplica } from '../../src/access/providers/provider-replica.ts';
import { tagText } from '../../src/access/providers/tags.ts';
import { openStores, type Stores } from '../../src/app/stores.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import { readSettings } from '../../src/settings.ts';
import { insertOperation } from '../../src/store/documents.ts';
import { follow } from '../../src/store/follow.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const PROVIDERS = Number(process.argv[2] ?? 2000);
const ROUNDS = 25;
const LOOKUPS = 1_000_000;
const CALLS = 400;

const print = (what: string, figure: string): void => console.log(`${what.padEnd(64)} ${figure}`);
const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
const ms = (time: number): string => `${time.toFixed(2)} ms`;
const env = { GATEWAY_DATA_DIR: mkdtempSync(join(tmpdir(), 'sluice-bench-providers-')) };
const provider = await startFakeProvider();
try {
  const empty = await timed(() => startGateway(env));
  const { organisationId } = empty.value.app.tenancy;
  await empty.value.close();
  print('start of an empty gateway', ms(empty.ms));
  await withStores((stores) => fill(stores, organisationId));
  await withStores((stores) => lookups(stores, organisationId));
  const full = await timed(() => startGateway(env));
  print(`start with ${PROVIDERS} integrations and stored providers`, ms(full.ms));
  await pages(full.value);
  await calls(full.value);
  await full.value.close();
} finally {
  await provider.close();
  rmSync(env.GATEWAY_DATA_DIR, { recursive: true, force: true });
}

async function timed<T>(run: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const start = performance.now();
  return { value: await run(), ms: performance.now() - start };
}

async function withStores(use: (stores: Stores) => Promise<void>): Promise<void> {
  const stores = await openStores(readSettings(env));
  await use(stores).finally(() => stores.close());
}

async function workspaceOf({ documents }: Stores, organisationId: string): Promise<string> {
  const found = await documents.get({ organisationId, workspaceId: undefined }, workspaces, 'default');
  if (found === undefined) throw new Error('there is no default workspace');
  return found.id;
}

async function fill(stores: Stores, organisationId: string): Promise<void> {
  const workspaceId = await workspaceOf(stores, organisationId);
  const start = performance.now();
  for (let first = 0; first < PROVIDERS; first += 250) {
    const operations = Array.from({ length: Math.min(250, PROVIDERS - first) }, (_, k) => {
      const i = first + k;
      const [id, createdAt, name] = [randomUUID(), 1_700_000_000_000 + i, `Provider ${i}`];
      const tags = { team: `team-${i % 50}`, tier: i % 2 === 0 ? 'a' : 'b' };
      const tagged = { tags, tagText: tagText(tags) ?? '' };
      const about = { name, aiProviderId: 'openai', ...tagged };
      const body: ProviderBody = { ...about, integrationId: id };
      return [
        insertOperation(integrations, {
          id,
          createdAt,
          slug: `integration-${i}`,
          body: {
            ...about,
            level: 'organisation',
            ownerId: 'bench',
            allowAllModels: true,
            key: `sk-credential-of-${i}`,
            keyMask: 'sk*****',
            globalAccess: { enabled: true },
            configurations: { custom_host: `${provider.origin}/v1` },
          },
        }),
        insertOperation(storedProviders, { id: randomUUID(), workspaceId, createdAt, slug: `p-${i}`, body }),
      ];
    });
    await stores.documents.commit({ organisationId, workspaceId: undefined }, operations.flat());
  }
  print(`${PROVIDERS} integrations and stored providers written`, ms(performance.now() - start));
}

async function lookups(stores: Stores, organisationId: string): Promise<void> {
  const workspaceId = await workspaceOf(stores, organisationId);
  let trips = 0;
  const documents = {
    get: (...args: Parameters<Stores['documents']['get']>) => {
      trips++;
      return stores.documents.get(...args);
    },
    page: (...args: Parameters<Stores['documents']['page']>) => {
      trips++;
      return stores.documents.page(...args);
    },
  } as Stores['documents'];
  const replica = new ProviderReplica({ providerById, now: Date.now });
  const { ms: took, value: stop } = await timed(() =>
    follow(
      {
        feed: stores.feed,
        documents,
        organisations: () => [organisationId],
        onError: console.error,
      },
      replica.replicas,
    ),
  );
  print('reading them into memory, credentials opened', `${ms(took)}, ${trips} round trips`);
  trips = 0;
  const tenant = { organisationId, workspaceId };
  const cold = await timed(async () => {
    for (let i = 0; i < PROVIDERS; i++) if (!replica.resolve(tenant, `p-${i}`)) throw new Error('not there');
  });
  print('first look-up of each', `${((cold.ms * 1000) / PROVIDERS).toFixed(2)} us`);
  const warm = await timed(async () => {
    for (let i = 0; i < LOOKUPS; i++)
      if (replica.resolve(tenant, `p-${(i * 7919) % PROVIDERS}`)?.refused() !== undefined)
        throw new Error('refused');
  });
  print('look-up when warm', `${((warm.ms * 1000) / LOOKUPS).toFixed(3)} us, ${trips} round trips`);
  stop();
}

async function pages({ origin }: TestGateway): Promise<void> {
  const get = async (path: string): Promise<number> => {
    const { ms: took, value } = await timed(async () => {
      const answer = await fetch(`${origin}/v1${path}`, { headers: { 'x-gateway-api-key': ADMIN_KEY } });
      return { status: answer.status, text: await answer.text() };
    });
    if (value.status !== 200) throw new Error(value.text);
    return took;
  };
  const last = Math.ceil(PROVIDERS / 100) - 1;
  const team = (name: string): string => encodeURIComponent(JSON.stringify({ team: name }));
  for (const [list, also] of [
    ['/providers', 'workspace_id=default&'],
    ['/virtual-keys', ''],
    ['/integrations', ''],
    ['/integrations', 'workspace_id=default&'],
  ] as const) {
    for (const filter of ['', `tags=${team('team-7')}&`, `tags=${team('nobody')}&`]) {
      const places = filter === '' ? [0, last >> 1, last] : [0];
      for (const page of places) {
        const path = `${list}?${also}${filter}page_size=100&current_page=${page}`;
        const times: number[] = [];
        for (let round = 0; round < ROUNDS; round++) times.push(await get(path));
        print(`GET ${decodeURIComponent(path)}`.slice(0, 100), `${ms(median(times))} over HTTP`);
      }
    }
  }
}

async function calls({ origin }: TestGateway): Promise<void> {
  const chat = (i: number) =>
    fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': `@p-${i}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
    }).then(async (answer) => {
      if (answer.status !== 200) throw new Error(await answer.text());
      return answer.arrayBuffer();
    });
  for (let i = 0; i < CALLS; i++) await chat(0);
  const times = { cold: [] as number[], warm: [] as number[] };
  for (let i = 1; i <= CALLS; i++) {
    times.cold.push((await timed(() => chat(i % PROVIDERS))).ms);
    times.warm.push((await timed(() => chat(0))).ms);
  }
  print('chat call by @slug, first of each provider, over HTTP', ms(median(times.cold)));
  print('chat call by @slug, warm, over HTTP', ms(median(times.warm)));
}
