// The published npm SDK, unchanged, as a client of a gateway that accepts its header prefix.
import { Portkey } from 'portkey-ai';
import { scopesOf } from '../../../src/access/scopes.ts';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';

export type Options = ConstructorParameters<typeof Portkey>[0];

/** One answer as it came over the wire. */
export interface Exchange {
  readonly method: string;
  /** Path and query after the base. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
}

export interface Stage {
  readonly gateway: TestGateway;
  readonly provider: FakeProvider;
  /** With the organisation's key. */
  readonly admin: Portkey;
  /** With a key of the default workspace that holds every scope of its kind. */
  readonly workspace: Portkey;
  /** The default workspace's id. */
  readonly workspaceId: string;
  /** The key of `workspace`. */
  readonly workspaceKey: string;
  /** What the SDK's own transport was answered, oldest first. */
  readonly exchanges: Exchange[];
  /** A client, by default with the first workspace key, which may only call models. */
  client(options?: Options): Portkey;
  close(): Promise<void>;
}

/** A gateway, a provider, and clients made as a user makes them. */
export async function startStage(env: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const [gateway, provider] = await Promise.all([
    startGateway({
      GATEWAY_HEADER_PREFIXES: 'x-gateway-,x-portkey-',
      GATEWAY_DRAIN_SECONDS: '1',
      ...env,
    }),
    startFakeProvider(),
  ]);
  const exchanges: Exchange[] = [];
  const baseURL = `${gateway.origin}/v1`;
  const client = (options: Options = {}): Portkey => {
    const sdk = new Portkey({ apiKey: WORKSPACE_KEY, baseURL, ...options });
    // The SDK tells no status of a success: it is read where the SDK reads it.
    const recorded: typeof fetch = async (url, init) => {
      const answer = await fetch(url, init);
      exchanges.push({
        method: String(init?.method).toUpperCase(),
        path: String(url).slice(baseURL.length),
        status: answer.status,
        contentType: answer.headers.get('content-type') ?? '',
      });
      return answer;
    };
    Reflect.set(sdk, 'fetch', recorded);
    return sdk;
  };
  const admin = client({ apiKey: ADMIN_KEY });
  const workspaceId = String((await admin.admin.workspaces.list({})).data?.[0]?.id);
  const { key } = await admin.apiKeys.create({
    type: 'workspace',
    'sub-type': 'service',
    name: 'everything',
    workspace_id: workspaceId,
    scopes: [...scopesOf('workspace-service')],
  });
  const workspaceKey = String(key);
  return {
    gateway,
    provider,
    admin,
    workspaceId,
    workspaceKey,
    exchanges,
    client,
    workspace: client({ apiKey: workspaceKey }),
    async close() {
      await provider.close();
      await gateway.close();
    },
  };
}
