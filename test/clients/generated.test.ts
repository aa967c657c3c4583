// Clients that are generated from the OpenAPI document, in three languages, make a call each.
import test from 'ava';
import { ANSWER, generators, missing, startForClients } from './generated.ts';

let started: Awaited<ReturnType<typeof startForClients>> | undefined;

test.before(async () => {
  started = await startForClients();
});
test.after.always(() => started?.close());

for (const generator of generators)
  test.serial(`a client made by ${generator.name} makes a call`, async (t) => {
    t.timeout(900_000);
    const why = await missing(generator);
    if (why !== undefined) {
      t.log(`*** SKIPPED: ${generator.name} was NOT tested, it cannot be had: ${why} ***`);
      t.pass();
      return;
    }
    await generator.generate();
    t.true((await generator.call(started?.env ?? {})).includes(ANSWER));
  });
