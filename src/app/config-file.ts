// GATEWAY_CONFIG_FILE: declared state that is applied at the start, and again when its files change.
import { createHash } from 'node:crypto';
import { type FSWatcher, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DeclaredStateService } from '../../gen/gateway/admin/v2/declared_state_pb.ts';
import type { Tenancy } from '../access/bootstrap.ts';
import { scopesOf } from '../access/scopes.ts';
import { applyDeclared, type DeclaredStateDeps } from '../admin/declared-state/service.ts';
import { Call } from '../call/call.ts';
import { DeclaredFaults, readDeclared } from '../lib/declared-files.ts';
import { GatewayError } from '../lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../lib/gateway-headers.ts';

export interface ConfigFileDeps {
  readonly path: string;
  readonly declared: DeclaredStateDeps;
  readonly tenancy: Tenancy;
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Editors write a file in several steps. */
const SETTLE_MS = 250;
/** Instances that start together apply the same file. */
const ATTEMPTS = 6;
const PAUSE_MS = 200;

/** Applies the file and watches it. @throws DeclaredFaults with every fault; Error when there is no file */
export async function openConfigFile(deps: ConfigFileDeps): Promise<{ close(): void }> {
  const { path, log } = deps;
  await applyFile(deps);
  let seen = digestOf(path);
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const again = async (): Promise<void> => {
    const digest = digestOf(path);
    if (digest === seen) return;
    seen = digest;
    try {
      await applyFile(deps);
    } catch (error) {
      const faults = error instanceof DeclaredFaults ? error.faults : undefined;
      const why = error instanceof Error ? error.message : 'it cannot be applied';
      log.error(
        { file: path, faults, why },
        'the config file is not applied: what was declared before goes on',
      );
    }
  };
  const changed = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(again);
    }, SETTLE_MS);
    timer.unref();
  };
  const watcher = watchPath(path, changed, log);
  return {
    close() {
      clearTimeout(timer);
      watcher?.close();
    },
  };
}

/** The folder is watched: a file that is replaced would be lost from sight. */
function watchPath(path: string, changed: () => void, log: Logger): FSWatcher | undefined {
  const whole = resolve(path);
  const folder = statSync(whole).isDirectory() ? whole : dirname(whole);
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on('error', (error) => log.warn({ err: error }, 'the config file is not watched any more'));
    return watcher;
  } catch (error) {
    log.warn({ err: error }, 'the config file cannot be watched: changes count at the next start');
    return undefined;
  }
}

function digestOf(path: string): string {
  const hash = createHash('sha256');
  try {
    const isFolder = statSync(path).isDirectory();
    const files = isFolder ? readdirSync(path).filter((name) => /\.ya?ml$/i.test(name)) : [''];
    for (const name of files.sort()) hash.update(name).update(readFileSync(join(path, name)));
  } catch {
    return 'gone';
  }
  return hash.digest('hex');
}

async function applyFile({ path, declared, tenancy, log, env }: ConfigFileDeps): Promise<void> {
  const { request, placed } = readDeclared(path, env);
  for (let attempt = 1; ; attempt++) {
    try {
      const changes = await applyDeclared(declared, callOf(tenancy, request.source), request as never);
      log.info({ file: path, changes: changes.length }, 'the config file is applied');
      for (const { action, kind, name } of changes) log.info({ action, kind, name }, 'declared state');
      return;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { violations } = error.details;
      if (error.reason === 'validation_failed' && violations !== undefined)
        throw new DeclaredFaults(violations.map(placed));
      const raced = error.reason === 'conflict' || error.reason === 'version_conflict';
      if (!raced || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS * attempt * Math.random());
    }
  }
}

/** The file acts for the organisation that the gateway begins with. */
function callOf({ organisationId }: Tenancy, source: string): Call {
  const call = new Call(DeclaredStateService.method.applyDeclaredState, {
    protocol: 'in-process',
    headers: new GatewayHeaders(new HeaderNames(['x-gateway-']), {}),
    httpMethod: '',
    path: '',
    remote: '',
  });
  call.principal = {
    organisationId,
    workspaceId: undefined,
    keyId: 'config-file',
    keyName: source,
    kind: 'organisation-service',
    scopes: new Set(scopesOf('organisation-service')),
  };
  return call;
}
