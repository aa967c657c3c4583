// The recipients of an alert.
import type { AlertBody } from './alert.ts';

/** Where an organisation takes alerts as HTTP requests. */
export interface WebhookAddress {
  readonly url: string;
  /** Requests are signed with it. */
  readonly secret?: string | undefined;
}

/** What the budget belongs to, and the recipients. */
export interface Audience {
  readonly owner: {
    /** api_key, workspace, provider, integration, token or policy. */
    readonly type: string;
    readonly id: string;
    /** What people know it by; empty when it has no name. */
    readonly name: string;
    readonly workspaceId?: string | undefined;
    /** The group of a policy, e.g. `metadata._user:x`. */
    readonly valueKey?: string | undefined;
  };
  /** In lower case, each once. */
  readonly emails: readonly string[];
  readonly webhook: WebhookAddress | undefined;
}

/** Finds the recipients. @throws GatewayError store_unavailable. */
export type FindAudience = (organisationId: string, alert: AlertBody) => Promise<Audience>;
