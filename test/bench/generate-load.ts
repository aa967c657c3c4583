// Runs a closed loop: with wrk where it is present, else with our own generator.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInstalled, run } from './child.ts';
import type { ClosedJob, Job, LoadResult, Shot } from './jobs.ts';
import { STREAM_END } from './payloads.ts';

export const LOAD = fileURLToPath(new URL('load.ts', import.meta.url));
export const hasWrk = isInstalled('wrk');

/** One run of a closed loop in a process of its own. */
export function generateLoad(job: ClosedJob, folder: string): Promise<LoadResult> {
  return hasWrk && job.seconds !== undefined ? wrk(job, job.seconds, folder) : own<LoadResult>(job);
}

/** A job of our own generator. */
export async function own<T>(job: Job): Promise<T> {
  return JSON.parse(await run(process.execPath, [LOAD], `${JSON.stringify(job)}\n`)) as T;
}

async function wrk({ shot, connections }: ClosedJob, seconds: number, folder: string): Promise<LoadResult> {
  const script = join(folder, 'load.lua');
  writeFileSync(script, lua(shot));
  const out = await run('wrk', [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '30s',
    '-s',
    script,
    shot.url,
  ]);
  const line = out.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk said nothing that can be read:\n${out}`);
  const said = JSON.parse(line) as {
    requests: number;
    badStatus: number;
    socket: number;
    checkedWrong: number;
    bytes: number;
    us: number;
    p50: number;
  };
  // wrk counts an answer of a bad status among its requests; a failure of the socket is none.
  const tooShort = shot.bytes !== undefined && said.bytes < said.requests * shot.bytes;
  const wrongAnswers = tooShort ? said.requests : Math.max(said.badStatus, said.checkedWrong);
  return {
    answers: said.requests - wrongAnswers,
    wrong: wrongAnswers + said.socket,
    bytes: said.bytes,
    seconds: said.us / 1e6,
    p50Ms: said.p50 / 1000,
    cut: connections,
  };
}

/** The script: what to send, which answers are right, and the counts as JSON at the end. */
function lua({ method, headers, body, events, ending = STREAM_END }: Shot): string {
  const lines = [`wrk.method = ${quoted(method)}`];
  for (const [name, value] of Object.entries(headers))
    lines.push(`wrk.headers[${quoted(name)}] = ${quoted(value)}`);
  if (body !== undefined)
    lines.push(`wrk.headers["content-type"] = "application/json"`, `wrk.body = ${quoted(body)}`);
  lines.push('checkedWrong = 0');
  // Looking into answers costs wrk speed: only streams need it, whose status comes before their end.
  if (events !== undefined) {
    lines.push(
      `local ending = ${quoted(ending)}`,
      'function response(status, headers, body)',
      '  local found, at = 0, 1',
      '  while true do',
      '    at = body:find("data: ", at, true)',
      '    if not at then break end',
      '    found = found + 1',
      '    at = at + 6',
      '  end',
      `  if status ~= 200 or found ~= ${events + (ending === STREAM_END ? 1 : 0)} or body:sub(-#ending) ~= ending then checkedWrong = checkedWrong + 1 end`,
      'end',
    );
  }
  lines.push(
    'local threads = {}',
    'function setup(thread) table.insert(threads, thread) end',
    'function done(summary, latency, requests)',
    '  local e = summary.errors',
    '  io.write(string.format(\'\\n{"requests":%d,"badStatus":%d,"socket":%d,"checkedWrong":%d,"bytes":%d,"us":%d,"p50":%d}\\n\',',
    '    summary.requests, e.status, e.connect + e.read + e.write + e.timeout,',
    '    threads[1]:get("checkedWrong"), summary.bytes, summary.duration, latency:percentile(50)))',
    'end',
  );
  return `${lines.join('\n')}\n`;
}

/** A Lua string. JSON's escapes that occur here are Lua's as well. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
