// Metrics of several processes as one page in Prometheus' text format.

/** Gauges of which the largest tells more than the sum. */
const LARGEST = /_(?:seconds|timestamp|ratio|up|ready|info|start_time_seconds)$/;

/**
 * Adds up what the processes count: samples of the same name and labels become one. Of gauges that are no counts (ages,
 * states) the largest stays.
 */
export function mergeMetrics(pages: readonly string[]): string {
  const heads = new Map<string, string[]>();
  const samples = new Map<string, Map<string, number>>();
  const types = new Map<string, string>();
  for (const page of pages) {
    let family = '';
    for (const line of page.split('\n')) {
      if (line === '') continue;
      if (line.startsWith('#')) {
        const [, word, name = '', type = ''] = line.split(' ');
        family = name;
        if (word === 'TYPE') types.set(name, type);
        const head = heads.get(name) ?? [];
        if (!head.some((known) => known.startsWith(`# ${word} `))) heads.set(name, [...head, line]);
        continue;
      }
      add(samples, family, types.get(family) ?? 'untyped', line);
    }
  }
  const text = [...samples].map(([family, values]) =>
    [
      ...(heads.get(family) ?? []),
      ...[...values].map(([key, value]) => `${key} ${numberText(value)}`),
      '',
    ].join('\n'),
  );
  return `${text.join('\n')}\n`;
}

function add(samples: Map<string, Map<string, number>>, family: string, type: string, line: string): void {
  // Labels may hold spaces; a value does not.
  const space = line.lastIndexOf(' ');
  const key = line.slice(0, space);
  const value = readNumber(line.slice(space + 1));
  const own = samples.get(family) ?? new Map<string, number>();
  samples.set(family, own);
  const before = own.get(key);
  if (before === undefined) own.set(key, value);
  else own.set(key, type === 'gauge' && LARGEST.test(family) ? Math.max(before, value) : before + value);
}

function readNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return Number.isNaN(value) ? 'NaN' : String(value);
}
