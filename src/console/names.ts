// Names of keys and of people by their ids, as far as the reader may see them. Read once for each session.
import { signal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { UsersService } from '../../gen/gateway/admin/v2/users_pb.ts';
import { client, may, session } from './api.ts';

const MOST = 1000;
const KEY_SCOPES = [
  'organisation_service_api_keys.list',
  'workspace_service_api_keys.list',
  'workspace_user_api_keys.list',
] as const;

const known = signal<ReadonlyMap<string, string>>(new Map());
/** The session that they were read for. */
let readFor = '';

/** @param isWanted whether there are ids to be named @returns the name of an id; the id where it is not known */
export function useNames(isWanted = true): (id: string) => string {
  const id = session.value?.id ?? '';
  useEffect(() => {
    if (!isWanted || id === '' || readFor === id) return;
    readFor = id;
    void read().then((names) => {
      if (readFor === id) known.value = names;
    });
  }, [isWanted, id]);
  const names = known.value;
  return useCallback((of: string) => names.get(of) ?? of, [names]);
}

async function read(): Promise<ReadonlyMap<string, string>> {
  const isOrganisation = session.value?.workspaceId === '';
  const [keys, users] = await Promise.all([
    may(...KEY_SCOPES) ? client(ApiKeysService).listApiKeys({ pageSize: MOST }).catch(none) : none(),
    isOrganisation && may('organisation_users.list')
      ? client(UsersService).listUsers({ pageSize: MOST }).catch(none)
      : none(),
  ]);
  return new Map([
    ...keys.data.map(({ id, name }) => [id, name] as const),
    ...users.data.map(({ id, email }) => [id, email] as const),
  ]);
}

const none = () => ({ data: [] });
