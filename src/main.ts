#!/usr/bin/env node
// The `sluice` command: reads the environment, starts, stops on a signal.
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { bootstrap, type Tenancy } from './access/bootstrap.ts';
import { createKey } from './access/keys.ts';
import type { KeyKind } from './access/principal.ts';
import { INFERENCE_SCOPES, scopesOf } from './access/scopes.ts';
import { openStores, startApp, telling } from './app.ts';
import { readSettings } from './settings.ts';

const USAGE = `usage:
  sluice start
  sluice keys create --name NAME [--kind organisation-service|workspace-service] [--scopes a,b]
`;

async function start(): Promise<void> {
  const settings = readSettings(process.env);
  const log = pino({ level: settings.logLevel });
  const app = await startApp(settings, log);
  const scheme = settings.tls ? 'https' : 'http';
  const host = app.address.family === 'IPv6' ? `[${app.address.address}]` : app.address.address;
  process.stdout.write(
    `Sluice listens on ${scheme}://${host}:${app.address.port} (REST under /v1, gRPC, docs under /docs)\n`,
  );
  showNewKeys(app.tenancy, process.stdout);

  let stopping = false;
  const stop = (signal: string): void => {
    // A second signal does not wait for open calls.
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'draining');
    app.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, 'the stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
}

/** Keys made just now are shown here and nowhere else, ever. */
function showNewKeys({ newAdminKey, newWorkspaceKey }: Tenancy, out: NodeJS.WritableStream): void {
  if (newAdminKey) out.write(`Admin API key, shown once:     ${newAdminKey}\n`);
  if (newWorkspaceKey) out.write(`Workspace API key, shown once: ${newWorkspaceKey}\n`);
}

async function createKeyCommand(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: { type: 'string' },
      kind: { type: 'string', default: 'workspace-service' },
      scopes: { type: 'string' },
    },
  });
  const kind = values.kind as KeyKind;
  if (!values.name || !['organisation-service', 'workspace-service'].includes(kind)) throw new Error(USAGE);
  const settings = readSettings(process.env);
  const { store, state, hasher, close } = await openStores(settings);
  try {
    const publish =
      state &&
      telling(
        state,
        () =>
          void process.stderr.write('Other instances were not told; they know the key after a restart.\n'),
      );
    const facts = { documents: store.documents, hasher, now: Date.now, publish };
    const tenancy = await bootstrap(facts, {
      adminKey: settings.adminApiKey,
      workspaceKey: settings.apiKey,
    });
    showNewKeys(tenancy, process.stderr);
    const { organisationId, workspaceId } = tenancy;
    const organisationWide = kind === 'organisation-service';
    const secret = await createKey(facts, {
      name: values.name,
      kind,
      organisationId,
      workspaceId: organisationWide ? undefined : workspaceId,
      scopes: values.scopes?.split(',') ?? (organisationWide ? scopesOf(kind) : INFERENCE_SCOPES),
    });
    process.stdout.write(`${secret}\n`);
  } finally {
    await close();
  }
}

async function main([command, ...rest]: readonly string[]): Promise<void> {
  if (command === 'start') return start();
  if (command === 'keys' && rest[0] === 'create') return createKeyCommand(rest.slice(1));
  throw new Error(USAGE);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
