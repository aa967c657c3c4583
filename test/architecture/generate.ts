// `npm run generate`: gen/ from proto/, and the tables of the guides from the code.
import { driftOf, generated, place } from './generated.ts';

const first = await generated();
const changed = await driftOf(first);
await place(first);
// The OpenAPI plugin reads our annotations through gen/ itself: once these have
// changed, the document is made again with the new ones.
if (changed.length > 0) await place(await generated());
for (const line of changed) process.stdout.write(`${line}: put right\n`);
if (changed.length === 0) process.stdout.write('gen/ is as the protos generate it\n');
// The tables are read off the code, which imports gen/: a new service is there only now.
const { placeTables, tableDrift } = await import('./guide-tables.ts');
for (const line of await tableDrift()) process.stdout.write(`${line}: put right\n`);
await placeTables();
