// Requests of node:http and node:http2 to the handlers of gRPC, gRPC-Web and Connect. In the place of the library's own
// adapter, because bodies are read within bounds of pace and memory here.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError, type ContextValues } from '@connectrpc/connect';
import { type UniversalHandler, uResponseNotFound } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { EnvelopeMeter } from '../lib/incoming/envelope-meter.ts';
import { IncomingBody, type IncomingBodyOptions } from '../lib/incoming/incoming-body.ts';
import { bodyLimitOf } from '../rest/body-limit.ts';
import { fastCompressions } from './compression.ts';
import { withBytes } from './long-answers.ts';
import { weighedBody } from './weighed-body.ts';

type NodeServerRequest = Parameters<typeof universalRequestFromNodeRequest>[0];
type NodeServerResponse = Parameters<typeof universalResponseToNodeResponse>[1];

/** How one request's body is read, and what its handlers are told. */
export interface RequestOptions extends Pick<IncomingBodyOptions, 'pace' | 'reading' | 'toError'> {
  readonly values: ContextValues;
  /** Whether the caller has a valid key. */
  readonly known: () => boolean;
  /** Told when a message is long, and of the message when it has been decoded. */
  readonly onLong: (message: Message | undefined) => void;
  /** The bytes of an answer that the library was not given. */
  readonly longAnswer: () => readonly Uint8Array[] | undefined;
  /** Told what no handler answered. */
  readonly onTrouble: (error: unknown) => void;
}

/** Content types of bodies that are messages with a prefix each; others are one message. */
const ENVELOPED = /^application\/(?:grpc|connect\+)/;
const JSON_TYPE = /^application\/(?:[a-z-]+\+)?json/;

/** @param handlerOf finds the handler of a path @param bodyLimit longest message of the data plane, in bytes */
export function nodeHandler(
  handlerOf: (path: string) => UniversalHandler | undefined,
  bodyLimit: number,
  optionsOf: (req: IncomingMessage, res: ServerResponse, method: DescMethod) => RequestOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  const limits = new Map<DescMethod, number>();
  const limitOf = (method: DescMethod): number => {
    const known = limits.get(method);
    if (known !== undefined) return known;
    const limit = bodyLimitOf(method, bodyLimit);
    limits.set(method, limit);
    return limit;
  };
  return (req, res) => {
    const handler = handlerOf((req.url ?? '').split('?', 1)[0] ?? '');
    if (handler === undefined) {
      res.writeHead(uResponseNotFound.status);
      res.end();
      return;
    }
    const options = optionsOf(req, res, handler.method);
    const { header, ...request } = universalRequestFromNodeRequest(
      req as NodeServerRequest,
      res as NodeServerResponse,
      undefined,
      options.values,
    );
    // A length that is told would be set aside before a byte of it has come.
    header.delete('content-length');
    const body = weighedBody(bodyOf(req, handler, options), {
      desc: handler.method.input,
      isJson: JSON_TYPE.test(req.headers['content-type'] ?? ''),
      isEnveloped: ENVELOPED.test(req.headers['content-type'] ?? ''),
      compression: takeCompression(header),
      bodyLimit: limitOf(handler.method),
      reading: options.reading,
      onLong: takesMany(handler.method) ? undefined : options.onLong,
      toError: options.toError ?? ((error) => error),
    });
    handler({ ...request, header, body })
      .then((answer) => {
        const long = options.longAnswer();
        const written = long === undefined ? answer : withBytes(answer, long);
        return universalResponseToNodeResponse(written, res as NodeServerResponse);
      })
      .catch((reason: unknown) => {
        if (ConnectError.from(reason).code !== Code.Aborted) options.onTrouble(reason);
      });
  };
}

/** The compression of the request's messages. A whole body is handed on decompressed, so its header is taken away. */
function takeCompression(header: Headers): string | undefined {
  const named = (name: string): string | undefined => {
    const value = header.get(name);
    return fastCompressions.some((compression) => compression.name === value) ? value! : undefined;
  };
  const whole = named('content-encoding');
  if (whole !== undefined) header.delete('content-encoding');
  return whole ?? named('grpc-encoding') ?? named('connect-content-encoding');
}

function takesMany({ methodKind }: DescMethod): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
}

function bodyOf(req: IncomingMessage, { method }: UniversalHandler, options: RequestOptions): IncomingBody {
  const enveloped = ENVELOPED.test(req.headers['content-type'] ?? '');
  const meter = new EnvelopeMeter();
  let given = 0;
  const manyMessages = takesMany(method);
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
