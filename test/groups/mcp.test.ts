import { runTogether } from '../support/together/run-together.ts';

await runTogether(import.meta.url);
