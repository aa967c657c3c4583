// Which test files share a process. Each entry of test/groups/ is a group by its name, e.g. `contract-2.test.ts`.
import { globSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of all tests, with a slash at the end. */
export const TESTS = new URL('../../', import.meta.url);
const FOLDER = fileURLToPath(TESTS);

interface Group {
  readonly rooms: readonly string[];
  /** How many processes its files are dealt to, where they take longer together than all the rest. Left out: one. */
  readonly parts?: number;
}

/**
 * Rooms whose files share a process. Few processes: each loads and compiles the app, for 4 to 5 seconds of CPU. Files that
 * wait share one with files that wait, because a group runs one file at a time.
 */
const GROUPS: Readonly<Record<string, Group>> = {
  access: { rooms: ['access'] },
  clients: { rooms: ['clients'] },
  contract: { rooms: ['contract'], parts: 2 },
  edge: { rooms: ['edge'] },
  inference: { rooms: ['inference', 'telemetry', 'cves', 'lib'] },
  ledger: { rooms: ['ledger'] },
  mcp: { rooms: ['mcp'] },
  programs: { rooms: ['cli', 'console', 'architecture', 'checks'] },
  small: { rooms: ['admin', 'openapi', 'prompts', 'providers', 'rest', 'rpc', 'saved', 'secrets'] },
  store: { rooms: ['store'], parts: 2 },
};

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
  'groups/store-2',
  'groups/clients',
  'groups/edge',
  'groups/store-1',
  'groups/ledger',
  'clients/generated',
  'groups/small',
  'groups/access',
  'groups/mcp',
  'groups/contract-1',
  'groups/contract-2',
  'openapi/linters',
  'mcp/conformance',
  'mcp/oauth-conformance',
  'groups/programs',
  'groups/inference',
  'build/code-cache',
  'docs/guides',
  'ledger-proof/ledger-proof',
  'build/package',
];

/** The test files of each group by the group's name. */
export function groups(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, { rooms, parts = 1 }] of Object.entries(GROUPS)) {
    const files = rooms.flatMap(filesIn);
    for (let part = 0; part < parts; part++) {
      found.set(
        parts === 1 ? name : `${name}-${part + 1}`,
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
