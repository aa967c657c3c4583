// Streamed answers in the forms of Google and AWS: events or one array of JSON, and frames of a binary event stream.
import type { ServerResponse } from 'node:http';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { Form } from '../../gen/gateway/options/v2/options_pb.ts';
import { awsEventFrame } from '../lib/aws-event-frame.ts';
import { type GatewayError, toGatewayError } from '../lib/errors.ts';
import { rawJsonOf } from '../lib/raw-json.ts';
import { codec } from '../rest/codec.ts';
import { type ErrorShape, errorBody } from '../rest/error-body.ts';
import { exceptionFrame } from '../rest/exception-frame.ts';
import { drained, type Pairs } from './respond.ts';

/** How the pieces of one stream are written. */
interface Writing {
  readonly type: string;
  piece(json: string, first: boolean): string | Uint8Array;
  /** What ends the stream; with the error that cut it. */
  end(first: boolean, error: GatewayError | undefined): string | Uint8Array;
}

/** Writes until the stream ends. An error after the first piece becomes the last one. @param query of the request */
export async function writeNative(
  res: ServerResponse,
  status: number,
  desc: DescMessage,
  messages: AsyncIterable<Message>,
  headers: Pairs,
  shape: ErrorShape,
  query: string,
): Promise<void> {
  const writing = writingOf(shape, desc, query);
  const head: Record<string, string> = {
    'content-type': writing.type,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  };
  for (const [name, value] of headers) head[name] = value;
  res.writeHead(status, head);
  let first = true;
  try {
    for await (const message of messages) {
      const json = rawJsonOf(message) ?? JSON.stringify(codec.encode(desc, message));
      const text = typeof json === 'string' ? json : Buffer.from(json).toString('utf8');
      const full = !res.write(writing.piece(text, first));
      first = false;
      if (full) await drained(res);
    }
    res.end(writing.end(first, undefined));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.reason === 'client_closed' || res.destroyed) res.destroy();
    else res.end(writing.end(first, error.details.told ? undefined : error));
  }
}

function writingOf(shape: ErrorShape, desc: DescMessage, query: string): Writing {
  if (shape.form === Form.BEDROCK) return desc.name === 'InvokeModelEvent' ? chunks(shape) : frames(shape);
  return new URLSearchParams(query).get('alt') === 'sse' ? events(shape) : array(shape);
}

function events(shape: ErrorShape): Writing {
  const event = (json: string): string => `data: ${json}\r\n\r\n`;
  return {
    type: 'text/event-stream; charset=utf-8',
    piece: event,
    end: (_first, error) => (error === undefined ? '' : event(JSON.stringify(errorBody(error, shape)))),
  };
}

function array(shape: ErrorShape): Writing {
  const item = (json: string, first: boolean): string => `${first ? '[' : ',\r\n'}${json}`;
  return {
    type: 'application/json; charset=utf-8',
    piece: item,
    end(first, error) {
      const last = error === undefined ? '' : item(JSON.stringify(errorBody(error, shape)), first);
      return `${first && error === undefined ? '[' : ''}${last}]`;
    },
  };
}

const FRAMES = 'application/vnd.amazon.eventstream';
const NOTHING = new Uint8Array();

/** Converse's events: the one member of each is its type. */
function frames(shape: ErrorShape): Writing {
  return {
    type: FRAMES,
    piece(json) {
      const { type, payload } = eventIn(json);
      return eventFrame(type, payload);
    },
    end: (_first, error) => (error === undefined ? NOTHING : exceptionFrame(error, shape)),
  };
}

/** The models' own events in Base64. */
function chunks(shape: ErrorShape): Writing {
  return {
    type: FRAMES,
    piece: (json) => eventFrame('chunk', JSON.stringify({ bytes: Buffer.from(json).toString('base64') })),
    end: (_first, error) => (error === undefined ? NOTHING : exceptionFrame(error, shape)),
  };
}

/** What the gateway adds stands in the payload, where AWS's clients pass it by. */
function eventIn(json: string): { readonly type: string; readonly payload: string } {
  const { ...event } = JSON.parse(json) as Record<string, unknown>;
  const [type = 'event', ...others] = Object.keys(event);
  const own = event[type];
  const added = Object.fromEntries(others.map((name) => [name, event[name]]));
  const payload = typeof own === 'object' && own !== null ? { ...own, ...added } : { [type]: own, ...added };
  return { type, payload: JSON.stringify(payload) };
}

function eventFrame(type: string, payload: string): Buffer {
  return awsEventFrame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    payload,
  );
}
