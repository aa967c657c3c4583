// The upstream as a process of its own: streams, and where there is no nginx the other answers too.
// node test/bench/upstream.ts PORT
import { createServer, type ServerResponse } from 'node:http';
import {
  BIG_BODY_BYTES,
  CHAT_ANSWER,
  PACE_MS,
  STREAM_END,
  STREAM_EVENTS,
  STREAM_USAGE,
  streamEvents,
} from './payloads.ts';

const events = streamEvents();
const whole = [events.join('') + STREAM_END, events.join('') + STREAM_USAGE + STREAM_END] as const;
const afterFirst = events.slice(1, 3).join('');
const answer = Buffer.from(CHAT_ANSWER);
const big = Buffer.alloc(BIG_BODY_BYTES, 'sluice ');

/** When the rest follows the first event of a `first` stream, in milliseconds. */
const REST_MS = 2;

function paced(res: ServerResponse, next: number, end: string): void {
  if (res.destroyed) return;
  if (next === STREAM_EVENTS) {
    res.end(end);
    return;
  }
  res.write(events[next]);
  setTimeout(paced, PACE_MS, res, next + 1, end);
}

function stream(res: ServerResponse, body: string): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  // As providers do: usage when it is asked for.
  const asked = body.includes('"include_usage":true');
  const end = asked ? STREAM_USAGE + STREAM_END : STREAM_END;
  if (body.includes('gpt-bench-burst')) {
    res.end(whole[asked ? 1 : 0]);
  } else if (body.includes('gpt-bench-paced')) {
    paced(res, 0, end);
  } else {
    res.write(events[0]);
    if (body.includes('gpt-bench-first')) setTimeout(() => res.end(afterFirst + end), REST_MS);
  }
}

const server = createServer((req, res) => {
  let body = '';
  req.setEncoding('utf8');
  req.on('data', (chunk: string) => {
    body += chunk;
  });
  req.on('error', () => {});
  req.on('end', () => {
    if (req.method === 'GET') {
      res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': big.length });
      res.end(big);
    } else if (body.includes('"stream":true')) {
      stream(res, body);
    } else {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
      res.end(answer);
    }
  });
});
server.keepAliveTimeout = 600_000;
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 });
process.on('SIGTERM', () => process.exit(0));
