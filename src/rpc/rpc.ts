// All of rpc, put together: the methods with their interceptors, the in-process
// transport, and the handler for gRPC, gRPC-Web and Connect.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { type ConnectRouter, createConnectRouter, createContextValues } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { AuditEvents } from '../access/audit/events.ts';
import type { Directory } from '../access/directory.ts';
import { identify } from '../access/identify.ts';
import type { Tokens } from '../access/jwt/tokens.ts';
import type { KeyRing } from '../access/key-ring.ts';
import type { SessionRing } from '../access/sessions/session-ring.ts';
import type { Call } from '../call/call.ts';
import type { GatewayError } from '../lib/errors.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import type { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import { timeOrderedId } from '../lib/time-ordered-id.ts';
import { validTraceId } from '../lib/trace-context.ts';
import { isControl } from '../rest/body-limit.ts';
import type { CallSpans } from '../telemetry/call-spans.ts';
import { callLog } from './call-log.ts';
import { fastCompressions } from './compression.ts';
import { gateOf, type Peer, peer, registerMethods } from './connect-routes.ts';
import { HEALTH_NAMES, registerHealth } from './health.ts';
import type { InFlight } from './in-flight.ts';
import { createInProcess, type InProcess } from './in-process.ts';
import { accessInterceptor } from './interceptors/access.ts';
import { auditInterceptor } from './interceptors/audit.ts';
import { authInterceptor } from './interceptors/auth.ts';
import { type CallCapacity, capacityInterceptor } from './interceptors/capacity.ts';
import { deadlineInterceptor } from './interceptors/deadline.ts';
import { detachedInterceptor } from './interceptors/detached.ts';
import { errorsInterceptor } from './interceptors/errors.ts';
import { inFlightInterceptor } from './interceptors/in-flight.ts';
import { type LimitsDeps, limitsInterceptor } from './interceptors/limits.ts';
import { type CallObserver, logEntryInterceptor } from './interceptors/log-entry.ts';
import { traceInterceptor } from './interceptors/trace.ts';
import { validateInterceptor } from './interceptors/validate.ts';
import { workspaceInterceptor } from './interceptors/workspace.ts';
import { lazyHandlers, type ServiceGroup } from './lazy-handlers.ts';
import { Methods, type Registration } from './methods.ts';
import { nodeHandler } from './node-handler.ts';
import { REFLECTION_NAMES, registerReflection } from './reflection.ts';
import { toConnectError } from './status.ts';
import { contractValidator, type LazyValidator } from './validator.ts';

export interface RpcDeps {
  readonly services: readonly Registration[];
  readonly keys: KeyRing;
  readonly tokens?: Tokens;
  readonly sessions?: SessionRing;
  readonly directory: Directory;
  /** Undefined: nothing is limited. */
  readonly limits?: LimitsDeps | undefined;
  readonly capacity: CallCapacity;
  readonly observer: CallObserver;
  /** Undefined: calls in flight are not bounded. */
  readonly inFlight?: InFlight | undefined;
  /** Undefined when telemetry is off. */
  readonly spans?: CallSpans | undefined;
  readonly audit: AuditEvents;
  readonly log: Logger;
  readonly names: HeaderNames;
  /** Of the contract's messages; one is made when absent. */
  readonly validator?: LazyValidator;
  /** Bounds of bodies that are being read. */
  readonly pace: Pace;
  readonly budget: ReadingBudget;
  /** Told of requests with a valid key. */
  readonly prove?: (req: IncomingMessage) => void;
  /** Told of calls without a valid key. @returns why one is refused at once */
  readonly refuse?: (call: Call, req: IncomingMessage) => GatewayError | undefined;
  /** Longest message, in bytes. */
  readonly bodyLimit: number;
  /** Whether calls are taken; answers within a bound. */
  readonly ready: () => Promise<boolean>;
}

export interface Rpc {
  readonly methods: Methods;
  readonly transport: InProcess;
  readonly handler: (req: IncomingMessage, res: ServerResponse) => void;
}

