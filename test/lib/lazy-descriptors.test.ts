// The build's descriptors are those of protobuf-es, member by member.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type AnyDesc,
  create,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  getOption,
  toBinary,
} from '@bufbuild/protobuf';
import { embedFileDesc } from '@bufbuild/protobuf/codegenv2';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import test from 'ava';
import {
  access,
  audit,
  form,
  long_body,
  metered,
  stream_method,
} from '../../gen/gateway/options/v2/options_pb.ts';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { optionOf } from '../../src/lib/contract-options.ts';
import { enumDesc, fileDesc, messageDesc, serviceDesc } from '../../src/lib/lazy-descriptors/codegen.ts';

const GEN = fileURLToPath(new URL('../../gen/', import.meta.url));

/** All files of the contract, as protobuf-es has them. */
const files = await everyFile();
const lazy = new Map<DescFile, DescFile>();

async function everyFile(): Promise<readonly DescFile[]> {
  const names = readdirSync(GEN, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('_pb.ts'),
  );
  const modules = await Promise.all(names.map((name) => import(join(GEN, name)) as Promise<object>));
  return modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, value]) => (name.startsWith('file_') ? [value as DescFile] : [])),
  );
}

/** As the build makes it; a file with extensions is that of protobuf-es. */
function lazyOf(file: DescFile): DescFile {
  const hasExtensions =
    [file, ...nestedTypes(file)].some((desc) => desc.kind === 'extension') || file.extensions.length > 0;
  if (!files.includes(file) || hasExtensions) return file;
  const made = lazy.get(file) ?? fileDesc(embedFileDesc(file.proto).base64(), file.dependencies.map(lazyOf));
  lazy.set(file, made);
  return made;
}

/** What a descriptor says, in which other descriptors are their names. */
function told(value: unknown, isTop = true): unknown {
  if (typeof value === 'function') return undefined;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if ('kind' in value && !isTop && !['field', 'oneof', 'rpc', 'enum_value'].includes(String(value.kind)))
    return String(value);
  if (Array.isArray(value)) return value.map((one) => told(one, false));
  const names = new Set(Object.keys(value));
  for (let own = value; own !== null && own !== Object.prototype; own = Object.getPrototypeOf(own) as object)
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(own)))
      if (get) names.add(name);
  for (const name of ['parent', 'oneof', 'file', '__proto__']) names.delete(name);
  return Object.fromEntries(
    [...names]
      .sort()
      .map((name): [string, unknown] => [name, told((value as Record<string, unknown>)[name], false)])
      .filter(([, one]) => one !== undefined),
  );
}

test('a file of the contract says the same, whatever of it is read first', (t) => {
  let compared = 0;
  for (const file of files) {
    const other = lazyOf(file);
    if (other === file) continue;
    const own = new Map([...nestedTypes(other)].map((desc): [string, AnyDesc] => [String(desc), desc]));
    for (const desc of nestedTypes(file)) {
      const found = own.get(String(desc));
      t.deepEqual(told(found), told(desc), String(desc));
      compared++;
    }
    t.is(own.size, [...nestedTypes(file)].length);
    t.deepEqual(
      toBinary(FileDescriptorProtoSchema, other.proto),
      toBinary(FileDescriptorProtoSchema, file.proto),
    );
    t.is(String(other), String(file));
    t.is(other.name, file.name);
    t.is(other.edition, file.edition);
  }
  t.true(compared > 1000, `${compared}`);
});

test('what the generated code names is what its file has, and messages refer to each other by the same objects', (t) => {
  for (const file of files) {
    const other = fileOfItsOwn(file);
    if (other === undefined) continue;
    // Named before anything of the file is read, as modules do it.
    const messages = file.messages.map((_, place) => messageDesc(other, place));
    const enums = file.enums.map((_, place) => enumDesc(other, place));
    const services = file.services.map((_, place) => serviceDesc(other, place));
    t.deepEqual(
      messages.map(({ typeName }) => typeName),
      file.messages.map(({ typeName }) => typeName),
    );
    for (const [place, message] of messages.entries()) t.is(other.messages[place], message);
    for (const [place, one] of enums.entries()) t.is(other.enums[place], one);
    for (const [place, service] of services.entries()) t.is(other.services[place], service);
    for (const message of messages) sameWithin(t.is, message, other);
    for (const { methods } of services)
      for (const { input, output } of methods)
        for (const one of [input, output])
          if (one.file === other) t.true(other.messages.includes(one), one.typeName);
  }
});

function fileOfItsOwn(file: DescFile): DescFile | undefined {
  if (lazyOf(file) === file) return undefined;
  return fileDesc(embedFileDesc(file.proto).base64(), file.dependencies.map(lazyOf));
}

function sameWithin(is: (a: unknown, b: unknown) => void, message: DescMessage, file: DescFile): void {
  const all = new Map([...nestedTypes(file)].map((desc): [string, AnyDesc] => [String(desc), desc]));
  for (const field of message.fields) {
    is(field.parent, message);
    is(message.field[field.localName], field);
    if (field.message?.file === file) is(field.message, all.get(String(field.message)));
    if (field.enum?.file === file) is(field.enum, all.get(String(field.enum)));
  }
  for (const nested of message.nestedMessages) {
    is(nested.parent, message);
    sameWithin(is, nested, file);
  }
}

test('messages of both are the same bytes', (t) => {
  const chat = files.find(({ name }) => name === 'gateway/inference/v2/chat') as DescFile;
  const [eager] = chat.messages as [DescMessage];
  const [made] = lazyOf(chat).messages as [DescMessage];
  const message = create(eager, {
    model: 'm',
    messages: [{ role: 'user' }],
    extra: { a: [1, { b: null }] },
  } as never);
  const bytes = toBinary(eager, message);
  t.deepEqual(toBinary(made, fromBinary(made, bytes)), bytes);
  t.true(bytes.length > 10);
});

test('options are read as protobuf-es reads them', (t) => {
  let set = 0;
  for (const file of files)
    for (const method of [file, lazyOf(file)].flatMap(({ services }) =>
      services.flatMap(({ methods }) => methods),
    ))
      for (const option of [access, audit, form, http, long_body, metered, stream_method]) {
        const value: unknown = optionOf(method as DescMethod, option as typeof access);
        t.deepEqual(value, getOption(method as DescMethod, option as typeof access));
        if (typeof value === 'object') set++;
      }
  t.true(set > 1000, `${set}`);
});
