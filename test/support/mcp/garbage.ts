// What upstreams answer a request with that is none of the protocol. Texts are written for the id 1, and sent with the
// request's.
import type http from 'node:http';
import { gzipSync } from 'node:zlib';

export type RequestId = string | number;
export type Behaviour = (res: http.ServerResponse, id: RequestId, method: string) => void;

export const GOOD = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}';
const withId = (text: string, id: RequestId): string =>
  text
    .replaceAll('"id":1,', `"id":${JSON.stringify(id)},`)
    .replaceAll('"id":"1"', typeof id === 'number' ? `"id":"${id}"` : '"id":1.5');

export const json =
  (value: unknown, status = 200): Behaviour =>
  (res, id) => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(withId(JSON.stringify(value), id));
  };
export const raw =
  (text: string, type = 'application/json', status = 200): Behaviour =>
  (res, id) => {
    res.writeHead(status, { 'content-type': type }).end(withId(text, id));
  };
export const events =
  (...datas: string[]): Behaviour =>
  (res, id) => {
    res
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(datas.map((data) => `data: ${withId(data, id)}\n\n`).join(''));
  };

const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;

/** With the silence's bound at a second, and a message's at 1 MiB. */
export const GARBAGE: Readonly<Record<string, Behaviour>> = {
  'no JSON': raw('<html>'),
  'another type': raw('hello', 'text/plain'),
  'a list': raw(`[${GOOD}]`),
  'another id': raw(GOOD.replace('"id":1', '"id":2')),
  'no version': raw('{"id":1,"result":{}}'),
  'result and error': raw('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}'),
  'a redirect': (res) => res.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  'a redirect that keeps the body': (res) =>
    res.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
  'a server error': raw('{"secret":"stack trace"}', 'application/json', 500),
  'a challenge': (res) => res.writeHead(401, { 'www-authenticate': 'Bearer realm="theirs"' }).end(),
  'events that are none': events('{"jsonrpc":"2.0"', GOOD),
  'a stream without a response': events('{"jsonrpc":"2.0","method":"notifications/message","params":{}}'),
  'a request of the server': events(
    '{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}',
    GOOD,
  ),
  'an event for another id': events(GOOD.replace('"id":1', '"id":2'), GOOD),
  'a broken connection': (res) => res.destroy(),
  silence: () => {},
  'silence in mid-stream': (res) =>
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
  'silence in the middle of a text': (res) =>
    res.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":"2.0",'),
  'half a text': (res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
    res.write('{"jsonrpc":"2.0",', () => res.destroy());
  },
  'a result of 5000 levels': raw(
    `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"x":${deep}}}`,
  ),
  'compressed bytes': (res) => {
    const bomb = gzipSync('x'.repeat(10_000_000));
    res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb);
  },
  'compressed events': (res) => {
    const bomb = gzipSync('data: x\n\n'.repeat(1_000_000));
    res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(bomb);
  },
  'an event without end': (res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = setInterval(() => res.write('x'.repeat(100_000)), 5);
    res.on('close', () => clearInterval(more));
  },
  'a session id that cannot be kept': (res, id) => {
    res
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'x'.repeat(5000) })
      .end(withId(GOOD, id));
  },
  'the id as another type': raw(GOOD.replace('"id":1', '"id":"1"')),
  'the id null': raw(GOOD.replace('"id":1', '"id":null')),
  'a result that is null': raw('{"jsonrpc":"2.0","id":1,"result":null}'),
  'an error without a number': raw('{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}'),
  'no content': (res) => res.writeHead(204).end(),
  'a notice’s status': (res) => res.writeHead(202).end(),
  'an answer without end': (res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(`{"jsonrpc":"2.0","id":1,"result":{"x":"${'x'.repeat(2 * 1024 * 1024)}"}}`);
  },
};
