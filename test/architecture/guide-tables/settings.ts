import { tableOf } from './cell.ts';
import { SETTINGS } from './setting-rows.ts';

/** The operating guide's table. */
export function settingsTable(): string {
  return tableOf(
    ['variable', 'default', 'meaning'],
    SETTINGS.map(({ names, standard, meaning }) => [
      names.map((name) => `\`${name}\``).join(', '),
      standard,
      meaning,
    ]),
  );
}
