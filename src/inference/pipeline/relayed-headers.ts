// Which headers of a provider's answer reach the caller.
import { create } from '@bufbuild/protobuf';
import { type Header, HeaderSchema } from '../../../gen/gateway/inference/v2/proxy_pb.ts';

/** Headers of one hop (RFC 9110, part 7.6.1): the answer's next hop writes its own. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
]);

/**
 * Headers that a proxy or server in front of the gateway obeys: a provider would have it send files of its own
 * (nginx `X-Accel-Redirect`, Apache and lighttpd `X-Sendfile`, Perlbal `X-Reproxy-*`, LiteSpeed).
 */
const OBEYED =
  /^(?:x-accel-|x-sendfile(?:$|-|2$)|x-lighttpd-|x-reproxy-|x-litespeed-|x-lsws-|x-varnish-|surrogate-)/;

/** @param raw flat pairs as they came */
export function relayedHeaders(raw: readonly string[]): Header[] {
  const named = namedByConnection(raw);
  const headers: Header[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!;
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || OBEYED.test(lower) || named?.has(lower)) continue;
    headers.push(create(HeaderSchema, { name, value: raw[i + 1]! }));
  }
  return headers;
}

/** Names that the answer's `Connection` gives. Those that frame the message stay: leaving them out would change it. */
function namedByConnection(raw: readonly string[]): ReadonlySet<string> | undefined {
  let named: Set<string> | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]!.length !== 10 || raw[i]!.toLowerCase() !== 'connection') continue;
    named ??= new Set();
    for (const name of raw[i + 1]!.split(',')) named.add(name.trim().toLowerCase());
  }
  named?.delete('content-length');
  named?.delete('content-encoding');
  named?.delete('content-type');
  return named;
}
