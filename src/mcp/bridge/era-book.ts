// Which generations each upstream speaks: found out once, by asking it, and kept for a while.
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import type { Asked } from '../relay/asked.ts';
import type { Target } from '../upstream/target.ts';
import type { RpcRequest } from '../wire/json-rpc.ts';
import { type BridgeDeps, modernHeaders, modernMeta, sendAcross } from './bridge-deps.ts';

const KEPT_MS = 300_000;
const MOST_KEPT = 10_000;
/** What was found out so lately is not asked again. */
const FRESH_MS = 5000;
/** How long a program may take to say that it knows revision 2026-07-28: older ones may say nothing at all. */
const PROGRAM_MS = 5000;

interface Known {
  readonly isModern: Promise<boolean>;
  readonly at: number;
}

export class EraBook {
  readonly #deps: BridgeDeps;
  readonly #known = new LruCache<Known>(MOST_KEPT);

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
  }

  /** The same, asked anew: the server did not behave as was known of it. */
  isModernNow(target: Target, asked: Asked): Promise<boolean> {
    const key = keyOf(asked);
    const known = this.#known.get(key);
    if (known !== undefined && Date.now() - known.at >= FRESH_MS) this.#known.delete(key);
    return this.isModern(target, asked);
  }

  /** Whether the upstream speaks revision 2026-07-28. @throws GatewayError when it cannot be asked */
  isModern(target: Target, asked: Asked): Promise<boolean> {
    const key = keyOf(asked);
    const known = this.#known.get(key);
    if (known !== undefined && Date.now() - known.at < KEPT_MS) return known.isModern;
    // Other callers wait for it, too: it does not end with this one.
    const signal = new Aborter();
    const isModern = discover(this.#deps, target, { ...asked, signal });
    const late = setTimeout(
      () => signal.abort(fail('upstream_timeout', 'the MCP server did not say what it is in time')),
      target.isProgram ? Math.min(PROGRAM_MS, this.#deps.bounds.silenceMs) : this.#deps.bounds.silenceMs * 2,
    );
    isModern.catch(() => {}).finally(() => clearTimeout(late));
    this.#known.set(key, { isModern, at: Date.now() });
    // What could not be found out is asked again.
    isModern.catch(() => this.#known.delete(key));
    return isModern;
  }
}

function keyOf({ server: { integration } }: Asked): string {
  return `${integration.id} ${integration.version}`;
}

async function discover(deps: BridgeDeps, target: Target, asked: Asked): Promise<boolean> {
  const method = 'server/discover';
  const message: RpcRequest = {
    jsonrpc: '2.0',
    id: 'discover',
    method,
    params: { _meta: modernMeta(undefined, { capabilities: {} }) },
  };
  const headers = modernHeaders(method, {});
  // Servers of older revisions refuse it in many ways; one that cannot be reached throws another error.
  const answer = await sendAcross(deps, target, asked, { message, era: 'modern', headers }).catch(
    (thrown: unknown) => {
      // A program may end at what it does not know: the handshake starts it again.
      if (target.isProgram) return undefined;
      const reason = (thrown as { readonly reason?: string }).reason ?? '';
      if (reason === 'upstream_status' || reason === 'upstream_garbage') return undefined;
      throw thrown;
    },
  );
  if (answer === undefined) return false;
  if (typeof answer.body === 'string') return Array.isArray(answer.response?.result?.supportedVersions);
  if (answer.body === undefined) return false;
  try {
    for await (const { response } of answer.body)
      if (response !== undefined) return Array.isArray(response.result?.supportedVersions);
  } catch {
    if (asked.signal.aborted && !target.isProgram) throw asked.signal.reason;
    return false;
  }
  return false;
}
