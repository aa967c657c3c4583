// The port: RPC, REST and pages over one listener.

import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Message } from '@bufbuild/protobuf';
import { SessionsService } from '../../gen/gateway/admin/v2/sessions_pb.ts';
import { FailedCalls } from '../access/failed-calls.ts';
import { identify } from '../access/identify.ts';
import type { Call } from '../call/call.ts';
import { consolePage } from '../edge/console-page.ts';
import { docs } from '../edge/docs.ts';
import { createEdge } from '../edge/edge.ts';
import { joinedUpgrades } from '../edge/joined-upgrades.ts';
import { createListener } from '../edge/listener.ts';
import type { McpPath } from '../edge/mcp-paths.ts';
import { PageRates } from '../edge/page-rates.ts';
import { createPlainRest } from '../edge/plain/rest.ts';
import { realtimeSockets } from '../edge/realtime-socket.ts';
import { responsesSockets } from '../edge/responses-socket.ts';
import { isTrusted } from '../lib/client-address.ts';
import type { GatewayError } from '../lib/errors.ts';
import type { HeaderNames } from '../lib/gateway-headers.ts';
import { Pace } from '../lib/incoming/pace.ts';
import { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import { readPacked } from '../lib/packed-file.ts';
import { createRouteTable } from '../rest/routes.ts';
import type { createInFlight } from '../rpc/in-flight.ts';
import type { createMetrics } from '../rpc/metrics.ts';
import { createRpc } from '../rpc/rpc.ts';
import type { contractValidator } from '../rpc/validator.ts';
import type { Base } from './base.ts';
import { listenError } from './listen-error.ts';
import type { Identity } from './open-identity.ts';
import type { Ledger } from './open-ledger.ts';
import type { Mcp } from './open-mcp.ts';
import { identifyByGrant, openOauth, visitorReader } from './open-oauth.ts';
import type { Replicas } from './open-replicas.ts';
import type { openServices } from './open-services.ts';
import { openSignIn } from './open-sign-in.ts';
import type { Readiness } from './readiness.ts';
import type { Watch } from './telemetry.ts';
import { linkToPrimary } from './workers/link.ts';

/** Next to the program in the build; in a checkout that runs its sources, that of the last build. */
const CONSOLE = new URL('../../dist/console/', import.meta.url);
const OPENAPI = new URL('../../gen/openapi.json', import.meta.url);

interface EdgeParts extends Base, ReturnType<typeof openServices> {
  readonly identity: Identity;
  readonly ledger: Ledger;
  readonly watch: Watch;
  readonly names: HeaderNames;
  readonly validator: ReturnType<typeof contractValidator>;
  readonly inFlight: ReturnType<typeof createInFlight>;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly unready: Readiness['unready'];
  /** Where people reach the gateway: asked when it listens. */
  readonly publicUrl: () => string;
  readonly mcp: Mcp;
  readonly replicas: Pick<Replicas, 'mcp'>;
}

/** Does not listen yet. */
export function openEdge(parts: EdgeParts) {
  const { settings, log, identity, ledger, watch, names, inFlight, metrics, unready } = parts;
  const { keys, tokens, sessions } = identity;
  const { bodyLimit } = settings;
  const pace = new Pace(settings.bodyStallMs);
  const budget = new ReadingBudget({ totalBytes: settings.readingBytes, keyBytes: settings.keyReadingBytes });
  // The listener dispatches to RPC and REST, and both tell it which connections have shown a valid key.
  const prove = (req: IncomingMessage): void => listener.prove(req);
  const failed = new FailedCalls({
    perSecond: settings.failedCallsPerSecond,
    addressOf: identity.addressOf,
    isSignIn: ({ method }) => method === SessionsService.method.createSession,
    onFlood: (address, count) =>
      log.warn({ address, count }, 'too many calls without a valid key: further ones are answered with 429'),
  });
  const refuse = (call: Call, req: IncomingMessage): GatewayError | undefined => {
    const error = failed.refuse(call);
    if (error !== undefined) listener.hangUp(req);
    return error;
  };
  const pageRates = new PageRates({
    perSecond: settings.connectionsPerSecond,
    addressOf: parts.scim.addressOf,
    hangUp: (req) => listener.hangUp(req),
  });
  const rpc = openRpc(parts, { pace, budget, prove, refuse });
  parts.turns.run = (call) => rpc.transport.stream(call, noMessages());
  const routes = createRouteTable(rpc.methods.services);
  watch.learn(routes);
  const link = linkToPrimary(metrics.read);
  const metricsDeps = {
    read: link?.metrics ?? (async () => [await metrics.read()]),
    token: settings.metricsToken,
    port: settings.metricsPort,
  };
  const rest = { routes, transport: rpc.transport, names, bodyLimit, pace, budget, prove, refuse };
  const asked = {
    ...rest,
    identify: (call: Call) => identify(call, { keys, tokens, sessions }),
    full: inFlight.full,
  };
  const byGrant = identifyByGrant(identity, parts.replicas);
  // A browser's session does not open the MCP gateway: its clients send a key or a token.
  const identifyAt = (call: Call, path: McpPath) => byGrant(call, path) ?? identify(call, { keys, tokens });
  const visitorOf = visitorReader(parts, names);
  parts.mcp.callsThrough(rpc.transport, routes);
  const { host, corsOrigins: origins, publicUrl } = settings;
  const dispatch = createEdge({
    rest: asked,
    mcp: {
      ...asked,
      identifyAt,
      takePage: (req) => pageRates.take(req),
      gateway: parts.mcp.gateway,
      origins: { host, origins, publicUrl },
      publicUrl,
    },
    pages: {
      unready,
      metrics: metricsDeps,
      openapi: openapiReader(),
      docs: docs(),
      console: consolePage(CONSOLE),
      exportFile: ledger.exports.file,
      oauth: openOauth(parts, identity, parts.replicas, parts.mcp.oauth, visitorOf),
      signIn: openSignIn({ ...parts, names, state: ledger.state }),
      scim: { scim: parts.scim, pace, budget, prove, full: inFlight.full },
    },
    pageRates,
    rpc: rpc.handler,
    corsOrigins: settings.corsOrigins,
    log,
  });
  const listener = createListener({
    limits: {
      total: settings.maxConnections,
      perAddress: settings.maxConnectionsPerAddress,
      perSecond: settings.connectionsPerSecond,
      isExempt: (address) => isTrusted(address, settings.trustedProxies),
    },
    tls: settings.tls,
    dispatch,
    plain: createPlainRest(asked),
    onTrouble: (error) => log.error({ err: error }, 'an answer could not be written'),
    upgrades: joinedUpgrades([responsesSockets(asked), realtimeSockets(asked)]),
  });
  return {
    rpc,
    budget,
    link,
    metricsDeps,
    async drain() {
      parts.mcp.gateway.close();
      await listener.drain(settings.drainMs);
      await parts.mcp.close();
    },
    /** @throws Error for people when the port cannot be had */
    listen: () =>
      listener
        .listen(settings.host, settings.port)
        .catch((error: unknown) => Promise.reject(listenError(error, settings))),
  };
}

type Incoming = Pick<Parameters<typeof createRpc>[0], 'pace' | 'budget' | 'prove' | 'refuse'>;

function openRpc(
  { settings, log, services, foresee, mcpServerId, identity, ledger, unready, ...parts }: EdgeParts,
  incoming: Incoming,
) {
  const { keys, tokens, sessions, directory, auditLog } = identity;
  const { books, flights } = ledger.callBooks;
  return createRpc({
    ...incoming,
    services,
    validator: parts.validator,
    keys,
    limits: { ...ledger.limits, books, flights, keys, directory, foresee, mcpServerId },
    tokens,
    sessions,
    directory,
    observer: parts.metrics,
    capacity: parts.metrics,
    inFlight: parts.inFlight,
    spans: parts.watch.spans,
    audit: auditLog.events,
    log,
    names: parts.names,
    bodyLimit: settings.bodyLimit,
    ready: async () => (await unready()) === undefined,
  });
}

/** A response within a session brings none of its own. */
async function* noMessages(): AsyncGenerator<Message> {}

/** The document, read when it is first asked for. */
function openapiReader(): () => Promise<Buffer> {
  let read: Promise<Buffer> | undefined;
  return () => {
    read ??= readPacked(fileURLToPath(OPENAPI)).catch((error: unknown) => {
      read = undefined;
      throw error;
    });
    return read;
  };
}
