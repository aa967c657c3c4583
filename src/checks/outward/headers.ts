// Headers of the calls that checks make: those in a parameter, and those of the caller that a parameter names.

import type { CheckDeps } from '../contract/check.ts';
import { text } from '../contract/fields.ts';
import { type Fault, type Field, isObject, step } from '../contract/parameters.ts';
import type { Traffic } from '../view/traffic.ts';

export type Headers = Readonly<Record<string, string>>;

const NAME = /^[!#$%&'*+.^_`|~\da-zA-Z-]{1,200}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not stand in a header (RFC 9110, 5.5)
const NOT_A_VALUE = /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/;

/** Headers as an object, or as JSON text of one; they may hold credentials. */
export const headersField: Field<Headers> = {
  required: false,
  fallback: {},
  secret: true,
  aliases: [],
  read(value, path, fault) {
    const parsed = typeof value === 'string' ? (value.trim() === '' ? {} : parse(value)) : value;
    if (!isObject(parsed)) {
      fault(path, 'must be an object of headers');
      return undefined;
    }
    const entries = Object.entries(parsed);
    if (entries.length > 50) fault(path, 'has at most 50 headers');
    for (const [name, header] of entries) {
      if (!NAME.test(name))
        fault(path, `has a name that is not one of a header: ${JSON.stringify(name.slice(0, 100))}`);
      else if (typeof header !== 'string' || header.length > 8192 || NOT_A_VALUE.test(header)) {
        // The value is not repeated: it may be a credential.
        fault(step(path, name), 'must be a text that a header can hold');
      }
    }
    return parsed as Headers;
  },
};

function parse(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** An http or https URL without credentials. The dialer's own rules come on top when it is called. */
export const urlField: Field<string | undefined> = {
  ...text(2048),
  read(value, path, fault) {
    const url = typeof value === 'string' && value.length <= 2048 ? URL.parse(value) : null;
    const sound =
      url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
    if (sound) return value as string;
    fault(path, 'must be an http or https URL without credentials');
    return undefined;
  },
};

/** Headers of a caller that are never handed on: credentials, cloud metadata, what belongs to one connection. */
const NEVER = new Set(
  `authorization x-api-key api-key x-goog-api-key ocp-apim-subscription-key proxy-authorization cookie set-cookie
  metadata-flavor x-google-metadata-request x-aws-ec2-metadata-token x-aws-ec2-metadata-token-ttl-seconds metadata
  connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade host
  content-length content-type content-encoding accept-encoding expect x-amz-security-token`.split(/\s+/),
);

/** Notes names that are never handed on. */
export function requireForwardable(names: readonly string[], path: string, fault: Fault): void {
  for (const [index, name] of names.entries()) {
    if (!NAME.test(name)) fault(step(path, index), 'must be the name of a header');
    else if (NEVER.has(name.toLowerCase()))
      fault(step(path, index), `${name.toLowerCase()} is never handed on`);
  }
}

/** The named headers of the caller; of the gateway's own only the ids of the trace. */
export function forwardedHeaders(
  names: readonly string[],
  traffic: Traffic,
  { ownsHeader }: CheckDeps,
): Headers {
  const headers: Record<string, string> = {};
  for (const given of names) {
    const name = given.toLowerCase();
    if (NEVER.has(name) || (ownsHeader(name) && !/-(trace|span)-id$/.test(name))) continue;
    const value = Object.hasOwn(traffic.headers, name) ? traffic.headers[name] : undefined;
    if (value !== undefined) headers[name] = value;
    else if (name === 'traceparent' && traffic.traceId !== undefined) {
      const made = traceparent(traffic.traceId);
      if (made !== undefined) headers[name] = made;
    }
  }
  return headers;
}

/** A W3C traceparent of a trace id that is 32 hexadecimal digits, with or without hyphens; undefined of any other. */
function traceparent(traceId: string): string | undefined {
  const hex = traceId.replaceAll('-', '').toLowerCase();
  if (!/^[\da-f]{32}$/.test(hex) || /^0+$/.test(hex)) return undefined;
  return `00-${hex}-${hex.slice(16).replace(/^0{16}$/, '0000000000000001')}-01`;
}
