// OTLP's protobuf messages read off the wire by their field numbers (opentelemetry-proto, trace/v1 and metrics/v1),
// into the shapes of OTLP's JSON: the exporter's own serializer is not asked what it wrote.

type Kind = 'text' | 'hex' | 'fixed64' | 'double' | 'varint' | 'packed64' | 'packedDouble' | Shape;
/** Field number -> name, kind, and whether it is repeated. */
interface Shape {
  readonly [field: number]: readonly [name: string, kind: Kind, repeated?: true];
}

const VALUE: Shape = {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'varint'],
  3: ['intValue', 'varint'],
  4: ['doubleValue', 'double'],
};
const ATTRIBUTE: Shape = { 1: ['key', 'text'], 2: ['value', VALUE] };
const SCOPE: Shape = { 1: ['name', 'text'], 2: ['version', 'text'] };
const RESOURCE: Shape = { 1: ['attributes', ATTRIBUTE, true] };
const SPAN: Shape = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'varint'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes', ATTRIBUTE, true],
  15: ['status', { 3: ['code', 'varint'] }],
};
const POINT: Shape = {
  9: ['attributes', ATTRIBUTE, true],
  2: ['startTimeUnixNano', 'fixed64'],
  3: ['timeUnixNano', 'fixed64'],
  4: ['count', 'fixed64'],
  5: ['sum', 'double'],
  6: ['bucketCounts', 'packed64'],
  7: ['explicitBounds', 'packedDouble'],
};
const METRIC: Shape = {
  1: ['name', 'text'],
  2: ['description', 'text'],
  3: ['unit', 'text'],
  9: ['histogram', { 1: ['dataPoints', POINT, true], 2: ['aggregationTemporality', 'varint'] }],
};
export const TRACES: Shape = {
  1: [
    'resourceSpans',
    { 1: ['resource', RESOURCE], 2: ['scopeSpans', { 1: ['scope', SCOPE], 2: ['spans', SPAN, true] }, true] },
    true,
  ],
};
export const METRICS: Shape = {
  1: [
    'resourceMetrics',
    {
      1: ['resource', RESOURCE],
      2: ['scopeMetrics', { 1: ['scope', SCOPE], 2: ['metrics', METRIC, true] }, true],
    },
    true,
  ],
};

/** Reads a message. */
export function decode(bytes: Buffer, shape: Shape): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    let start = at;
    if (wire === 0) varint();
    else {
      const length = wire === 1 ? 8 : wire === 5 ? 4 : varint();
      start = at;
      at += length;
    }
    const piece = bytes.subarray(start, at);
    const known = shape[tag >>> 3];
    if (known === undefined) continue;
    const [name, kind, repeated] = known;
    const value = readValue(piece, kind);
    message[name] = repeated ? [...((message[name] as unknown[] | undefined) ?? []), value] : value;
  }
  return message;
}

function readValue(piece: Buffer, kind: Kind): unknown {
  if (typeof kind === 'object') return decode(piece, kind);
  const all = <T>(read: (at: number) => T): T[] =>
    Array.from({ length: piece.length / 8 }, (_, i) => read(i * 8));
  switch (kind) {
    case 'text':
      return piece.toString('utf8');
    case 'hex':
      return piece.toString('hex');
    case 'fixed64':
      return String(piece.readBigUInt64LE());
    case 'double':
      return piece.readDoubleLE();
    case 'packed64':
      return all((at) => String(piece.readBigUInt64LE(at)));
    case 'packedDouble':
      return all((at) => piece.readDoubleLE(at));
    case 'varint':
      return piece.reduceRight((value, byte) => value * 128 + (byte & 0x7f), 0);
  }
}
