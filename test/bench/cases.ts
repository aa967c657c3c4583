// The cases: what each sends, and what must hold of it.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { residentMb, run } from './child.ts';
import { everythingOn } from './everything-on.ts';
import { hasWrk, LOAD, own } from './generate-load.ts';
import type { IdleJob, Shot } from './jobs.ts';
import type { Lab, Target, TargetName } from './lab.ts';
import { median } from './median.ts';
import { memory } from './memory.ts';
import { formStream, formWhole } from './messages.ts';
import type { CaseName, Options } from './options.ts';
import { BIG_BODY_BYTES, chatRequest, STREAM_EVENTS, type StreamKind, streamRequest } from './payloads.ts';
import { type CaseReport, rounded, type Verdict } from './report.ts';
import { type Measured, measure, ratioOf } from './rounds.ts';
import { start } from './start.ts';

/** Runs one case. */
export type Case = (lab: Lab, options: Options) => Promise<CaseReport>;

const CONNECTIONS = 32;
const IDLE_STREAMS = 1000;

export const cases: Readonly<Record<CaseName, Case>> = {
  'in-process': inProcess,
  'chat-small': (lab, options) => chat(lab, options, 'chat-small', 500),
  'chat-large': (lab, options) => chat(lab, options, 'chat-large', 50_000),
  'chat-config': (lab, options) => chat(lab, options, 'chat-config', 500, byConfig),
  streams: (lab, options) =>
    streams(
      lab,
      options,
      'streams',
      'burst',
      `${STREAM_EVENTS} events at once, ${CONNECTIONS} streams at a time`,
      {
        connections: CONNECTIONS,
      },
    ),
  'streams-paced': (lab, options) =>
    streams(
      lab,
      options,
      'streams-paced',
      'paced',
      `${STREAM_EVENTS} events, one in 10 ms, 100 streams at a time`,
      {
        connections: 100,
        count: 100,
      },
    ),
  'messages-whole': (lab, options) => formWhole(lab, options, 'messages'),
  'messages-stream': (lab, options) => formStream(lab, options, 'messages'),
  'responses-whole': (lab, options) => formWhole(lab, options, 'responses'),
  'responses-stream': (lab, options) => formStream(lab, options, 'responses'),
  'first-event': firstEvent,
  'pass-through': passThrough,
  'idle-streams': idleStreams,
  'everything-on': everythingOn,
  memory,
  start,
};

/** The chat request that a target is sent. */
export function chatShot(target: Target, bytes: number): Shot {
  return {
    url: `${target.origin}/v1/chat/completions`,
    method: 'POST',
    headers: target.headers,
    body: chatRequest(bytes),
  };
}

/** This gateway is told by an inline config of one target what the others are told by headers. */
function byConfig(target: Target): Target {
  if (target.name !== 'sluice') return target;
  const {
    'x-gateway-provider': provider,
    'x-gateway-custom-host': custom_host,
    authorization = '',
    ...headers
  } = target.headers;
  const config = { provider, custom_host, api_key: authorization.replace('Bearer ', '') };
  return { ...target, headers: { ...headers, 'x-gateway-config': JSON.stringify(config) } };
}

/** A request for a stream. */
export function streamShot(target: Target, kind: StreamKind): Shot {
  return {
    url: `${target.origin}/v1/chat/completions`,
    method: 'POST',
    headers: target.headers,
    body: streamRequest(kind),
  };
}

async function chat(
  lab: Lab,
  options: Options,
  name: CaseName,
  bytes: number,
  changed: (target: Target) => Target = (target) => target,
): Promise<CaseReport> {
  const targets = lab.targets('chat').filter((target) => target.name !== 'nginx unbuffered');
  const measured = await measure(lab, options, targets, {
    connections: CONNECTIONS,
    shot: (target) => chatShot(changed(target), bytes),
  });
  const how = name === 'chat-config' ? ', by an inline config' : '';
  return {
    name,
    title: `Chat${how}, prompt of ${bytes / 1000} KB, answer of 0.5 KB, ${CONNECTIONS} connections`,
    measured,
    verdicts: [
      atLeast(`chat ${bytes / 1000} KB${how}, times the reference's rate`, measured, 'reference', 5),
      atLeast(`chat ${bytes / 1000} KB${how}, of nginx's rate`, measured, 'nginx', 0.25),
    ],
    faults: faultsOf(measured),
  };
}

