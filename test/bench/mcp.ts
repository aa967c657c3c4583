// node test/bench/mcp.ts: what the MCP gateway adds to a tool call in each pairing of generations, and what open sessions
// take. Calls go to the server directly and through the gateway in turn, so that both see the same machine; what the
// gateway's process computes for a call is measured beside it, and holds on a busy machine, too.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, processTreeMb } from './child.ts';
import { BenchClient, type Era } from './mcp-client.ts';
import { median } from './median.ts';
import { ADMIN_KEY, type Sluice, startSluice } from './sluice.ts';

const ERAS: readonly Era[] = ['older', 'newer'];
const CALLS = 600;
const WARM_CALLS = 200;
const SESSIONS = 500;
const MOST_MS = 2;
const MOST_MB = 300;

type Addresses = Readonly<Record<Era, string>>;

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mcp-bench-'));
  const upstreams = spawn(process.execPath, [fileURLToPath(new URL('mcp-upstreams.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let sluice: Sluice | undefined;
  try {
    const [line] = (await once(createInterface(upstreams.stdout), 'line')) as [string];
    const addresses = JSON.parse(line) as Addresses;
    const profileDir = process.argv.includes('--profile') ? process.cwd() : undefined;
    sluice = await startSluice(folder, profileDir);
    for (const era of ERAS) await addServer(sluice, era, addresses[era]);
    console.log(`load of the machine: ${(loadavg()[0] ?? 0).toFixed(1)}`);
    let holds = true;
    for (const client of ERAS)
      for (const server of ERAS) holds = (await latency(sluice, addresses, client, server)) && holds;
    for (const client of ERAS)
      for (const server of ERAS) holds = (await sessions(sluice, client, server)) && holds;
    return holds;
  } finally {
    await sluice?.child.stop();
    upstreams.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function addServer({ origin }: Sluice, slug: Era, url: string): Promise<void> {
  const call = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${origin}/v1${path}`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ name: slug, slug, workspace_id: 'default', ...body }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  await call('/mcp-integrations', { url, transport: 'http', auth_type: 'none' });
  await call('/mcp-servers', { mcp_integration_id: slug });
}

function clientOf(sluice: Sluice, client: Era, server: Era): BenchClient {
  const { 'x-gateway-api-key': key = '' } = sluice.headers(0);
  return new BenchClient(`${sluice.origin}/${server}/mcp`, client, { 'x-gateway-api-key': key });
}

/** One call to the server in its own generation, one through the gateway, in turn. */
async function latency(sluice: Sluice, addresses: Addresses, client: Era, server: Era): Promise<boolean> {
  const direct = new BenchClient(addresses[server], server, {});
  const through = clientOf(sluice, client, server);
  try {
    await direct.begin();
    await through.begin();
    for (let i = 0; i < WARM_CALLS; i++) {
      await direct.call();
      await through.call();
    }
    const took: { direct: number[]; through: number[] } = { direct: [], through: [] };
    const before = cpuSeconds(sluice.child.pid);
    for (let i = 0; i < CALLS; i++) {
      took.direct.push(await direct.call());
      took.through.push(await through.call());
    }
    const cpuMs = ((cpuSeconds(sluice.child.pid) - before) * 1000) / CALLS;
    const added = median(took.through) - median(took.direct);
    const holds = added < MOST_MS;
    console.log(
      `${mark(holds)} ${client} client at ${server} server: added ${added.toFixed(2)} ms at the median ` +
        `(direct ${median(took.direct).toFixed(2)}, through ${median(took.through).toFixed(2)}), ` +
        `processor time of the gateway ${cpuMs.toFixed(2)} ms a call; less than ${MOST_MS} ms`,
    );
    return holds;
  } finally {
    direct.close();
    through.close();
  }
}

/** Clients with a session and an open stream of notices each. */
async function sessions(sluice: Sluice, client: Era, server: Era): Promise<boolean> {
  const before = processTreeMb(sluice.child.pid);
  const clients = Array.from({ length: SESSIONS }, () => clientOf(sluice, client, server));
  try {
    for (const one of clients) {
      await one.begin();
      await one.call();
      await one.listen();
    }
    const grown = processTreeMb(sluice.child.pid) - before;
    const open = clients.filter(({ isListening }) => isListening).length;
    const holds = open === SESSIONS && grown <= MOST_MB;
    console.log(
      `${mark(holds)} ${open} of ${SESSIONS} sessions, ${client} clients at the ${server} server: ` +
        `${grown.toFixed(0)} MB more; within ${MOST_MB} MB`,
    );
    return holds;
  } finally {
    for (const one of clients) one.close();
  }
}

function mark(holds: boolean): string {
  return holds ? 'ok  ' : 'FAIL';
}

process.exitCode = (await main()) ? 0 : 1;
