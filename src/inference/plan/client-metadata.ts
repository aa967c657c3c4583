// Metadata that clients say in the members and headers of their own APIs.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';

/** Members of requests that name the end user, by the names that messages have; the first that is given counts. */
interface Named {
  readonly metadata?: { readonly userId?: unknown; readonly user_id?: unknown };
  readonly safetyIdentifier?: unknown;
  /** OpenAI's older name of the end user. */
  readonly user?: unknown;
}

/** Claude Code's attribution headers ("LLM gateway protocol"). */
const HEADERS = ['x-claude-code-user-id', 'x-claude-code-session-id'];

const LONGEST = 2048;

/** `_user` of the client's own fields; undefined when it names none. Metadata of the gateway's header goes before. */
export function clientMetadata(
  request: object,
  headers: GatewayHeaders,
): Readonly<Record<string, string>> | undefined {
  const { metadata, safetyIdentifier, user: older } = request as Named;
  const candidates: unknown[] = [metadata?.userId, metadata?.user_id, safetyIdentifier, older];
  for (const name of HEADERS) candidates.push(headers.plain(name));
  const user = candidates.find((value) => typeof value === 'string' && value !== '');
  return typeof user === 'string' ? { _user: user.slice(0, LONGEST) } : undefined;
}
