// The model of a form that is passed through, however its bytes are cut.
import test from 'ava';
import { FormModel } from '../../src/inference/raw/form-model.ts';

const TYPE = 'multipart/form-data; boundary=XX';

function part(head: string, value: string): string {
  return `--XX\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
}

function read(text: string, size = text.length): string | undefined {
  const form = FormModel.of(TYPE)!;
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) form.push(bytes.subarray(at, at + size));
  const { field } = form;
  if (field !== undefined)
    form.push(Buffer.from('--XX\r\ncontent-disposition: form-data; name="model"\r\n\r\n@b/x\r\n--XX'));
  return field && bytes.toString('utf8', field.start, field.end);
}

test('a model before the first file is found, in pieces of any size', (t) => {
  const text = `${part('name="language"', 'en')}${part('name="model"', '@oai/whisper-é')}${part('name="file"; filename="a"', 'abc')}--XX--\r\n`;
  for (let size = 1; size <= text.length; size++) t.is(read(text, size), '@oai/whisper-é', String(size));
  t.is(read(`preamble\r\n${text}`), '@oai/whisper-é');
  t.is(read(text.replace('name="model"', 'name=model')), '@oai/whisper-é');
});

test('one that names no stored provider, stands behind a file, or is in another field is none', (t) => {
  const file = part('name="file"; filename="a"', 'abc');
  t.is(read(`${part('name="model"', 'whisper')}--XX--`), undefined);
  t.is(read(`${part('name="model"', '@oai/')}--XX--`), undefined);
  t.is(read(`${file}${part('name="model"', '@oai/x')}--XX--`), undefined);
  t.is(read(`${part('name="models"', '@oai/x')}--XX--`), undefined);
  t.is(read(`${part('name="prompt"', 'name="model"\r\n\r\n@oai/x')}--XX--`), undefined);
  t.is(read('--XX--\r\n'), undefined);
  t.is(read(''), undefined);
  t.is(read(part('name="model"', '@oai/x').slice(0, -1)), undefined);
});

test('what is no form, or too long, is not looked through', (t) => {
  for (const type of [undefined, 'application/json', 'multipart/mixed; boundary=XX', 'multipart/form-data'])
    t.is(FormModel.of(type), undefined);
  t.truthy(FormModel.of('Multipart/Form-Data; charset=utf-8; boundary="X X"'));
  const form = FormModel.of(TYPE)!;
  form.push(Buffer.from(part('name="a"', 'x'.repeat(70_000))));
  t.true(form.isDone);
  t.is(form.field, undefined);
});
