// Whose call it is, as limits see it.
import type { LimitSubject } from '../../call/account.ts';

/** What limits are matched on and counted by. */
export interface Subject extends LimitSubject {
  /** What an attempt is sent to: the provider's identifier, and the slug of a stored one. Absent: the call itself. */
  readonly provider?: readonly string[] | undefined;
  /** The tool that is called; absent: it is no tool call. */
  readonly mcp?: McpSubject | undefined;
}

/** A tool call, as limits see it. */
export interface McpSubject {
  /** The server's slug, and its id. */
  readonly server: readonly string[];
  readonly tool: string;
}

/** The key of policies that are asked for each attempt. */
export const PROVIDER_KEY = 'provider';

/** Values that a policy's key stands for: an id, and a slug where there is one; none when the request has none. */
export function valuesOf(subject: Subject, key: string): readonly string[] {
  switch (key) {
    case 'api_key':
      return [subject.keyId];
    case 'organisation_id':
      return [subject.organisationId];
    case 'workspace_id':
      return [subject.workspaceId, subject.workspaceSlug].filter((value) => value !== undefined);
    case PROVIDER_KEY:
      return subject.provider ?? [];
    case 'mcp_server':
      return subject.mcp?.server ?? [];
    case 'mcp_tool':
      return subject.mcp === undefined ? [] : [subject.mcp.tool];
    default: {
      const name = key.startsWith('metadata.') ? key.slice('metadata.'.length) : undefined;
      if (name === undefined || !Object.hasOwn(subject.metadata, name)) return [];
      const value = subject.metadata[name];
      return value === undefined ? [] : [value];
    }
  }
}
