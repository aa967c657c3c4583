import { ENVIRONMENT_PROVIDERS } from '../../../src/providers/from-environment.ts';
import { tableOf } from './cell.ts';

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** The providers guide's table of what the environment makes. */
export function environmentTable(): string {
  return tableOf(
    ['slug', 'provider', 'variables', 'optional'],
    ENVIRONMENT_PROVIDERS.map(({ slug, providerId, variables, optional }) => [
      code([slug]),
      providerId,
      code(variables),
      code(optional),
    ]),
  );
}
