// Which test files share a process. Each entry of test/groups/ is a group by its name, e.g. `contract-2.test.ts`.
import { globSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of all tests, with a slash at the end. */
export const TESTS = new URL('../../', import.meta.url);
const FOLDER = fileURLToPath(TESTS);

/** Rooms whose files share processes, and how many: what takes long is cut into parts that run side by side. */
const PARTS: Readonly<Record<string, number>> = {
  access: 3,
  architecture: 1,
  checks: 1,
  cli: 1,
  clients: 1,
  console: 1,
  contract: 4,
  cves: 1,
  edge: 2,
  inference: 2,
  ledger: 3,
  lib: 1,
  mcp: 2,
  store: 3,
  telemetry: 1,
};

/** Rooms that are small: one process for all of them. */
const SMALL = ['admin', 'openapi', 'prompts', 'providers', 'rest', 'rpc', 'saved', 'secrets'];

/** Files that need a process of their own, and why. */
const ALONE: Readonly<Record<string, string>> = {
  'clients/generated': 'other programs, for minutes',
  'console/build': 'loads the bundler',
  'openapi/linters': 'other programs, for minutes',
  'lib/memory': 'measures the memory of its process',
  'mcp/conformance': "waits for a suite's own processes",
  'mcp/oauth-conformance': "waits for a suite's own processes",
  'store/lazy-worker': 'counts the threads of its process',
  'telemetry/off': 'looks at the modules that its process loads',
};

/**
 * What takes longest begins first, so that no core rests at the end: paths as `nameOf` gives them, by the time that they
 * take in a run of all.
 */
export const LONGEST: readonly string[] = [
  'groups/store-3',
  'groups/clients-1',
  'groups/store-1',
  'groups/console-1',
  'groups/small',
  'clients/generated',
  'openapi/linters',
  'mcp/conformance',
  'mcp/oauth-conformance',
  'build/code-cache',
  'groups/edge-1',
  'groups/ledger-2',
  'groups/ledger-1',
  'groups/edge-2',
  'groups/contract-4',
  'groups/store-2',
  'groups/mcp-1',
  'groups/access-2',
  'groups/ledger-3',
  'groups/contract-2',
  'groups/contract-3',
  'groups/access-3',
  'docs/guides',
  'groups/mcp-2',
  'groups/contract-1',
  'ledger-proof/ledger-proof',
  'groups/access-1',
  'groups/cves-1',
  'build/package',
  'groups/cli-1',
];

/** The test files of each group by the group's name. */
export function groups(): Map<string, string[]> {
  const found = new Map<string, string[]>([['small', SMALL.flatMap(filesIn)]]);
  for (const [room, parts] of Object.entries(PARTS)) {
    const files = filesIn(room);
    for (let part = 0; part < parts; part++) {
      found.set(
        `${room}-${part + 1}`,
        files.filter((_, i) => i % parts === part),
      );
    }
  }
  return found;
}

/** The files of the group with this entry. @throws Error when there is no such group */
export function filesOf(entry: string): string[] {
  const name = basename(entry, '.test.ts');
  const files = groups().get(name);
  if (files === undefined) throw new Error(`no group ${name}: see test/support/together/groups.ts`);
  return files;
}

/** What ava is given for all tests, the longest first: the groups' entries, and the files that are in no group. */
export function entries(): string[] {
  const grouped = groups();
  const inside = new Set([...grouped.values()].flat());
  const single = globSync('*/**/*.test.ts', { cwd: FOLDER })
    .filter((path) => !path.startsWith(`groups${sep}`))
    .map((path) => join(FOLDER, path));
  const all = [
    ...[...grouped.keys()].map((name) => join(FOLDER, 'groups', `${name}.test.ts`)),
    ...single.filter((path) => !inside.has(path)).sort(),
  ];
  return all.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function placeOf(path: string): number {
  const place = LONGEST.indexOf(nameOf(path));
  return place === -1 ? LONGEST.length : place;
}

/** A file's path below the tests without `.test.ts`, with slashes. */
export function nameOf(path: string): string {
  return relative(FOLDER, path)
    .split(sep)
    .join('/')
    .replace(/\.test\.ts$/, '');
}

function filesIn(room: string): string[] {
  return globSync(`${room}/**/*.test.ts`, { cwd: FOLDER })
    .map((path) => join(FOLDER, path))
    .filter((path) => !Object.hasOwn(ALONE, nameOf(path)))
    .sort();
}
