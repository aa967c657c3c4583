// `sluice keys create|recover`: keys, of a gateway that runs or of a store that no gateway has open.
import { ensureFirstKeys, ensureTenancy, type FirstKeys, storeGivenKeys } from '../access/bootstrap.ts';
import { createKey } from '../access/keys.ts';
import { INFERENCE_SCOPES, scopesOf } from '../access/scopes.ts';
import type { KeyKind } from '../call/principal.ts';
import { controlPath, reachesControl } from '../lib/control-socket.ts';
import { readSettings } from '../settings.ts';
import { type Remote, withGateway } from './client.ts';
import * as lists from './list-commands.ts';
import type { Terminal } from './output.ts';
import { type Options, optional, remoteOf } from './remote-options.ts';

/** Keys that the gateway made are shown here and nowhere else, at each start until they were used. */
function showFirstKeys({ admin, workspace }: FirstKeys, tell: Terminal['tell']): void {
  if (admin) tell(`Admin API key, shown until it is used once:     ${admin.secret}`);
  if (workspace) tell(`Workspace API key, shown until it is used once: ${workspace.secret}`);
}

/** Makes a key and prints it. */
export async function createKeyCommand(options: Options, terminal: Terminal): Promise<void> {
  const { env, out } = terminal;
  const { name, kind = 'workspace-service', scopes, workspace, json } = options;
  if (typeof name !== 'string' || name === '') throw new Error('--name is needed: what people call the key');
  if (kind !== 'organisation-service' && kind !== 'workspace-service')
    throw new Error('--kind must be organisation-service or workspace-service');
  const asked: lists.NewKeyOptions = {
    ...remoteOf(options),
    name,
    kind,
    ...optional({ scopes, workspace }),
  };
  const made = (await isRemote(asked, env))
    ? await withGateway(asked, env, (gateway) =>
        lists.createKey(gateway, asked, kind === 'organisation-service' ? scopesOf(kind) : INFERENCE_SCOPES),
      )
    : await createStoredKey(name, kind, asked.scopes, terminal);
  if (json) out.json({ id: made.id, key: made.key });
  else out.line(made.key);
}

/** Whether a gateway is asked; else the store is opened, which no gateway has open. */
async function isRemote({ url, dataDir }: Remote, env: Terminal['env']): Promise<boolean> {
  if (url !== undefined || dataDir !== undefined || (env.SLUICE_URL ?? '') !== '') return true;
  const settings = readSettings(env);
  return settings.mongodbUri === undefined && reachesControl(controlPath(settings.dataDir));
}

async function createStoredKey(
  name: string,
  kind: KeyKind,
  scopes: string | undefined,
  { env, tell }: Terminal,
): Promise<{ readonly id: string; readonly key: string }> {
  const settings = readSettings(env);
  const { openStores } = await import('../app/stores.ts');
  const { documents, hasher, close } = await openStores(settings);
  try {
    const facts = { documents, hasher, now: Date.now };
    const given = { adminKey: settings.adminApiKey, workspaceKey: settings.apiKey };
    const tenancy = await ensureTenancy(facts);
    await storeGivenKeys(facts, tenancy, given);
    showFirstKeys(await ensureFirstKeys(facts, tenancy, given), tell);
    const { organisationId, workspaceId } = tenancy;
    const organisationWide = kind === 'organisation-service';
    let id = '';
    const key = await createKey(
      facts,
      {
        name,
        kind,
        organisationId,
        workspaceId: organisationWide ? undefined : workspaceId,
        scopes: scopes?.split(',') ?? (organisationWide ? scopesOf(kind) : INFERENCE_SCOPES),
      },
      ({ document }) => {
        id = document.id;
        return [];
      },
    );
    return { id, key };
  } finally {
    await close();
  }
}

/** New keys for who has lost theirs; the earlier ones count until they are revoked. */
export async function recoverCommand(options: Options, { env, out }: Terminal): Promise<void> {
  const remote = remoteOf(options);
  const made = await withGateway(remote, env, async (gateway) => ({
    admin: await lists.createKey(
      gateway,
      { name: 'Recovered admin key', kind: 'organisation-service' },
      scopesOf('organisation-service'),
    ),
    workspace: await lists.createKey(
      gateway,
      { name: 'Recovered workspace key', kind: 'workspace-service' },
      INFERENCE_SCOPES,
    ),
  }));
  if (options.json) return out.json(made);
  out.line(`Admin API key:     ${made.admin.key}`);
  out.line(`Workspace API key: ${made.workspace.key}`);
  out.line('Earlier keys still count: sluice keys list, sluice keys revoke ID.');
}
