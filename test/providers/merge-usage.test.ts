import type { JsonObject } from '@bufbuild/protobuf';
import test from 'ava';
import { mergeUsage } from '../../src/providers/merge-usage.ts';

test('members of ever other names do not make a report grow, and those that are there are kept up to date', (t) => {
  let merged: JsonObject = { prompt_tokens: 1, details: { cached_tokens: 1 } };
  for (let i = 0; i < 2000; i++)
    merged = mergeUsage(merged, {
      [`k${i}`]: 1,
      details: { [`k${i}`]: 1, cached_tokens: i },
      prompt_tokens: i,
    });
  t.is(merged.prompt_tokens, 1999);
  t.like(merged.details, { cached_tokens: 1999 });
  t.is(Object.keys(merged).length, 64);
  t.is(Object.keys(merged.details as JsonObject).length, 64);
});
