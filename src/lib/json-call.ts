// Calls of a command to a gateway: JSON there and back, and files.
import http from 'node:http';
import https from 'node:https';

export interface JsonCall {
  readonly verb: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body?: string | undefined;
  /** Whether any certificate is taken: of a gateway whose own socket told the address. */
  readonly trusted?: boolean;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/** The status and the JSON of the answer; `undefined` for an answer that is none. @throws Error of the network */
export function jsonCall({ verb, url, headers, body, trusted, timeoutMs }: JsonCall): Promise<{
  readonly status: number;
  readonly json: unknown;
}> {
  const secure = url.startsWith('https:');
  const options = {
    method: verb,
    headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
    signal: AbortSignal.timeout(timeoutMs),
    ...(secure && trusted ? { rejectUnauthorized: false } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = (secure ? https : http).request(url, options, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.once('error', reject);
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, json: parsed(pieces) }));
    });
    request.once('error', reject);
    request.end(body);
  });
}

/**
 * An answer whose bytes are read as they come. @param timeoutMs until its head, and between two of its bytes
 * @throws Error of the network
 */
export function byteCall({
  url,
  trusted = false,
  timeoutMs,
}: Pick<JsonCall, 'url' | 'trusted' | 'timeoutMs'>): Promise<http.IncomingMessage> {
  const secure = url.startsWith('https:');
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, ...(secure && trusted ? { rejectUnauthorized: false } : {}) };
    const request = (secure ? https : http).get(url, options, resolve);
    request.once('timeout', () => request.destroy(new Error('no bytes came in time')));
    request.once('error', reject);
  });
}

function parsed(pieces: readonly Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch {
    return undefined;
  }
}
