// `sluice mcp [server]`: an MCP server on standard input and output, for clients that start their servers as programs.
import { StringDecoder } from 'node:string_decoder';
import { GatewayLink, MOST_MESSAGE } from './gateway-link.ts';
import { StdioRelay } from './stdio-relay.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface StdioOptions {
  readonly url?: string;
  readonly key?: string;
}

export interface Streams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** The only place for what people read. */
  readonly errors: NodeJS.WritableStream;
}

const SERVER = /^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,254}\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/;
/** How long requests that are under way may take once the client has closed its end. */
const LAST_ANSWERS_MS = 10_000;
const LOOK_MS = 20;

/**
 * Relays until the client closes its end, or the signal aborts.
 * @param server slug, or workspace/slug; undefined: all servers of the key's workspace
 * @throws Error for people when the gateway or the key is not named
 */
export async function serveStdio(
  server: string | undefined,
  options: StdioOptions,
  env: Environment,
  { input, output, errors }: Streams,
  stop: AbortSignal,
): Promise<void> {
  const url = endpointOf(server, options.url ?? env.SLUICE_URL ?? '');
  const key = options.key ?? env.SLUICE_KEY ?? '';
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Error('--key (or SLUICE_KEY) is needed: a key with the scope mcp.invoke');
  const link = new GatewayLink(url, key);
  const relay = new StdioRelay({
    link,
    write: (text) => void output.write(`${text}\n`),
    note: (line) => void errors.write(`sluice mcp: ${line.replaceAll(/\p{Cc}/gu, ' ')}\n`),
  });
  try {
    await lines(input, stop, (line) => relay.take(line));
    const until = performance.now() + LAST_ANSWERS_MS;
    while (relay.waiting > 0 && !stop.aborted && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  } finally {
    await relay.close();
    link.close();
  }
}

function endpointOf(server: string | undefined, given: string): URL {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new Error(
      '--url (or SLUICE_URL) is needed: the address of a gateway such as http://127.0.0.1:8787',
    );
  if (server !== undefined && !SERVER.test(server))
    throw new Error('the server is its slug, or workspace/slug');
  const base = given.replace(/\/+$/, '').replace(/\/v[12]$/, '');
  return new URL(server === undefined ? `${base}/mcp` : `${base}/${server}/mcp`);
}

/** Lines end in LF alone: texts of JSON may hold what else ends lines. */
function lines(input: NodeJS.ReadableStream, stop: AbortSignal, take: (line: string) => void): Promise<void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return new Promise((resolve, reject) => {
    const end = (error?: Error): void => {
      input.removeListener('data', read);
      stop.removeEventListener('abort', stopped);
      input.pause();
      if (error === undefined) resolve();
      else reject(error);
    };
    const stopped = (): void => end();
    const read = (piece: Buffer | string): void => {
      const parts = (rest + decoder.write(piece as Buffer)).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) take(line);
      if (rest.length > MOST_MESSAGE) end(new Error('the client sent a message that is too long'));
    };
    input.on('data', read);
    input.once('end', () => {
      take(rest);
      end();
    });
    input.once('error', () => end());
    stop.addEventListener('abort', stopped);
    if (stop.aborted) end();
  });
}
