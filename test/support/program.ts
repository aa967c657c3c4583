// The program that tests start in processes of their own.
import { fileURLToPath } from 'node:url';

/**
 * The path of what `node` is given: the build where a run of the tests has made sure that it is fresh (a start takes
 * half the CPU), else the sources.
 */
export const PROGRAM =
  process.env.SLUICE_TEST_PROGRAM ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url));
