// Every method says who may call it, how it is audited and what it does.
import type { DescMethod } from '@bufbuild/protobuf';
import { getOption } from '@bufbuild/protobuf';
import test from 'ava';
import { KeyKind, Plane, plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { commentOf } from '../../src/openapi/comments.ts';
import { reach } from '../../src/openapi/required.ts';
import { answersBytes, formOf } from '../../src/rest/form-shape.ts';
import { shapeOf } from '../../src/rest/json-shape.ts';
import { annotationsOf, createRouteTable, streamTwinOf } from '../../src/rest/routes.ts';
import { commentedFiles, generatedFiles, messagesOf, methodsOf, nameOf, servicesOf } from './contract.ts';

const generated = await generatedFiles();
const commented = await commentedFiles();
const methods = methodsOf(generated);

test('gen and proto hold the same services', (t) => {
  t.true(methods.length > 0);
  t.deepEqual(methods.map(nameOf).sort(), methodsOf(commented).map(nameOf).sort());
});

test('every method has a plane, an access and an audit annotation that say something', (t) => {
  for (const method of methods) {
    const name = nameOf(method);
    const { plane: where, access, audit } = annotationsOf(method);
    t.not(where, Plane.UNSPECIFIED, name);
    t.is(
      Number(access.open) + Number(access.authenticated) + Number(access.scopes.length > 0),
      1,
      `${name}: scopes, any key, or open to all`,
    );
    t.true(
      access.scopes.every((scope) => /^[a-z_]+\.[a-z_]+$/.test(scope)),
      `${name}: scopes are resource.verb`,
    );
    t.false(access.kinds.includes(KeyKind.UNSPECIFIED), name);
    t.true(
      audit.none !== (audit.verb !== '' && audit.resource !== ''),
      `${name}: a verb and a resource, or none`,
    );
  }
});

test('the data plane is not audited call by call', (t) => {
  const audited = methods.filter(
    (m) => annotationsOf(m).plane === Plane.DATA && !annotationsOf(m).audit.none,
  );
  t.deepEqual(audited.map(nameOf), []);
});

test('a streaming twin takes the same request and admits the same callers', (t) => {
  for (const method of methods) {
    const twin = streamTwinOf(method);
    if (twin === undefined) continue;
    t.is(twin.input, method.input, nameOf(method));
    t.deepEqual(annotationsOf(twin).access, annotationsOf(method).access, nameOf(method));
    // Of a form that answers in bytes, its provider says what the answer is.
    if (formOf(method) !== undefined && answersBytes(twin)) continue;
    t.true(
      shapeOf(method.input).kind === 'object' && hasStream(method),
      `${nameOf(method)}: needs a field stream`,
    );
  }
});

test('the route table builds, and no two routes are the same', (t) => {
  const { routes } = createRouteTable(servicesOf(generated));
  const keys = routes.map((route) => `${route.verb} ${route.template.shape}`);
  t.true(keys.length > 0);
  t.is(new Set(keys).size, keys.length);
});

test('names are unique', (t) => {
  t.deepEqual(twice(methods.map((method) => method.name)), []);
  t.deepEqual(twice(servicesOf(generated).map((service) => service.name)), []);
  t.deepEqual(twice(messagesOf(generated).map((message) => message.name)), []);
});

test('every service and every method has a comment', (t) => {
  const silent = [...servicesOf(commented), ...methodsOf(commented)].filter((desc) => commentOf(desc) === '');
  t.deepEqual(silent.map(String), []);
});

test('every field of a request of the control plane has a comment', (t) => {
  const control = methodsOf(commented).filter((method) => getOption(method.parent, plane) === Plane.CONTROL);
  const fields = [...reach(control.map((method) => method.input))]
    .filter((message) => message.typeName.startsWith('gateway.'))
    .flatMap((message) => [message, ...message.fields]);
  t.true(fields.length > 0);
  t.deepEqual(fields.filter((desc) => commentOf(desc) === '').map(String), []);
});

function hasStream(method: DescMethod): boolean {
  return method.input.fields.some((field) => field.name === 'stream');
}

function twice(names: readonly string[]): string[] {
  return names.filter((name, i) => names.indexOf(name) !== i);
}
