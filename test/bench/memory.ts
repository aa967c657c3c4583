// Memory after a burst of large prompts whose bodies are kept: what is given back, and what open streams take after that.
import { setTimeout as sleep } from 'node:timers/promises';
import { heldIdle, streamShot } from './cases.ts';
import { processTreeMb } from './child.ts';
import { own } from './generate-load.ts';
import type { LoadResult } from './jobs.ts';
import type { Lab, Target } from './lab.ts';
import type { Options } from './options.ts';
import { chatRequest } from './payloads.ts';
import { type CaseReport, rounded } from './report.ts';

const CALLS = 9600;
const PROMPT_BYTES = 50_000;
const STREAMS = 1000;
const QUIET_MS = 15_000;
const MOST_MB = 350;

/** Resident memory of the gateway and its readers: fresh, after the calls, 15 s later, and with 1,000 streams open. */
export async function memory(lab: Lab, options: Options): Promise<CaseReport> {
  const calls = options.quick ? CALLS / 4 : CALLS;
  const sluice = await lab.anotherSluice({ GATEWAY_LOG_BODIES: 'full' });
  try {
    const { origin, child } = sluice;
    const target: Target = {
      name: 'sluice',
      origin,
      headers: sluice.headers(lab.streamPort),
      pid: child.pid,
    };
    const now = (): number => processTreeMb(child.pid);
    const fresh = now();
    const shot = { ...streamShot(target, 'idle'), body: chatRequest(PROMPT_BYTES) };
    const { wrong } = await own<LoadResult>({ kind: 'closed', shot, connections: 32, count: calls });
    const loaded = now();
    await sleep(QUIET_MS);
    const later = now();
    const { during, stillOpen } = await heldIdle(
      { kind: 'idle', shot: streamShot(target, 'idle'), streams: STREAMS },
      async () => {
        await sleep(1000);
        return now();
      },
    );
    const there = fresh > 0;
    return {
      name: 'memory',
      title: `${calls} calls with prompts of ${PROMPT_BYTES / 1000} KB, bodies kept: resident memory of all processes in MB`,
      figures: {
        'after the start': fresh,
        'after the calls': loaded,
        '15 s later': later,
        [`with ${STREAMS} streams open then`]: during,
      },
      verdicts: [
        {
          rule: `${STREAMS} open streams after the calls within ${MOST_MB} MB of resident memory`,
          found: there ? `${rounded(during)} MB` : 'no /proc here',
          holds: there ? during <= MOST_MB : undefined,
        },
      ],
      faults: [
        ...(wrong > 0 ? [`${wrong} wrong answers`] : []),
        ...(stillOpen < STREAMS ? [`${STREAMS - stillOpen} idle streams ended by themselves`] : []),
      ],
    };
  } finally {
    await sluice.child.stop();
  }
}
