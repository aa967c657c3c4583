// Answers over Connect and gRPC are compressed at a fast level, and read by every client.
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import test from 'ava';
import { fastCompressions } from '../../src/rpc/compression.ts';

const text = JSON.stringify(Array.from({ length: 2000 }, (_, id) => ({ id, model: 'gpt-4o', status: 200 })));

for (const compression of fastCompressions) {
  test(`${compression.name} gives back what it was given, and smaller`, async (t) => {
    const compressed = await compression.compress(Buffer.from(text));
    t.true(compressed.byteLength * 4 < text.length);
    const read = { gzip: gunzipSync, br: brotliDecompressSync, deflate: inflateSync }[compression.name];
    if (read === undefined) throw new Error(`no reader of ${compression.name}`);
    t.is(read(compressed).toString(), text);
    t.is(Buffer.from(await compression.decompress(compressed, text.length)).toString(), text);
  });
}

test('gzip is preferred where a client takes several', (t) => {
  t.deepEqual(
    fastCompressions.map(({ name }) => name),
    ['gzip', 'br', 'deflate'],
  );
});
