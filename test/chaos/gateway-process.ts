// A gateway as a process of its own, whose memory, processor time and event loop are watched from outside.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, cpuSeconds, freePort, processTreeMb, startServer } from '../bench/child.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import type { StartOptions } from './scenario.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const LOOP_WATCH = new URL('loop-watch.ts', import.meta.url).href;

export interface GatewayProcess {
  readonly child: Child;
  readonly port: number;
  /** http://127.0.0.1:port */
  readonly origin: string;
  readonly dataDir: string;
  /** Resident memory of the process and its children now, in MB (10^6 bytes). */
  residentMb(): number;
  /** Processor seconds of the process so far. */
  cpuSeconds(): number;
  /** The longest turn of its event loop since the last question, in milliseconds of CPU time. */
  longestTurnMs(): Promise<number>;
  /** Whether the process lives and /healthz answers within two seconds. */
  healthy(): Promise<boolean>;
}

export async function startGatewayProcess(
  folder: string,
  env: Readonly<Record<string, string>>,
  { nodeOptions = [], dataDir = mkdtempSync(join(folder, 'data-')), built = true }: StartOptions,
): Promise<GatewayProcess> {
  const port = await freePort();
  const loopFile = join(folder, `loop-${port}.json`);
  const child = await startServer(
    process.execPath,
    [...nodeOptions, `--import=${LOOP_WATCH}`, built ? BUILT : MAIN, 'start'],
    port,
    {
      HOST: '127.0.0.1',
      PORT: String(port),
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
      GATEWAY_DRAIN_SECONDS: '2',
      LOG_LEVEL: 'warn',
      CHAOS_LOOP_FILE: loopFile,
      ...env,
    },
  );
  const origin = `http://127.0.0.1:${port}`;
  const longestTurnMs = async (): Promise<number> => {
    rmSync(loopFile, { force: true });
    process.kill(child.pid, 'SIGUSR2');
    for (let tries = 0; tries < 2000; tries++) {
      try {
        return (JSON.parse(readFileSync(loopFile, 'utf8')) as { longestMs: number }).longestMs;
      } catch {
        await sleep(5);
      }
    }
    throw new Error('the gateway does not say how long its event loop was held: it may be held now');
  };
  // What the start took is no part of an attack.
  await longestTurnMs();
  return {
    child,
    port,
    origin,
    dataDir,
    residentMb: () => processTreeMb(child.pid),
    cpuSeconds: () => cpuSeconds(child.pid),
    longestTurnMs,
    healthy: () =>
      fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(2000) }).then(
        ({ ok }) => ok,
        () => false,
      ),
  };
}