async function streams(
  lab: Lab,
  options: Options,
  name: CaseName,
  kind: StreamKind,
  title: string,
  load: { readonly connections: number; readonly count?: number },
): Promise<CaseReport> {
  const measured = await measure(lab, options, lab.targets('stream'), {
    ...load,
    brief: true,
    shot: (target) => ({ ...streamShot(target, kind), events: STREAM_EVENTS }),
  });
  return { name, title: `Streams, ${title}`, measured, verdicts: [], faults: faultsOf(measured) };
}

async function passThrough(lab: Lab, options: Options): Promise<CaseReport> {
  // The reference is left out: it reads such answers whole, and nothing is asked of the comparison.
  const targets = lab.targets('chat').filter((target) => target.name !== 'reference');
  const measured = await measure(lab, options, targets, {
    connections: 4,
    brief: true,
    shot: (target) => ({
      url: `${target.origin}/v1/files/big/content`,
      method: 'GET',
      headers: target.headers,
      bytes: BIG_BODY_BYTES,
    }),
  });
  return {
    name: 'pass-through',
    title: 'Pass-through of 10 MB, 4 connections (nginx as it buffers by default, and unbuffered)',
    measured,
    verdicts: [atLeast("pass-through of 10 MB, of nginx's rate", measured, 'nginx', 0.4)],
    faults: faultsOf(measured),
  };
}

async function firstEvent(lab: Lab, options: Options): Promise<CaseReport> {
  const targets = lab.targets('stream').filter((target) => target.name !== 'reference');
  const count = options.quick ? 150 : 500;
  const times = await own<number[][]>({
    kind: 'first-event',
    shots: targets.map((target) => streamShot(target, 'first')),
    count,
  });
  const at = (name: TargetName): number | undefined => {
    const index = targets.findIndex((target) => target.name === name);
    return index === -1 ? undefined : median(times[index]!);
  };
  const direct = at('direct')!;
  const added = at('sluice')! - direct;
  const nginx = at('nginx');
  lab.tally.answers += count + Math.ceil(count / 5);
  return {
    name: 'first-event',
    title: `Time to the first event, ${count} streams one after the other, medians in ms`,
    figures: {
      direct,
      ...(nginx === undefined ? {} : { 'added by nginx (unbuffered)': nginx - direct }),
      'added by sluice': added,
    },
    verdicts: [
      {
        rule: 'time to first event added over a direct call, median, at most 2 ms',
        found: `${added.toFixed(3)} ms`,
        holds: added <= 2,
      },
    ],
    faults: [],
  };
}

interface Memory {
  /** MB after the start, after some short streams, and with the idle streams open. */
  readonly fresh: number | undefined;
  readonly used: number | undefined;
  readonly during: number | undefined;
  readonly stillOpen: number;
}

/** The worst of three gateways: when garbage is collected decides more than the streams do. */
async function idleStreams(lab: Lab, options: Options): Promise<CaseReport> {
  const found: Memory[] = [];
  for (let i = 0; i < (options.quick ? 1 : 3); i++) found.push(await idleMemory(lab));
  const worst = found.reduce((a, b) => ((b.during ?? 0) > (a.during ?? 0) ? b : a));
  const stillOpen = Math.min(...found.map((memory) => memory.stillOpen));
  const { fresh, used, during } = worst;
  return {
    name: 'idle-streams',
    title: `${IDLE_STREAMS} open streams, idle after their first event: resident memory in MB`,
    figures: {
      'after the start': fresh ?? 0,
      'after 200 short streams': used ?? 0,
      'with the streams open': during ?? 0,
      'with the streams open, best': Math.min(...found.map((memory) => memory.during ?? 0)),
    },
    verdicts: [
      {
        rule: `${IDLE_STREAMS} open streams within 350 MB of resident memory`,
        found: during === undefined ? 'no /proc here' : `${rounded(during)} MB`,
        holds: during === undefined ? undefined : during <= 350 && stillOpen === IDLE_STREAMS,
      },
    ],
    faults:
      stillOpen === IDLE_STREAMS ? [] : [`${IDLE_STREAMS - stillOpen} idle streams ended by themselves`],
  };
}

