// The scenarios, read off their folder.
import { readdirSync } from 'node:fs';
import type { Scenario } from './scenario.ts';

const FOLDER = new URL('scenarios/', import.meta.url);

/** All scenarios by name. @throws Error when a file is not named after its scenario */
export async function readScenarios(): Promise<Scenario[]> {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.ts'));
  return Promise.all(
    files.sort().map(async (file) => {
      const { default: scenario } = (await import(new URL(file, FOLDER).href)) as { default: Scenario };
      if (`${scenario.name}.ts` !== file)
        throw new Error(`scenarios/${file} holds the scenario ${scenario.name}`);
      return scenario;
    }),
  );
}
