// Everything that is measured, started once: the upstreams, nginx as the yardstick, Sluice, the reference.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, freePort, isInstalled, startServer } from './child.ts';
import { startNginxProxy, startNginxUpstream } from './nginx.ts';
import type { Options } from './options.ts';
import { REFERENCE_VERSION, type Reference, SCRATCH, startReference } from './reference.ts';
import { type Sluice, startSluice } from './sluice.ts';

export type TargetName = 'direct' | 'nginx' | 'nginx unbuffered' | 'sluice' | 'everything on' | 'reference';

/** One way from the client to the upstream. */
export interface Target {
  readonly name: TargetName;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The process in the middle; the upstream itself for `direct`. */
  readonly pid: number;
}

/** Answers that were counted on Sluice, for the books. */
export interface Tally {
  answers: number;
  wrong: number;
  /** Requests that may have been cut when a run ended: their entries may say success or cancelled. */
  cut: number;
}

/** The running parts. */
export interface Lab {
  readonly folder: string;
  readonly sluice: Sluice;
  readonly tally: Tally;
  /** What is missing on this machine, in words. */
  readonly notes: string[];
  /** The ways to the upstream that answers at once (`chat`) or in streams. */
  targets(upstream: 'chat' | 'stream'): Target[];
  /** The upstream of streams, for calls through `anotherSluice`. */
  readonly streamPort: number;
  /** A gateway besides the one under load; ended with the rest, if not before. */
  anotherSluice(env?: Readonly<Record<string, string>>): Promise<Sluice>;
  /** Stops Sluice alone: its books are complete then. */
  stopSluice(): Promise<void>;
}

/** Starts everything, runs, and ends everything that was started, however the run ends. */
export async function withLab<T>(options: Options, use: (lab: Lab) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const children: Child[] = [];
  const end = async (): Promise<void> => {
    await Promise.all(children.map((child) => child.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  const interrupted = (): void => void end().then(() => process.exit(130));
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    return await use(await build(options, folder, children));
  } finally {
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
    await end();
  }
}

async function build(options: Options, folder: string, children: Child[]): Promise<Lab> {
  const notes: string[] = [];
  const keep = <C extends { child: Child }>(running: C): C => {
    children.push(running.child);
    return running;
  };
  const server = (child: Child): Child => keep({ child }).child;
  const script = fileURLToPath(new URL('upstream.ts', import.meta.url));
  const withNginx = isInstalled('nginx');
  const [chatPort, streamPort] = [await freePort(), await freePort()];
  const nodeUpstream = (port: number): Promise<Child> =>
    startServer(process.execPath, [script, String(port)], port);

  const streams = server(await nodeUpstream(streamPort));
  const chats = server(await (withNginx ? startNginxUpstream(folder, chatPort) : nodeUpstream(chatPort)));
  const ports = { chat: await freePort(), unbuffered: await freePort(), stream: await freePort() };
  const proxy = withNginx ? server(await startNginxProxy(folder, ports, chatPort, streamPort)) : undefined;
  if (!withNginx) notes.push('nginx is not on the PATH: no yardstick, and a slower upstream (Node.js)');
  const sluice = keep(await startSluice(folder, options.profile ? join(SCRATCH, 'profile') : undefined));
  const reference = await startReference().then(keep, (error: unknown): undefined => {
    notes.push(
      `the reference gateway ${REFERENCE_VERSION} could not be had: ${String(error).split('\n', 3).join(' ')}`,
    );
  });

  return {
    folder,
    sluice,
    tally: { answers: 0, wrong: 0, cut: 0 },
    notes,
    streamPort,
    targets: (upstream) => [
      upstream === 'chat' ? target('direct', chatPort, chats.pid) : target('direct', streamPort, streams.pid),
      ...(proxy ? [target('nginx', ports[upstream], proxy.pid)] : []),
      ...(proxy && upstream === 'chat' ? [target('nginx unbuffered', ports.unbuffered, proxy.pid)] : []),
      ...[sluice, reference].flatMap((gateway) =>
        gatewayTarget(
          gateway,
          gateway === sluice ? 'sluice' : 'reference',
          upstream === 'chat' ? chatPort : streamPort,
        ),
      ),
    ],
    anotherSluice: async (env) => keep(await startSluice(folder, undefined, env)),
    stopSluice: () => sluice.child.stop(),
  };
}

function target(name: TargetName, port: number, pid: number): Target {
  return { name, origin: `http://127.0.0.1:${port}`, headers: { authorization: 'Bearer sk-bench' }, pid };
}

function gatewayTarget(gateway: Sluice | Reference | undefined, name: TargetName, port: number): Target[] {
  if (gateway === undefined) return [];
  return [{ name, origin: gateway.origin, headers: gateway.headers(port), pid: gateway.child.pid }];
}
