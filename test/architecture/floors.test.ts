// Imports go down the floors (house.md, part 2), and what a room may lean on at all.
import test from 'ava';
import { type Source, sourcesOf } from './sources.ts';

/** Floor of each room; the longest name that fits a path is the room. */
const FLOORS: Readonly<Record<string, number>> = {
  gen: 0,
  'src/lib': 0,
  'src/call': 1,
  'src/rest': 1,
  'src/store': 1,
  'src/providers': 1,
  'src/access': 2,
  'src/ledger': 2,
  'src/inference/plan': 2,
  // A config's cache settings are read by plans as well as by the cache.
  'src/inference/cache/settings.ts': 1,
  'src/prompts': 2,
  'src/checks': 2,
  'src/secrets': 2,
  'src/configs': 2,
  'src/admin': 3,
  // It reads what calls have left behind; nothing below knows that it is watched.
  'src/telemetry': 3,
  'src/inference': 3,
  'src/mcp': 3,
  'src/rpc': 4,
  'src/edge': 4,
  'src/settings.ts': 4,
  'src/openapi': 5,
  'src/console': 5,
  'src/build': 5,
  'src/migrate': 5,
  'src/app.ts': 5,
  'src/app': 5,
  'src/cli': 5,
  'src/cli.ts': 5,
  'src/main.ts': 5,
};

/** Imports on one floor that the design names: rooms, or single files of them. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  'src/edge': ['src/rpc'],
  'src/app.ts': ['src/app'],
  'src/cli': ['src/app.ts', 'src/app', 'src/migrate'],
  'src/cli.ts': ['src/app.ts', 'src/app', 'src/cli', 'src/migrate'],
  'src/main.ts': ['src/cli.ts'],
  // The log stores a call's record within its scope, and providers report parts of it.
  'src/store': ['src/call/record.ts', 'src/call/scope.ts'],
  'src/providers': ['src/call/record.ts'],
  // The generated types are the vocabulary of every room.
  'src/lib': ['gen'],
};

/** Downward imports that the design forbids all the same. */
const NEVER: Readonly<Record<string, readonly string[]>> = {
  'src/edge': [
    'src/admin',
    'src/inference',
    'src/inference/plan',
    'src/store',
    'src/providers',
    'src/ledger',
  ],
};

/** Files and rooms that only the named ones may import. */
const ONLY: Readonly<Record<string, readonly string[]>> = {
  'src/settings.ts': ['src/app.ts', 'src/app', 'src/cli', 'src/cli.ts', 'src/migrate'],
  'src/openapi': [],
  'src/build': [],
  'src/console': [],
  'src/app.ts': ['src/cli', 'src/cli.ts'],
  'src/app': ['src/app.ts', 'src/cli', 'src/cli.ts'],
  'src/migrate': ['src/cli', 'src/cli.ts'],
  'src/cli': ['src/cli.ts'],
  'src/cli.ts': ['src/main.ts'],
  'src/main.ts': [],
};

