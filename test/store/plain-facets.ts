// Facets as they are meant: entries counted one by one.
import type { RequestRecord } from '../../src/call/record.ts';
import type { LogFacets, LogFacetsQuestion } from '../../src/store/log/facets.ts';
import { dimensionOf } from '../../src/store/log/matches.ts';

export function plainFacets(
  entries: readonly RequestRecord[],
  { by, take, names }: LogFacetsQuestion,
): LogFacets {
  const facets = by.map((dimension) => {
    const counts = new Map<string, number>();
    for (const entry of entries) {
      const value = dimensionOf(dimension, entry) ?? '';
      if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts].map(([value, requests]) => ({ value, requests }));
    values.sort((a, b) => b.requests - a.requests || (a.value < b.value ? -1 : 1));
    return { values: values.slice(0, take) };
  });
  const metadataNames = [...new Set(entries.flatMap(({ metadata }) => Object.keys(metadata)))].sort();
  return { facets, metadataNames: metadataNames.slice(0, names) };
}
