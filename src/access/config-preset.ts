// The config that a caller's calls start with: the key's own, a token's, or the workspace's for user keys
// (admin-api facts, part 7.1).

import type { Principal } from '../call/principal.ts';
import type { Directory } from './directory.ts';
import type { KeyRing } from './key-ring.ts';

/** A config's id or slug, whose setting it is, and whether a request may name another. */
export interface ConfigPreset {
  readonly config: string | undefined;
  readonly owner: string;
  readonly mayOverride: boolean;
}

/** Undefined: the caller's calls start with nothing and may name what they like. */
export function configPreset(
  { keys, directory }: { readonly keys: Pick<KeyRing, 'settings'>; readonly directory: Directory },
  caller: Pick<Principal, 'organisationId' | 'workspaceId'> &
    Partial<Pick<Principal, 'keyId'>> & {
      readonly kind?: string;
      readonly token?: { readonly defaults: { readonly configId: string | undefined } } | undefined;
    },
): ConfigPreset | undefined {
  const { organisationId, workspaceId, keyId = '', kind, token } = caller;
  if (token !== undefined) {
    const config = token.defaults.configId;
    return config === undefined ? undefined : { config, owner: 'the token', mayOverride: true };
  }
  const defaults = keys.settings(organisationId, keyId)?.defaults;
  const own = defaults?.config_id;
  const mayOverride = defaults?.allow_config_override !== false;
  if (typeof own === 'string') return { config: own, owner: 'the API key', mayOverride };
  if (kind === 'workspace-user' && workspaceId !== undefined) {
    const theirs = directory.workspace(organisationId, workspaceId)?.body.defaults?.user_api_key_config;
    if (typeof theirs === 'string') return { config: theirs, owner: 'the workspace', mayOverride };
  }
  return mayOverride ? undefined : { config: undefined, owner: 'the API key', mayOverride };
}
