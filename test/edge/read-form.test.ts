import test from 'ava';
import { type FormMember, isForm, readForm } from '../../src/edge/read-form.ts';
import { GatewayError } from '../../src/lib/errors.ts';

const TYPE = 'multipart/form-data; boundary=edge';

const text = (name: string, value: string): string =>
  `--edge\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string, filename: string, body: string): string =>
  `--edge\r\ncontent-disposition: form-data; name="${name}"; filename="${filename}"\r\ncontent-type: Text/Plain; charset=utf-8\r\n\r\n${body}\r\n`;
const END = '--edge--\r\n';

/** The form in pieces of so many bytes. */
async function* inPieces(form: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(form);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function membersOf(body: AsyncIterable<Uint8Array>, type = TYPE): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const member of readForm(body, type)) {
    if (member.kind === 'text') found.push([member.name, member.value]);
    else found.push([member.name, member.filename, member.contentType, await wholeOf(member)]);
  }
  return found;
}

async function wholeOf(member: FormMember & { kind: 'file' }): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of member.bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

test('members come in their order, in pieces of any size', async (t) => {
  const form =
    text('purpose', 'batch') +
    file('file', '../a/ö.jsonl', '{"a":1}\r\n--edg') +
    text('more', 'ä') +
    file('mask', 'b', '') +
    END;
  for (const size of [1, 7, 64, 4096])
    t.deepEqual(await membersOf(inPieces(form, size)), [
      ['purpose', 'batch'],
      ['file', 'ö.jsonl', 'text/plain', '{"a":1}\r\n--edg'],
      ['more', 'ä'],
      ['mask', 'b', 'text/plain', ''],
    ]);
});

test('a file that is not read is passed over', async (t) => {
  const names: string[] = [];
  const form = file('one', 'a', 'x'.repeat(300_000)) + file('two', 'b', 'y') + END;
  for await (const member of readForm(inPieces(form, 10_000), TYPE)) names.push(member.name);
  t.deepEqual(names, ['one', 'two']);
});

test('a long file after a text is read from its beginning', async (t) => {
  const body = 'x'.repeat(300_000);
  const form = text('purpose', 'batch') + file('file', 'f', body) + END;
  for (const size of [65_536, 400_000])
    t.deepEqual(await membersOf(inPieces(form, size)), [
      ['purpose', 'batch'],
      ['file', 'f', 'text/plain', body],
    ]);
});

test('the body is read no faster than the file', async (t) => {
  let given = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(file('file', 'a', '').slice(0, -2));
    for (;;) {
      given += 65_536;
      yield Buffer.alloc(65_536);
    }
  }
  for await (const member of readForm(endless(), TYPE)) {
    if (member.kind !== 'file') continue;
    let read = 0;
    for await (const piece of member.bytes) {
      read += piece.length;
      t.true(given - read < 1_000_000, `${given - read} bytes wait`);
      if (read > 8_000_000) break;
    }
    break;
  }
  t.pass();
});

test('a form without its end is refused, wherever it ends', async (t) => {
  const form = text('purpose', 'batch') + file('file', 'a', 'body') + text('x', 'y');
  for (const cut of [10, 70, form.indexOf('body') + 2, form.length - 10, form.length]) {
    const error = await t.throwsAsync(membersOf(inPieces(form.slice(0, cut), 16)), {
      instanceOf: GatewayError,
    });
    t.is(error?.reason, 'malformed_body');
  }
  const error = await t.throwsAsync(membersOf(inPieces('', 16)), { instanceOf: GatewayError });
  t.is(error?.reason, 'malformed_body');
});

test('texts and members are bounded', async (t) => {
  const long = await t.throwsAsync(membersOf(inPieces(text('a', 'x'.repeat(1_100_000)) + END, 65_536)), {
    instanceOf: GatewayError,
  });
  t.is(long?.reason, 'body_too_large');
  const many = await t.throwsAsync(membersOf(inPieces(text('a', 'x').repeat(300) + END, 65_536)), {
    instanceOf: GatewayError,
  });
  t.is(many?.reason, 'body_too_large');
});

test('what the body throws is thrown', async (t) => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(file('file', 'a', 'abc').slice(0, -2));
    throw new GatewayError('client_closed', 'left');
  }
  const error = await t.throwsAsync(membersOf(broken()), { instanceOf: GatewayError });
  t.is(error?.reason, 'client_closed');
});

test('a form must name its boundary', async (t) => {
  t.true(isForm(TYPE));
  t.false(isForm('application/json'));
  const error = await t.throwsAsync(membersOf(inPieces(END, 16), 'multipart/form-data; charset=x'), {
    instanceOf: GatewayError,
  });
  t.is(error?.reason, 'malformed_body');
});