export function createRpc(deps: RpcDeps): Rpc {
  const { validator = contractValidator() } = deps;
  const methods = new Methods(deps.services, [
    detachedInterceptor(),
    errorsInterceptor(deps.log),
    capacityInterceptor(deps.capacity),
    logEntryInterceptor(deps.observer, deps.spans, callLog(deps.log)),
    traceInterceptor(deps.spans),
    deadlineInterceptor(),
    auditInterceptor(deps.audit),
    authInterceptor(deps),
    accessInterceptor(deps.directory),
    ...(deps.inFlight === undefined ? [] : [inFlightInterceptor(deps.inFlight)]),
    validateInterceptor(validator),
    workspaceInterceptor(deps.directory),
    ...(deps.limits === undefined ? [] : [limitsInterceptor(deps.limits)]),
  ]);
  const names = new Set(methods.services.map((service) => service.typeName));
  const identified = (call: Call) => identify(call, deps);
  const open = () =>
    createConnectRouter({
      readMaxBytes: deps.bodyLimit,
      acceptCompression: fastCompressions,
      requestGate: gateOf(methods, deps.names, identified),
    });
  const groups: ServiceGroup[] = [
    ...methods.services.map((service) => ({
      names: [service.typeName],
      register: (router: ConnectRouter) => registerMethods(router, service, methods, deps.names),
    })),
    { names: HEALTH_NAMES, register: (router) => registerHealth(router, names, deps.ready) },
    { names: REFLECTION_NAMES, register: (router) => registerReflection(router, methods.services) },
  ];
  const { pace, budget } = deps;
  const handler = nodeHandler(lazyHandlers(groups, open), deps.bodyLimit, (req, res, method) => {
    const plane = isControl(method) ? Plane.CONTROL : Plane.DATA;
    const known: Peer = {
      ...peerOf(deps.names, req, res),
      prove: () => deps.prove?.(req),
      refuse: (call) => deps.refuse?.(call, req),
    };
    return {
      pace,
      // An unauthenticated client must not pause in the middle of a stream.
      known: () => known.call?.identity !== undefined,
      reading: () => budget.open(known.call?.identity?.principal.keyId),
      toError: (error) => toConnectError(error, plane, known.requestId, []),
      values: createContextValues().set(peer, known),
      onLong: (message) => {
        known.isLong = true;
        known.message = message;
      },
      longAnswer: () => known.answer,
      onTrouble: (error) => deps.log.error({ err: error }, 'an answer could not be written'),
    };
  });
  return {
    methods,
    transport: createInProcess(methods),
    handler,
  };
}

/** What never becomes a call (an unknown method, bytes that are no message) answers with ids too. */
function peerOf(names: HeaderNames, req: IncomingMessage, res: ServerResponse): Peer {
  const headers = new GatewayHeaders(names, req.headers);
  const known: Peer = {
    remote: req.socket.remoteAddress ?? '',
    connection: (req as unknown as Partial<Http2ServerRequest>).stream?.session ?? req.socket,
    requestId: timeOrderedId(),
    traceId: validTraceId(headers.get('trace-id')) ?? randomUUID(),
  };
  promiseIds(req, res, {
    [`${headers.callerPrefix}request-id`]: known.requestId,
    [`${headers.callerPrefix}trace-id`]: known.traceId,
  });
  return known;
}

/**
 * Ids for answers that the adapter makes without a call. Connect's head replaces what is
 * set here; gRPC tells its status in trailers, which a call's own ids replace. Clients of
 * Connect's streams and of gRPC-Web would see both, and get none.
 */
function promiseIds(req: IncomingMessage, res: ServerResponse, ids: Record<string, string>): void {
  const type = req.headers['content-type'] ?? '';
  const grpc = type.startsWith('application/grpc');
  if (!grpc && !type.startsWith('application/connect+')) {
    for (const [name, value] of Object.entries(ids)) res.setHeader(name, value);
  } else if (grpc && !type.startsWith('application/grpc-web')) {
    const addTrailers = res.addTrailers.bind(res);
    const withIds: typeof res.addTrailers = (trailers) =>
      addTrailers({ ...ids, ...(trailers as Record<string, string>) });
    res.addTrailers = withIds;
  }
}