/** With a gateway of its own: what other cases left in memory is not the streams'. */
async function idleMemory(lab: Lab): Promise<Memory> {
  const sluice = await lab.anotherSluice();
  try {
    const { pid } = sluice.child;
    const { origin } = sluice;
    const target: Target = { name: 'sluice', origin, headers: sluice.headers(lab.streamPort), pid };
    const fresh = residentMb(pid);
    await own({ kind: 'closed', shot: streamShot(target, 'burst'), connections: 8, count: 200 });
    const used = residentMb(pid);
    const job: IdleJob = { kind: 'idle', shot: streamShot(target, 'idle'), streams: IDLE_STREAMS };
    const { during, stillOpen } = await heldIdle(job, async () => {
      await sleep(1000);
      return residentMb(pid);
    });
    return { fresh, used, during, stillOpen };
  } finally {
    await sluice.child.stop();
  }
}

/** Holds idle streams open while `look` looks. */
export async function heldIdle<T>(
  job: IdleJob,
  look: () => Promise<T>,
): Promise<{ during: T; stillOpen: number }> {
  const child = spawn(process.execPath, [LOAD], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    child.stdin.write(`${JSON.stringify(job)}\n`);
    const line = await lines.next();
    if (line.done || line.value !== 'open') throw new Error('the idle streams could not be opened');
    const during = await look();
    child.stdin.write('end\n');
    return { during, stillOpen: Number((await lines.next()).value) };
  } finally {
    child.kill();
  }
}

async function inProcess(_lab: Lab, options: Options): Promise<CaseReport> {
  const script = fileURLToPath(new URL('in-process.ts', import.meta.url));
  const batches = options.quick ? 7 : 15;
  const found = JSON.parse(await run(process.execPath, [script, String(batches), '20000'])) as {
    clock: number;
    processor: number;
  }[];
  const clock = found.map((batch) => batch.clock);
  const us = median(clock);
  return {
    name: 'in-process',
    title: `A call from within, all interceptors, ${batches} batches of 20,000: microseconds a call`,
    figures: {
      'by the clock, median': us,
      'by the clock, best': Math.min(...clock),
      'by the clock, worst': Math.max(...clock),
      'of processor time, all threads, median': median(found.map((batch) => batch.processor)),
    },
    verdicts: [{ rule: 'a call from within under 15 us', found: `${us.toFixed(2)} us`, holds: us < 15 }],
    faults: [],
  };
}

export function atLeast(rule: string, measured: readonly Measured[], to: TargetName, least: number): Verdict {
  const row = (name: TargetName): Measured | undefined => measured.find(({ target }) => target === name);
  const ratio = ratioOf(row('sluice'), row(to));
  return {
    rule: `${rule}, at least ${least}`,
    found: ratio?.toFixed(3) ?? 'no figure',
    holds: ratio === undefined ? undefined : ratio >= least,
  };
}

/** Wrong answers of anybody but the reference spoil the figures. */
export function faultsOf(measured: readonly Measured[]): string[] {
  return measured
    .filter((row) => row.target !== 'reference' && (row.wrong > 0 || row.perSecond === 0))
    .map((row) => `${row.target}: ${row.wrong} wrong answers or failures`);
}

/** Where the generator is ours, rates above its own are not seen. */
export const generatorNote = hasWrk
  ? undefined
  : 'wrk is not on the PATH: loads come from Node.js, which is slower than nginx';
