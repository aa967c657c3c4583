// A whole gateway on a free port with its own data folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app.ts';
import { readSettings } from '../../src/settings.ts';
import { createLog } from '../../src/telemetry/log.ts';

export const ADMIN_KEY = 'slk_test_admin_key_0123456789abcdef';
export const WORKSPACE_KEY = 'slk_test_workspace_key_0123456789ab';

export interface TestGateway {
  readonly app: App;
  readonly port: number;
  /** http://127.0.0.1:port */
  readonly origin: string;
  /** Log lines so far, as they would be printed. */
  readonly logLines: string[];
  close(): Promise<void>;
}

/** Starts a gateway. `env` overrides its environment. */
export async function startGateway(env: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  const dataDir = env.GATEWAY_DATA_DIR ?? mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const logLines: string[] = [];
  const log = createLog(env.LOG_LEVEL ?? 'debug', { write: (line: string) => void logLines.push(line) });
  const app = await startApp(
    readSettings({
      PORT: '0',
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
      GATEWAY_DRAIN_SECONDS: '5',
      ...env,
    }),
    log,
  );
  const { port } = app.address;
  return {
    app,
    port,
    origin: `http://127.0.0.1:${port}`,
    logLines,
    async close() {
      await app.stop();
      if (env.GATEWAY_DATA_DIR === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
