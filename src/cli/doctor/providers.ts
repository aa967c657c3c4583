// Providers: the hosts of stored ones and of the environment's may be called, and take connections.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Credentials,
  PROVIDER_COLLECTIONS,
  storedProviders,
} from '../../access/providers/provider-collections.ts';
import { readAllowList } from '../../app/addresses.ts';
import { isLocalServer } from '../../lib/egress/local-servers.ts';
import { judgeUrl } from '../../lib/egress/url-rules.ts';
import { providerById } from '../../providers/catalog/registry.ts';
import { originOf } from '../../providers/locate.ts';
import { isEmbeddedOnLoopback, type Settings } from '../../settings.ts';
import { readBodies } from '../../store/sqlite/read-bodies.ts';
import type { Check, Finding } from './check.ts';
import { reachable } from './reachable.ts';

/** Where a provider is called. */
interface Called {
  readonly slug: string;
  readonly origin: string;
  readonly localPort: number | undefined;
}

/** Hosts that are asked. */
const MOST = 50;

export const providers: Check = {
  name: 'providers',
  run: async ({ settings }) => {
    const all = [...ofEnvironment(settings), ...ofFolder(settings)];
    const byOrigin = new Map(all.map((one) => [one.origin, one]));
    if (byOrigin.size === 0) return undefined;
    const asked = [...byOrigin.values()].slice(0, MOST);
    const found = await Promise.all(asked.map((one) => findingOf(settings, one)));
    return {
      looked: `${asked.length} of ${byOrigin.size} hosts of ${all.length} providers`,
      findings: found.filter((one) => one !== undefined),
    };
  },
};

async function findingOf(
  settings: Settings,
  { slug, origin, localPort }: Called,
): Promise<Finding | undefined> {
  const why = (text: string): string => `${slug}: ${origin}: ${text}`;
  const isOwn =
    localPort !== undefined && isEmbeddedOnLoopback(settings) && isLocalServer(`${origin}/`, localPort);
  try {
    if (!isOwn) judgeUrl(origin, slug, readAllowList(settings.egressAllow), false);
  } catch (error) {
    return {
      why: error instanceof Error ? error.message : why('may not be called'),
      todo: 'Set GATEWAY_EGRESS_ALLOW.',
    };
  }
  // A proxy resolves the names.
  if (settings.httpsProxy !== undefined) return undefined;
  const { hostname, port, protocol } = new URL(origin);
  const fault = await reachable(hostname, Number(port) || (protocol === 'https:' ? 443 : 80));
  if (fault === undefined) return undefined;
  return { why: why(fault), todo: 'Look at the way to it, or correct the provider’s address.' };
}

function ofEnvironment({ environmentProviders }: Settings): Called[] {
  return environmentProviders.providers.flatMap(({ slug, providerId, options }) =>
    calledAt(slug, providerId, options),
  );
}

/** Those that are stored in the folder, read beside a running gateway. No secret is opened. */
function ofFolder({ mongodbUri, dataDir }: Settings): Called[] {
  const path = join(dataDir, 'sluice.db');
  if (mongodbUri !== undefined || !existsSync(path)) return [];
  return readBodies(path, PROVIDER_COLLECTIONS).flatMap(({ collection, slug, body }) => {
    const { aiProviderId, configurations, integrationId } = body as Credentials & {
      readonly aiProviderId: string;
      readonly integrationId?: string;
    };
    // One of an integration is called at its integration's address.
    if (collection === storedProviders && integrationId !== undefined) return [];
    return calledAt(slug, aiProviderId, (configurations ?? {}) as Readonly<Record<string, unknown>>);
  });
}

function calledAt(slug: string, providerId: string, options: Readonly<Record<string, unknown>>): Called[] {
  const entry = providerById(providerId);
  if (entry === undefined) return [];
  const { custom_host: host } = options;
  const texts = Object.entries(options).filter((one): one is [string, string] => typeof one[1] === 'string');
  let origin: string | undefined;
  try {
    origin = typeof host === 'string' ? new URL(host).origin : originOf(entry, Object.fromEntries(texts));
  } catch {
    // What is missing of its address is told where it is called.
  }
  return origin === undefined ? [] : [{ slug, origin, localPort: entry.localPort }];
}
