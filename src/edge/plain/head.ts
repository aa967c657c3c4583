// A request in the plain form that most calls have: one POST over HTTP/1.1 with a short body of a told length. What is not
// surely that is not judged here: node:http reads it, and refuses what has to be refused.

/** A request that was read. */
export interface PlainHead {
  readonly url: string;
  /** As node:http gives them: lower-case names, values without the white space around them. */
  readonly headers: Readonly<Record<string, string>>;
  /** As far as it is there. */
  readonly body: Buffer;
  readonly isWhole: boolean;
}

/** Longer bodies are node:http's to read: they come in many pieces. */
export const MOST_PLAIN_BYTES = 65_536;

const LINE = /POST (\/[\x21-\x7e]*) HTTP\/1\.1\r\n/y;
/**
 * Its name is narrower than a token of RFC 9110: neither `_` nor what is rarer. Its value begins where the white space ends
 * and nowhere else: a long run of white space before something odd would be tried at each of its places.
 */
const FIELD = /([A-Za-z0-9-]+):[ \t]*(?![ \t])([\t\x20-\x7e]*)\r\n/y;
const LENGTH = /^[0-9]{1,8}$/;
const END = Buffer.from('\r\n\r\n');
/** Far below what node:http takes: longer heads it refuses, and of more fields it leaves some out. */
const MAX_HEAD_BYTES = 32_768;
const MAX_FIELDS = 200;
/** Headers that change how a message is framed, answered or shown; and `origin`, which CORS looks at. */
const UNUSUAL = new Set([
  ...['transfer-encoding', 'expect', 'upgrade', 'te', 'trailer', 'proxy-connection', 'http2-settings'],
  ...['origin', 'set-cookie', 'content-encoding'],
]);
const SPACE = 0x20;
const TAB = 0x09;

/** Undefined: the bytes are neither exactly one plain request nor the beginning of one, its head whole. */
export function readPlain(bytes: Buffer): PlainHead | undefined {
  const end = bytes.indexOf(END);
  if (end === -1 || end > MAX_HEAD_BYTES) return undefined;
  const text = bytes.toString('latin1', 0, end + 2);
  LINE.lastIndex = 0;
  const url = LINE.exec(text)?.[1];
  if (url === undefined) return undefined;
  const headers: Record<string, string> = {};
  let fields = 0;
  for (let at = LINE.lastIndex; at < text.length; at = FIELD.lastIndex) {
    FIELD.lastIndex = at;
    const field = FIELD.exec(text);
    if (field === null || ++fields > MAX_FIELDS) return undefined;
    const name = field[1]!.toLowerCase();
    // One that is repeated is joined, dropped or refused, each by its own rule.
    if (UNUSUAL.has(name) || Object.hasOwn(headers, name)) return undefined;
    headers[name] = trimmed(field[2]!);
  }
  const { host, connection } = headers;
  const told = headers['content-length'];
  if (host === undefined || told === undefined || !LENGTH.test(told)) return undefined;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  const body = bytes.subarray(end + END.length);
  const length = Number(told);
  if (body.length > length || length > MOST_PLAIN_BYTES) return undefined;
  return { url, headers, body, isWhole: body.length === length };
}

function trimmed(value: string): string {
  const last = value.charCodeAt(value.length - 1);
  return last === SPACE || last === TAB ? value.trimEnd() : value;
}
