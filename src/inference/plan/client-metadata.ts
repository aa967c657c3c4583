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
const USER_HEADER = 'x-claude-code-user-id';
const SESSION_HEADER = 'x-claude-code-session-id';

const LONGEST = 2048;

/** `_user` of the client's own fields; undefined when it names none. Metadata of the gateway's header goes before. */
export function clientMetadata(
  request: object,
  headers: GatewayHeaders,
): Readonly<Record<string, string>> | undefined {
  const { metadata, safetyIdentifier, user: older } = request as Named;
  const said = named(metadata?.userId) ?? named(metadata?.user_id) ?? named(safetyIdentifier) ?? named(older);
  const user = said ?? named(headers.plain(USER_HEADER)) ?? named(headers.plain(SESSION_HEADER));
  return user === undefined ? undefined : { _user: user.slice(0, LONGEST) };
}

function named(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
