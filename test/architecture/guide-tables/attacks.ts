import { readScenarios } from '../../chaos/scenarios.ts';
import { tableOf } from './cell.ts';

/** The security guide's table, from the chaos scenarios. */
export async function attacksTable(): Promise<string> {
  const scenarios = await readScenarios();
  return tableOf(
    ['attack', 'bound', 'test', 'command'],
    scenarios.map(({ name, attack, bound, test }) => [
      attack,
      bound,
      `\`${test}\``,
      `\`npm run chaos -- --only ${name}\``,
    ]),
  );
}
