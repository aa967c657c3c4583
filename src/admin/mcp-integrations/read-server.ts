// Reads what an MCP server says of itself and offers, by the official client: the newest revision of the protocol first,
// the older handshake where the server does not know it.
import type { McpServerInfo } from '../../access/mcp/mcp-collections.ts';
import { type DialedFetchOptions, dialedFetch } from '../../lib/egress/dialed-fetch.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { isTooDeep } from '../../lib/json-depth.ts';
import type { JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';
import { type Described, MOST_CAPABILITIES } from './catalogue.ts';

/** How a server is reached. */
export interface ServerWay {
  readonly url: string;
  /** Of a program it is `http`, over its own `fetch`. */
  readonly transport: 'http' | 'sse';
  /** In the place of the dialer. */
  readonly program?: { readonly fetch: typeof fetch; readonly close: () => Promise<void> };
  /** Headers of every request, credentials among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What was read. */
export interface ReadServer {
  readonly info: McpServerInfo;
  /** Undefined: they were not asked for. */
  readonly capabilities: readonly Described[] | undefined;
  /** From the first byte sent to the answer of initialize. */
  readonly connectMs: number;
}

/** Longest wait for a connection and for each answer. */
const STEP_MS = 10_000;
/** Longest time for all of it. */
const WHOLE_MS = 60_000;
/** Of one answer. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_PAGES = 64;

/**
 * @param everything whether capabilities are read, too
 * @throws GatewayError upstream_unreachable, upstream_timeout, upstream_garbage, upstream_status (with the server's
 * status), host_refused; never an error of the library
 */
export async function readServer(
  dialer: Pick<Dialer, 'stream'>,
  way: ServerWay,
  everything: boolean,
): Promise<ReadServer> {
  const statuses: number[] = [];
  const failures: GatewayError[] = [];
  const whole = AbortSignal.timeout(WHOLE_MS);
  const options: DialedFetchOptions = {
    headTimeoutMs: STEP_MS,
    idleTimeoutMs: STEP_MS,
    maxBytes: MOST_BYTES,
    headers: way.headers,
    signal: whole,
  };
  const dialed = way.program?.fetch ?? dialedFetch(dialer, options);
  const watched: typeof fetch = async (input, init) => {
    try {
      const response = await dialed(input, init);
      statuses.push(response.status);
      return response;
    } catch (error) {
      if (error instanceof GatewayError) failures.push(error);
      throw error;
    }
  };
  const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import(
    '@modelcontextprotocol/client'
  );
  const client = new Client(
    { name: 'sluice', version: '1' },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: STEP_MS } },
      listMaxPages: MOST_PAGES,
    },
  );
  const Transport = way.transport === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  const started = performance.now();
  try {
    const transport = new Transport(new URL(way.url), { fetch: watched });
    await client.connect(transport, { timeout: STEP_MS, signal: whole });
    const connectMs = Math.round(performance.now() - started);
    const info = infoOf(client);
    return { info, connectMs, capabilities: everything ? await capabilitiesOf(client) : undefined };
  } catch (error) {
    throw told(error, failures.at(-1), statuses.at(-1));
  } finally {
    await client.close().catch(() => {});
    await way.program?.close();
  }
}

type Client = InstanceType<typeof import('@modelcontextprotocol/client').Client>;

function infoOf(client: Client): McpServerInfo {
  const { name, version, title, description, websiteUrl, icons } = client.getServerVersion() ?? {};
  return defined<McpServerInfo>({
    serverName: clipped(name, 255),
    serverVersion: clipped(version, 255),
    title: clipped(title, 255),
    description: clipped(description, 4096),
    websiteUrl: clipped(websiteUrl, 2048),
    icons:
      icons === undefined || icons.length === 0 ? undefined : (icons.slice(0, 16) as unknown as JsonObject[]),
    protocolVersion: newestOf(client),
    capabilityFlags: client.getServerCapabilities() as JsonObject | undefined,
    instructions: clipped(client.getInstructions(), 65_536),
  });
}

/** Revisions are dates: the newest one that the server says it speaks. */
function newestOf(client: Client): string | undefined {
  const offered = client.getDiscoverResult()?.supportedVersions ?? [];
  const spoken = client.getNegotiatedProtocolVersion();
  return [...offered, ...(spoken === undefined ? [] : [spoken])].sort().at(-1);
}

async function capabilitiesOf(client: Client): Promise<readonly Described[]> {
  const offers = client.getServerCapabilities() ?? {};
  const options = { timeout: STEP_MS };
  const all: Described[] = [];
  const add = (type: Described['type'], found: readonly object[]): void => {
    for (const one of found) {
      const { name, ...described } = one as { readonly name: string };
      if (isTooDeep(described)) throw fail('upstream_garbage', 'the server offers what nests too deep');
      all.push({ type, name, described: described as JsonObject });
    }
    if (all.length > MOST_CAPABILITIES)
      throw fail('upstream_garbage', `the server offers more than ${MOST_CAPABILITIES} capabilities`);
  };
  if (offers.tools) add('tool', (await client.listTools(undefined, options)).tools);
  if (offers.prompts) add('prompt', (await client.listPrompts(undefined, options)).prompts);
  if (offers.resources) {
    add('resource', (await client.listResources(undefined, options)).resources);
    const templates = await client.listResourceTemplates(undefined, options).catch((error: unknown) => {
      // A server may have resources and no templates: -32601 is then its answer.
      if ((error as { code?: unknown }).code === -32601) return { resourceTemplates: [] };
      throw error;
    });
    add('resource_template', templates.resourceTemplates);
  }
  return all;
}

/** The error in the gateway's words: the library's may repeat what the server wrote. */
function told(error: unknown, failure: GatewayError | undefined, status: number | undefined): GatewayError {
  if (error instanceof GatewayError) return error;
  if (failure !== undefined) return failure;
  if (status !== undefined && status >= 300)
    return fail('upstream_status', statusText(status), { status, cause: error });
  if (/timed? ?out|timeout/i.test(String((error as Error | undefined)?.message)))
    return fail('upstream_timeout', 'the server did not answer in time', { cause: error });
  return fail('upstream_garbage', 'the server does not speak MCP in a way that can be read', {
    cause: error,
  });
}

function statusText(status: number): string {
  if (status === 401 || status === 403) return `the server refuses the credentials (${status})`;
  if (status < 400)
    return `the server redirects (${status}): redirects are not followed, give its own address`;
  return `the server answers with ${status}`;
}

function clipped(text: string | undefined, most: number): string | undefined {
  return text?.slice(0, most);
}
