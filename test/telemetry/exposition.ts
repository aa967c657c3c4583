// A strict reader of Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/): what
// `promtool check metrics` would find fault with is a fault here.

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ReadFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: ReadSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/gy;
const BASE_UNITS = /_(?:seconds|bytes|ratio|usd)(?:_total)?$/;
const WRONG_UNITS = /_(?:ms|milliseconds|minutes|kb|mb|kilobytes|percent)(?:_|$)/;

/** Reads a scrape, and what is wrong with it. */
export function readExposition(text: string): { families: Map<string, ReadFamily>; faults: string[] } {
  const families = new Map<string, ReadFamily>();
  const faults: string[] = [];
  const helps = new Map<string, string>();
  const seen = new Set<string>();
  let family: ReadFamily | undefined;
  if (!text.endsWith('\n')) faults.push('the last line has no end');
  for (const line of text.split('\n')) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (word === 'HELP') {
      if (helps.has(name)) faults.push(`${name}: HELP twice`);
      helps.set(name, rest);
    } else if (word === 'TYPE') {
      if (families.has(name)) faults.push(`${name}: TYPE twice`);
      family = { name, help: helps.get(name) ?? '', type: rest, samples: [] };
      families.set(name, family);
    } else if (line.startsWith('#')) faults.push(`a line that says nothing: ${line}`);
    else if (line !== '') {
      const sample = readSample(line);
      if (sample === undefined) faults.push(`not a sample: ${line}`);
      else if (seen.has(seriesOf(sample))) faults.push(`twice: ${line}`);
      else if (family === undefined || !belongs(sample.name, family))
        faults.push(`outside its family: ${line}`);
      else family.samples.push(sample);
      if (sample !== undefined) seen.add(seriesOf(sample));
    }
  }
  for (const one of families.values()) faults.push(...faultsOf(one));
  return { families, faults };
}

function readSample(line: string): ReadSample | undefined {
  const match = SAMPLE.exec(line);
  if (match === null || !NAME.test(match[1]!)) return undefined;
  const labels: Record<string, string> = {};
  const inner = match[2] ?? '';
  let end = 0;
  for (const [all, name, value] of inner.matchAll(LABEL)) {
    labels[name!] = value!;
    end += all.length;
  }
  if (end !== inner.length) return undefined;
  const value = match[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(match[3]);
  return Number.isNaN(value) ? undefined : { name: match[1]!, labels, value };
}

function seriesOf({ name, labels }: ReadSample): string {
  return name + JSON.stringify(Object.entries(labels).sort());
}

function belongs(name: string, family: ReadFamily): boolean {
  if (family.type !== 'histogram') return name === family.name;
  return ['_bucket', '_sum', '_count'].some((end) => name === family.name + end);
}

function faultsOf(family: ReadFamily): string[] {
  const { name, help, type, samples } = family;
  const faults: string[] = [];
  if (!NAME.test(name)) faults.push(`${name}: not a name`);
  if (help === '') faults.push(`${name}: no HELP`);
  if (!['counter', 'gauge', 'histogram'].includes(type)) faults.push(`${name}: type ${type}`);
  if ((type === 'counter') !== name.endsWith('_total'))
    faults.push(`${name}: _total is for counters, and for all`);
  if (WRONG_UNITS.test(name)) faults.push(`${name}: not a base unit`);
  if (type === 'histogram' && !BASE_UNITS.test(name)) faults.push(`${name}: a histogram without its unit`);
  if (/_(?:bucket|sum|count)$/.test(name)) faults.push(`${name}: a name that is kept for histograms`);
  if (type === 'counter' && samples.some(({ value }) => value < 0)) faults.push(`${name}: below zero`);
  for (const { labels } of samples) {
    for (const label of Object.keys(labels)) {
      if (label.startsWith('__')) faults.push(`${name}: label ${label}`);
      if (label === 'le' && type !== 'histogram') faults.push(`${name}: le`);
    }
  }
  return type === 'histogram' ? [...faults, ...bucketFaults(family)] : faults;
}

function bucketFaults({ name, samples }: ReadFamily): string[] {
  const faults: string[] = [];
  const groups = new Map<string, { buckets: [number, number][]; count?: number; sum?: number }>();
  for (const sample of samples) {
    const { le, ...labels } = sample.labels;
    const key = JSON.stringify(Object.entries(labels).sort());
    const group = groups.get(key) ?? { buckets: [] };
    groups.set(key, group);
    if (sample.name.endsWith('_bucket'))
      group.buckets.push([Number(le?.replace('+Inf', 'Infinity')), sample.value]);
    else if (sample.name.endsWith('_count')) group.count = sample.value;
    else group.sum = sample.value;
  }
  for (const [key, { buckets, count, sum }] of groups) {
    const rising = buckets.every(
      ([le, n], i) => i === 0 || (le > buckets[i - 1]![0] && n >= buckets[i - 1]![1]),
    );
    if (!rising) faults.push(`${name}${key}: buckets are not cumulative`);
    const last = buckets.at(-1);
    if (last?.[0] !== Number.POSITIVE_INFINITY) faults.push(`${name}${key}: no +Inf`);
    if (last?.[1] !== count || sum === undefined) faults.push(`${name}${key}: _count and _sum`);
  }
  return faults;
}
