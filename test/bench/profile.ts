// The functions that cost most, out of a V8 CPU profile.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface ProfileNode {
  readonly id: number;
  readonly children?: readonly number[];
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The profile of the process' main thread; the name holds date, process, thread and number. */
export function mainProfile(folder: string, pid: number): string | undefined {
  const name = readdirSync(folder).find(
    (file) => file.includes(`.${pid}.0.`) && file.endsWith('.cpuprofile'),
  );
  return name === undefined ? undefined : join(folder, name);
}

/** Prints self times, and total times of our own functions, as shares of the time in which anything ran. */
export function printProfile(file: string, lines = 40): void {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const own = selfTimes(profile);
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node])),
  );
  const rooms = new Map<string, number>();
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  let busy = 0;
  for (const [id, us] of own) {
    const node = byId.get(id)!;
    busy += us;
    add(rooms, roomOf(placeOf(node)), us);
    // What the engine does is told apart by who asked for it.
    const caller = node.callFrame.url === '' ? parents.get(id) : undefined;
    add(self, caller ? `${nameOf(node)} < ${nameOf(caller)}` : nameOf(node), us);
    const chain = new Set<string>();
    for (let at: ProfileNode | undefined = node; at; at = parents.get(at.id))
      if (placeOf(at).startsWith('src/')) chain.add(nameOf(at));
    for (const name of chain) add(total, name, us);
  }
  const print = (title: string, costs: ReadonlyMap<string, number>): void => {
    console.log(`\n${title}`);
    for (const [name, us] of [...costs].sort((a, b) => b[1] - a[1]).slice(0, lines))
      console.log(`  ${((us / busy) * 100).toFixed(1).padStart(5)} %  ${name}`);
  };
  console.log(`\nCPU profile ${file}: ${(busy / 1e6).toFixed(1)} s busy, the start among them`);
  print('Self time by place', rooms);
  print('Self time by function', self);
  print('Self time and all that is called, functions of src', total);
}

/** Microseconds by node; idle time is left out. */
function selfTimes({ nodes, samples, timeDeltas }: Profile): Map<number, number> {
  const times = new Map<number, number>();
  const idle = new Set(nodes.filter((n) => n.callFrame.functionName === '(idle)').map((n) => n.id));
  for (const [i, id] of samples.entries()) if (!idle.has(id)) add(times, id, timeDeltas[i] ?? 0);
  return times;
}

function add<K>(sums: Map<K, number>, key: K, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
}

function nameOf(node: ProfileNode): string {
  const { functionName, lineNumber, url } = node.callFrame;
  const name = functionName || '(anonymous)';
  return url === '' ? name : `${name} ${placeOf(node)}:${lineNumber + 1}`;
}

/** The file from the tree's own folders on. */
function placeOf({ callFrame: { url } }: ProfileNode): string {
  return /(?:^|\/)((?:node_modules|src|gen)\/.*)$/.exec(url)?.[1] ?? (url || '(engine)');
}

/** A package, or a folder of the tree with its room. */
function roomOf(place: string): string {
  const packaged = /^node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(place);
  if (packaged) return packaged[0];
  if (place.startsWith('node:')) return place;
  return place.split('/').slice(0, 2).join('/');
}
