// The start: from the command to the first answer that came through the gateway, and the memory of all processes of a
// gateway that rests, beside the reference in the same rounds.
import { setTimeout as sleep } from 'node:timers/promises';
import { chatShot } from './cases.ts';
import { type Child, processTreeMb } from './child.ts';
import type { Lab, Target } from './lab.ts';
import { median } from './median.ts';
import type { Options } from './options.ts';
import { startReference } from './reference.ts';
import { type CaseReport, rounded } from './report.ts';

const ROUNDS = 5;
const QUICK_ROUNDS = 2;
/** After it a gateway has given back what its start needed: V8 keeps freed pages for eight seconds more. */
const REST_MS = 16_000;
const GIVE_UP_MS = 30_000;
const MOST_MB = 120;
const MOST_TIMES = 2;

interface Start {
  readonly ms: number;
  readonly mb: number;
}

type Started = { readonly child: Child; readonly origin: string; readonly headers: Target['headers'] };

export async function start(lab: Lab, options: Options): Promise<CaseReport> {
  const upstream = lab.streamPort;
  const ways = {
    sluice: async (): Promise<Started> => {
      const { child, origin, headers } = await lab.anotherSluice();
      return { child, origin, headers: headers(upstream) };
    },
    reference: async (): Promise<Started> => {
      const { child, origin, headers } = await startReference();
      return { child, origin, headers: headers(upstream) };
    },
  };
  const found: Record<keyof typeof ways, Start[]> = { sluice: [], reference: [] };
  const faults: string[] = [];
  for (let round = 0; round < (options.quick ? QUICK_ROUNDS : ROUNDS); round++)
    for (const name of ['reference', 'sluice'] as const)
      await once(ways[name]).then(
        (one) => void found[name].push(one),
        (error: unknown) => void faults.push(`${name} did not start: ${String(error)}`),
      );
  const of = (name: keyof typeof ways, what: keyof Start): number =>
    median(found[name].map((one) => one[what]));
  const [ms, mb, theirMs] = [of('sluice', 'ms'), of('sluice', 'mb'), of('reference', 'ms')];
  const compared = found.reference.length > 0 && found.sluice.length > 0;
  return {
    name: 'start',
    title: 'start: milliseconds to the first proxied 200, and MB of all processes at rest',
    figures: {
      'Sluice, ms': ms,
      'reference, ms': theirMs,
      'Sluice at rest, MB': mb,
      'reference at rest, MB': of('reference', 'mb'),
    },
    verdicts: [
      {
        rule: `first proxied 200 within ${MOST_TIMES} times the reference's time`,
        found: compared ? `${rounded(ms / theirMs)} times` : 'no reference here',
        holds: compared ? ms <= MOST_TIMES * theirMs : undefined,
      },
      {
        rule: `at rest at most ${MOST_MB} MB`,
        found: mb > 0 ? `${rounded(mb)} MB` : 'no /proc here',
        holds: mb > 0 ? mb <= MOST_MB : undefined,
      },
    ],
    faults,
  };
}

async function once(begin: () => Promise<Started>): Promise<Start> {
  const since = performance.now();
  const { child, origin, headers } = await begin();
  try {
    await firstAnswer({ name: 'sluice', origin, headers, pid: child.pid });
    const ms = performance.now() - since;
    await sleep(REST_MS);
    return { ms, mb: processTreeMb(child.pid) };
  } finally {
    await child.stop();
  }
}

/** @throws Error when none comes */
async function firstAnswer(target: Target): Promise<void> {
  const { url, method, headers, body } = chatShot(target, 500);
  const since = performance.now();
  for (let status: number | undefined; performance.now() - since < GIVE_UP_MS; await sleep(10)) {
    const answer = await fetch(url, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: String(body),
    }).catch(() => undefined);
    status = answer?.status;
    await answer?.arrayBuffer();
    if (status === 200) return;
  }
  throw new Error('no call was answered with 200');
}
