// Rows as the driver would write them, and sent by its own way for documents that are bytes already.
import test from 'ava';
import fc from 'fast-check';
import mongoose from 'mongoose';
import { rowBytes } from '../../src/store/mongo/log/row-bytes.ts';
import { rawDocuments } from '../../src/store/mongo/raw-documents.ts';

const { BSON, Binary, Decimal128 } = mongoose.mongo;

const name = fc.constantFrom('a', 'organisationId', 'x1', 'latencyBucket');
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.string({ unit: 'binary-ascii', maxLength: 90 }),
  fc.constantFrom('', 'ü', '\u{1f600}'.repeat(30), 'x'.repeat(100_000), `${'x'.repeat(39)}ü`),
);
const value = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 2 ** 31, -(2 ** 31), 2 ** 31 - 1, Number.MAX_SAFE_INTEGER),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.boolean(),
  fc.array(text, { maxLength: 12 }),
  fc.bigInt({ min: 0n, max: 10n ** 24n }).map((digits) => Decimal128.fromString(String(digits))),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => new Binary(bytes)),
  fc.constant(undefined),
);

test('rows are the bytes that the driver writes', (t) => {
  const own = rowBytes();
  fc.assert(
    fc.property(fc.array(fc.dictionary(name, value), { minLength: 1, maxLength: 4 }), (rows) => {
      own.clear();
      for (const row of rows) own.add(row);
      const wanted = Buffer.concat(rows.map((row) => BSON.serialize(row, { ignoreUndefined: true })));
      return own.written().equals(wanted);
    }),
    { numRuns: 500 },
  );
  t.throws(() => own.add({ at: new Date() }), { instanceOf: TypeError, message: /at/ });
});

test('the driver that is installed takes documents as bytes', (t) => {
  t.not(rawDocuments(new Uint8Array(5)), undefined);
});