/** Packages that belong to one room: whoever else needs them goes through it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  koa: ['src/edge'],
  '@koa/router': ['src/edge'],
  '@bufbuild/protoplugin': ['src/openapi'],
  '@bufbuild/protovalidate': ['src/rpc'],
  '@connectrpc/connect-node': ['src/rpc'],
  ioredis: ['src/store'],
  mongoose: ['src/store'],
  'node:sqlite': ['src/store'],
  '@opentelemetry/api': ['src/telemetry'],
  '@opentelemetry/sdk-trace': ['src/telemetry'],
  '@opentelemetry/sdk-metrics': ['src/telemetry'],
  undici: ['src/lib'],
  rolldown: ['src/build'],
  vite: ['src/build'],
  preact: ['src/console'],
  '@connectrpc/connect-web': ['src/console'],
  uplot: ['src/console'],
};

const sources = sourcesOf('src');

test('every file of src is in a room', (t) => {
  t.true(sources.length > 0);
  t.deepEqual(
    sources.map(({ path }) => path).filter((path) => roomOf(path) === undefined),
    [],
  );
});

test('imports go down the floors, never up or sideways', (t) => {
  t.deepEqual(
    everyImport((from, to) => {
      const [own, other] = [roomOf(from), roomOf(to)];
      if (own === undefined || other === undefined || own === other) return undefined;
      if (NEVER[own]?.includes(other)) return `${own} never imports ${other}`;
      if (BESIDE[own]?.some((name) => name === other || name === to)) return undefined;
      const [here, there] = [FLOORS[own] ?? 0, FLOORS[other] ?? 0];
      return there < here ? undefined : `floor ${here} imports floor ${there}`;
    }),
    [],
  );
});

test('the console is a client of the contract and knows nothing else of the gateway', (t) => {
  t.deepEqual(
    everyImport((from, to) => {
      const known = to.startsWith('gen/') || to.startsWith('src/console/') || !to.startsWith('src/');
      return roomOf(from) !== 'src/console' || (known && !to.startsWith('node:')) ? undefined : 'only gen/';
    }),
    [],
  );
});

test('settings, app and main are imported by the composition only', (t) => {
  t.deepEqual(
    everyImport((from, to) => {
      const room = roomOf(to);
      const allowed = room === undefined ? undefined : ONLY[room];
      if (allowed === undefined || roomOf(from) === room) return undefined;
      return allowed.includes(roomOf(from) ?? '') ? undefined : `${room} is not for this room`;
    }),
    [],
  );
});

test('a package that belongs to a room is imported there only', (t) => {
  t.deepEqual(
    everyImport((from, to) => {
      const rooms = PACKAGES[to];
      return rooms === undefined || rooms.includes(roomOf(from) ?? '') ? undefined : `only in ${rooms}`;
    }),
    [],
  );
});

test('nothing in src imports test, nor a file that does not exist', (t) => {
  const known = new Set([...sources, ...sourcesOf('gen')].map(({ path }) => path));
  t.deepEqual(
    everyImport((_, to) => {
      if (to.startsWith('test/')) return 'tests are not part of the product';
      return /^(src|gen)\//.test(to) && !known.has(to) ? 'there is no such file' : undefined;
    }),
    [],
  );
});

test('no file imports itself, over however many others', (t) => {
  const graph = new Map(sources.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, record: readonly string[]): void => {
    const at = record.indexOf(path);
    if (at !== -1) cycles.push([...record.slice(at), path].join(' -> '));
    if (at !== -1 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...record, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  t.deepEqual(cycles, []);
});

test('no any', (t) => {
  const used = sources.filter(({ code }) => /(?::|<|,|\||&|=|\bas|\bsatisfies)\s*any\b|\bany\[\]/.test(code));
  t.deepEqual(pathsOf(used), []);
});

test('no code asks which provider it is: that is a fact of the literal', (t) => {
  const asks = sources.filter(({ code }) => /\b[pP]rovider(?:Id|\.id|\.dialect)\s*[!=]==\s*''./.test(code));
  t.deepEqual(pathsOf(asks), []);
});

test('the environment is read by the command and settings only', (t) => {
  const readers = sources.filter(
    ({ code, path }) =>
      !/^src\/(main|cli|cli\/start|settings)\.ts$/.test(path) && /\bprocess\s*\.\s*env\b/.test(code),
  );
  t.deepEqual(pathsOf(readers), []);
});

test('the reader of imports sees every form', (t) => {
  const own = sourcesOf('test/architecture').find(({ path }) => path.endsWith('/floors.test.ts'));
  t.deepEqual(own?.imports, ['ava', 'test/architecture/sources.ts']);
});

function everyImport(fault: (from: string, to: string) => string | undefined): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports.flatMap((to) => {
      const wrong = fault(path, to);
      return wrong === undefined ? [] : [`${path} -> ${to}: ${wrong}`];
    }),
  );
}

function roomOf(path: string): string | undefined {
  let room: string | undefined;
  for (const name of Object.keys(FLOORS)) {
    if ((path === name || path.startsWith(`${name}/`)) && name.length > (room?.length ?? 0)) room = name;
  }
  return room;
}

function pathsOf(list: readonly Source[]): string[] {
  return list.map(({ path }) => path);
}
