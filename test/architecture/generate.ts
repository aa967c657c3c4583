// `npm run generate`: gen/ from proto/, and the README's list of providers from the catalogue.
import { driftOf, generated, place } from './generated.ts';
import { placeReadmeProviders } from './readme-providers.ts';
import { guideDrift, placeGuide } from './security-guide.ts';

const first = await generated();
const changed = await driftOf(first);
await place(first);
// The OpenAPI plugin reads our annotations through gen/ itself: once these have
// changed, the document is made again with the new ones.
if (changed.length > 0) await place(await generated());
await placeReadmeProviders();
for (const line of changed) process.stdout.write(`${line}: put right\n`);
if (changed.length === 0) process.stdout.write('gen/ is as the protos generate it\n');
for (const line of await guideDrift()) process.stdout.write(`${line}: put right\n`);
await placeGuide();
