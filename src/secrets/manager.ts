// The port that every secret manager implements.
import type { AbortLike } from '../lib/abort.ts';
import type { Dialer } from '../lib/egress/outbound.ts';

export const MANAGER_TYPES = ['aws_sm', 'azure_kv', 'hashicorp_vault', 'gcp_sm', 'env', 'file'] as const;
export type ManagerType = (typeof MANAGER_TYPES)[number];

/** How one proves who asks, by field. */
export type AuthConfig = Readonly<Record<string, string>>;

/** Where a secret is, and how to get at it. */
export interface SecretPlace {
  readonly auth: AuthConfig;
  /** The secret's name in the manager. */
  readonly path: string;
}

/** Reads secrets of one kind of manager. */
export interface SecretManager {
  /**
   * The secret as text; of a manager that keeps members, their JSON.
   * @throws GatewayError secret_unavailable (see failure.ts), host_refused
   */
  read(place: SecretPlace, signal: AbortLike): Promise<string>;
}

/** What managers are made with. */
export interface ManagerDeps {
  readonly dialer: Pick<Dialer, 'whole'>;
  /** The process's own environment: of it only what the operator opened is read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A secret's longest text, in bytes. */
export const MOST_SECRET_BYTES = 64 * 1024;
