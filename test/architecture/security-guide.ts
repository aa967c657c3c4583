// The table of attacks in the security guide, made from the chaos scenarios.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scenario } from '../chaos/scenario.ts';
import { readScenarios } from '../chaos/scenarios.ts';
import { ROOT } from './tools.ts';

const NAME = 'src/docs/security.md';
const GUIDE = join(ROOT, NAME);
const BEGIN = '<!-- scenarios: made by npm run generate from test/chaos/scenarios -->\n';
const END = '<!-- /scenarios -->';

/** One line when the guide's table differs from the scenarios. */
export async function guideDrift(): Promise<string[]> {
  const there = await readFile(GUIDE, 'utf8');
  return there === (await guide(there)) ? [] : [`${NAME} differs from what the scenarios generate`];
}

/** Writes the table into the guide. */
export async function placeGuide(): Promise<void> {
  const there = await readFile(GUIDE, 'utf8');
  const made = await guide(there);
  if (made !== there) await writeFile(GUIDE, made);
}

/** @throws Error when the guide has lost its markers */
async function guide(text: string): Promise<string> {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${NAME}: the markers of the table are missing`);
  return text.slice(0, begin + BEGIN.length) + table(await readScenarios()) + text.slice(end);
}

function table(scenarios: readonly Scenario[]): string {
  const rows = scenarios.map(
    ({ name, attack, bound, test }) =>
      `| ${cell(attack)} | ${cell(bound)} | \`${test}\` | \`npm run chaos -- --only ${name}\` |`,
  );
  return `\n| attack | bound | test | command |\n|---|---|---|---|\n${rows.join('\n')}\n\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replace(/\s+/g, ' ');
}
