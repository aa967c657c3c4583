// A collector on a real socket: it takes OTLP in both forms, and behaves well or badly.
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { decode, METRICS, TRACES } from './otlp-wire.ts';

type Json = Record<string, unknown>;
export type Attributes = Record<string, string | number | boolean>;

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** Nanoseconds. */
  readonly start: bigint;
  readonly end: bigint;
  readonly error: boolean;
  readonly attributes: Attributes;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly cumulative: boolean;
  readonly points: readonly {
    readonly attributes: Attributes;
    readonly count: number;
    readonly sum: number;
    readonly counts: readonly number[];
    readonly bounds: readonly number[];
  }[];
}

export interface Receiver {
  readonly origin: string;
  /** What came in, as text. */
  readonly texts: string[];
  readonly heads: http.IncomingHttpHeaders[];
  readonly spans: ReceivedSpan[];
  readonly resources: Attributes[];
  /** The metrics of the last export. */
  metrics: ReceivedMetric[];
  /** What it does with what comes. */
  mood: 'takes' | 'refuses' | 'hangs';
  /** Waits until the condition holds; at most 8 seconds. */
  until(holds: () => boolean): Promise<boolean>;
  close(): Promise<void>;
}

/** @param tls its certificate; without one it speaks plain HTTP */
export async function startReceiver(tls?: {
  readonly cert: string;
  readonly key: string;
}): Promise<Receiver> {
  const listener = (req: http.IncomingMessage, res: http.ServerResponse): void => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => {});
    req.on('end', () => {
      if (receiver.mood === 'hangs') return;
      if (receiver.mood === 'refuses') return void res.writeHead(400).end('no');
      const raw = Buffer.concat(chunks);
      take(req, req.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw);
      res.writeHead(200, { 'content-type': req.headers['content-type'] }).end();
    });
  };
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener);
  const take = (req: http.IncomingMessage, body: Buffer): void => {
    const json = req.headers['content-type'] === 'application/json';
    receiver.heads.push(req.headers);
    receiver.texts.push(body.toString('latin1'));
    if (req.url === '/v1/traces') takeSpans(json ? JSON.parse(body.toString('utf8')) : decode(body, TRACES));
    if (req.url === '/v1/metrics')
      takeMetrics(json ? JSON.parse(body.toString('utf8')) : decode(body, METRICS));
  };
  const takeSpans = (message: Json): void => {
    for (const { resource, scopeSpans } of list(message.resourceSpans)) {
      receiver.resources.push(attributesOf((resource as Json).attributes));
      for (const { spans } of list(scopeSpans)) receiver.spans.push(...list(spans).map(spanOf));
    }
  };
  const takeMetrics = (message: Json): void => {
    receiver.metrics = list(message.resourceMetrics).flatMap(({ scopeMetrics }) =>
      list(scopeMetrics).flatMap(({ metrics }) => list(metrics).map(metricOf)),
    );
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts: [],
    heads: [],
    spans: [],
    resources: [],
    metrics: [],
    mood: 'takes',
    async until(holds) {
      for (let i = 0; i < 400 && !holds(); i++) await sleep(20);
      return holds();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

function list(value: unknown): Json[] {
  return (value ?? []) as Json[];
}

function spanOf(span: Json): ReceivedSpan {
  return {
    name: String(span.name),
    kind: Number(span.kind),
    traceId: String(span.traceId),
    spanId: String(span.spanId),
    parentSpanId: String(span.parentSpanId ?? ''),
    start: BigInt(span.startTimeUnixNano as string),
    end: BigInt(span.endTimeUnixNano as string),
    error: (span.status as Json | undefined)?.code === 2,
    attributes: attributesOf(span.attributes),
  };
}

function metricOf(metric: Json): ReceivedMetric {
  const histogram = metric.histogram as Json;
  return {
    name: String(metric.name),
    unit: String(metric.unit),
    cumulative: histogram.aggregationTemporality === 2,
    points: list(histogram.dataPoints).map((point) => ({
      attributes: attributesOf(point.attributes),
      count: Number(point.count),
      sum: Number(point.sum),
      counts: (point.bucketCounts as unknown[]).map(Number),
      bounds: point.explicitBounds as number[],
    })),
  };
}

function attributesOf(attributes: unknown): Attributes {
  return Object.fromEntries(
    list(attributes).map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value as Record<string, string>;
      if (boolValue !== undefined) return [key, Boolean(boolValue)];
      return [key, stringValue ?? Number(intValue ?? doubleValue)];
    }),
  ) as Attributes;
}
