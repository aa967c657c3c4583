// The table of settings and the code that reads them name the same variables.
import test from 'ava';
import { ENVIRONMENT_PROVIDERS } from '../../src/providers/from-environment.ts';
import { readSettings } from '../../src/settings.ts';
import { SETTINGS } from './guide-tables/setting-rows.ts';

/** Every variable that reading the settings looks up. Lower-case names are other spellings of the same. */
function looksUp(): Set<string> {
  const names = new Set<string>();
  const env = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get(_, name) {
        if (typeof name === 'string') names.add(name);
        return undefined;
      },
    },
  );
  readSettings(env);
  return new Set([...names].filter((name) => name === name.toUpperCase()));
}

/** Of the identities of clouds: documented with the secret managers that use them. */
const OF_CLOUDS = /^(?:AWS|AZURE|IDENTITY|GOOGLE|VAULT|KUBERNETES|MSI)_/;

/** Of providers: the providers' guide has a table of them. */
const OF_PROVIDERS = ENVIRONMENT_PROVIDERS.flatMap(({ variables, optional }) => [...variables, ...optional]);

test('each variable that is read has one row, and each row a variable that is read', (t) => {
  const rows = SETTINGS.flatMap(({ names }) => names);
  t.is(new Set(rows).size, rows.length);
  const read = looksUp();
  t.true(read.has('GATEWAY_EGRESS_ALLOW'));
  t.deepEqual(
    [...read].filter((name) => !rows.includes(name) && !OF_CLOUDS.test(name) && !OF_PROVIDERS.includes(name)),
    [],
  );
  t.deepEqual(
    rows.filter((name) => !read.has(name)),
    [],
  );
});
