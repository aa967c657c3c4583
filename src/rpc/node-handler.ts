// Requests of node:http and node:http2 to the handlers of gRPC, gRPC-Web and Connect. In the place of the library's own
// adapter, because bodies are read within bounds of pace and memory here.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Code, ConnectError, type ConnectRouter, type ContextValues } from '@connectrpc/connect';
import { type UniversalHandler, uResponseNotFound } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { EnvelopeMeter } from '../lib/incoming/envelope-meter.ts';
import { IncomingBody, type IncomingBodyOptions } from '../lib/incoming/incoming-body.ts';

type NodeServerRequest = Parameters<typeof universalRequestFromNodeRequest>[0];
type NodeServerResponse = Parameters<typeof universalResponseToNodeResponse>[1];

/** How one request's body is read, and what its handlers are told. */
export interface RequestOptions extends Pick<IncomingBodyOptions, 'pace' | 'reading' | 'toError'> {
  readonly values: ContextValues;
  /** Whether the caller has a valid key. */
  readonly known: () => boolean;
  /** Told what no handler answered. */
  readonly onTrouble: (error: unknown) => void;
}

/** Content types of bodies that are messages with a prefix each; others are one message. */
const ENVELOPED = /^application\/(?:grpc|connect\+)/;

export function nodeHandler(
  router: ConnectRouter,
  optionsOf: (req: IncomingMessage, res: ServerResponse) => RequestOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  const handlers = new Map<string, UniversalHandler>(
    router.handlers.map((handler) => [handler.requestPath, handler]),
  );
  return (req, res) => {
    const handler = handlers.get((req.url ?? '').split('?', 1)[0] ?? '');
    if (handler === undefined) {
      res.writeHead(uResponseNotFound.status);
      res.end();
      return;
    }
    const options = optionsOf(req, res);
    const { header, ...request } = universalRequestFromNodeRequest(
      req as NodeServerRequest,
      res as NodeServerResponse,
      undefined,
      options.values,
    );
    // A length that is told would be set aside before a byte of it has come.
    header.delete('content-length');
    const body = bodyOf(req, handler, options);
    handler({ ...request, header, body })
      .then((answer) => universalResponseToNodeResponse(answer, res as NodeServerResponse))
      .catch((reason: unknown) => {
        if (ConnectError.from(reason).code !== Code.Aborted) options.onTrouble(reason);
      });
  };
}

function bodyOf(req: IncomingMessage, { method }: UniversalHandler, options: RequestOptions): IncomingBody {
  const enveloped = ENVELOPED.test(req.headers['content-type'] ?? '');
  const meter = new EnvelopeMeter();
  let given = 0;
  const manyMessages = method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
  return new IncomingBody(req, {
    pace: options.pace,
    reading: options.reading,
    toError: options.toError,
    whole: !manyMessages,
    heldOf(bytes) {
      if (enveloped) return meter.push(bytes);
      given += bytes.length;
      return given;
    },
    ...(manyMessages ? { mayIdle: () => meter.open === 0 && options.known() } : {}),
  } as IncomingBodyOptions);
}
