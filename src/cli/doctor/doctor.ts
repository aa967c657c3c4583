// `sluice doctor`: looks at what a gateway needs, changes nothing, and says what is wrong and what to do.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Settings } from '../../settings.ts';
import { lockDataDir } from '../../store/sqlite/data-dir.ts';
import type { Check, Finding, Patient } from './check.ts';
import { CHECKS } from './checks.ts';

/** What a check came to. */
interface Result {
  readonly name: string;
  readonly status: 'ok' | 'ill';
  readonly looked: string;
  readonly findings: readonly Finding[];
}

/**
 * Runs all checks and prints what they found. Resolves with whether all is well.
 * @param args `--data-dir`: an embedded data folder, whatever the settings say; `--json`: one object
 */
export async function doctor(
  args: readonly string[],
  read: () => Settings,
  print: (text: string) => void,
): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { 'data-dir': { type: 'string' }, json: { type: 'boolean', default: false } },
  });
  const given = values['data-dir'];
  if (given !== undefined && !existsSync(given)) throw new Error(`--data-dir: there is no folder ${given}`);
  const settings = read();
  const patient = patientOf(
    given === undefined
      ? settings
      : { ...settings, dataDir: given, mongodbUri: undefined, redisUrl: undefined },
  );
  const results: Result[] = [];
  for (const check of CHECKS) results.push(...(await resultOf(check, patient)));
  const healthy = results.every(({ status }) => status === 'ok');
  if (values.json) print(`${JSON.stringify({ healthy, checks: results })}\n`);
  else for (const result of results) print(linesOf(result));
  return healthy;
}

function patientOf(settings: Settings): Patient {
  const { mongodbUri, dataDir } = settings;
  return { settings, running: mongodbUri === undefined && existsSync(dataDir) && isHeld(dataDir) };
}

/** Whether a gateway has the folder. */
function isHeld(dataDir: string): boolean {
  try {
    lockDataDir(dataDir).release();
    return false;
  } catch {
    return true;
  }
}

async function resultOf(check: Check, patient: Patient): Promise<Result[]> {
  const { name } = check;
  try {
    const verdict = await check.run(patient);
    if (verdict === undefined) return [];
    return [{ name, status: verdict.findings.length === 0 ? 'ok' : 'ill', ...verdict }];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ name, status: 'ill', looked: '', findings: [{ why, todo: 'See what it says.' }] }];
  }
}

function linesOf({ name, status, looked, findings }: Result): string {
  const lines = findings.map(({ why, todo }) => `      ${why}\n      ${todo}\n`);
  return `${status.padEnd(4)}  ${name}: ${looked}\n${lines.join('')}`;
}
