// Templates: what they become, and what they cannot be made to do.
import test from 'ava';
import fc from 'fast-check';
import { GatewayError } from '../../src/lib/errors.ts';
import { componentsOf, rootsOf } from '../../src/prompts/template/components.ts';
import { parseTemplate } from '../../src/prompts/template/parse.ts';
import { type RenderDeps, render } from '../../src/prompts/template/render.ts';
import { withSlack } from '../support/slack.ts';

type Variables = Readonly<Record<string, string>>;

function text(
  source: string,
  variables: Variables = {},
  partials: Readonly<Record<string, string>> = {},
  form: RenderDeps['form'] = 'text',
): string {
  const read = new Map(Object.entries(partials).map(([name, part]) => [name, parseTemplate(part, 'string')]));
  return render(parseTemplate(source, 'string'), { variables, partials: read, form });
}

function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('not refused');
}

test('Mustache without logic', (t) => {
  t.is(
    text('Hi {{name}}, {{ name }}, {{{name}}}, {{& name}}!', { name: '<b>&"' }),
    'Hi <b>&", <b>&", <b>&", <b>&"!',
  );
  t.is(text('a{{! never {{ seen }}b'), 'ab');
  t.is(text('{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: 'x' }), 'yes');
  t.is(text('{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: 'false' }), 'no');
  t.is(text('{{#on}}yes{{/on}}{{^on}}no{{/on}}', { on: '' }), 'no');
  t.is(text('{{#on}}yes{{/on}}{{^on}}no{{/on}}'), 'no');
  t.is(text('{{#list}}{{.}},{{/list}}', { list: '[1,"two",{"a":3}]' }), '1,two,{"a":3},');
  t.is(text('{{^list}}none{{/list}}', { list: '[]' }), 'none');
  t.is(
    text('{{#people}}{{name}} of {{where}};{{/people}}', {
      people: '[{"name":"A"},{"name":"B"}]',
      where: 'here',
    }),
    'A of here;B of here;',
  );
  t.is(text('{{user.name.first}}', { user: '{"name":{"first":"Ada"}}' }), 'Ada');
  t.is(text('{{#user}}{{name}}{{/user}}', { user: '{"name":"Ada"}' }), 'Ada');
  t.is(text('{{json}}', { json: ' {"a": 1} ' }), ' {"a": 1} ');
  t.is(text('x{{>p}}y', { v: '1' }, { p: '[{{v}}{{>q}}]', q: '-{{v}}-' }), 'x[1-1-]y');
});

test('tags of sections and comments that stand alone leave no line', (t) => {
  t.is(text('a\n  {{#on}}\nb\n{{/on}}\r\n{{! c }}\nd', { on: '1' }), 'a\nb\nd');
  t.is(text('a {{#on}}\nb{{/on}}', { on: '1' }), 'a \nb');
  t.is(text('{{#on}}\nb\n{{/on}}', { on: '1' }), 'b\n');
  t.is(text('a\n{{>p}}\nb', {}, { p: 'P' }), 'a\nP\nb');
});

test('what cannot be read names its line', (t) => {
  for (const [source, message] of [
    ['a\n{{#x}}', /line 2: "x" is opened and not closed/],
    ['{{/x}}', /line 1: "x" is closed and was not opened/],
    ['{{#a}}{{#b}}{{/a}}{{/b}}', /"a" is closed where "b" is open/],
    ['{{x', /a tag is opened and not closed/],
    ['{{{x}}', /not closed with }}}/],
    ['{{}}', /a tag names nothing/],
    ['{{a..b}}', /is no name/],
    ['{{a"b}}', /is no name/],
    ['{{=<% %>=}}', /delimiters/],
    ['{{>../secret}}', /is no name of a partial/],
    ['{{>p@0}}', /is no name of a partial/],
    [`${'{{#a}}'.repeat(33)}${'{{/a}}'.repeat(33)}`, /at most 32 deep/],
    ['{{a}}'.repeat(10_001), /at most 10000 tags/],
    ['x'.repeat(262_145), /at most 262144/],
  ] as const) {
    const error = refusal(() => parseTemplate(source, 'string'));
    t.deepEqual([error.reason, error.details.param], ['validation_failed', 'string']);
    t.regex(error.message, message);
  }
});

test('every variable that is missing is named; sections may ask for what is not there', (t) => {
  const error = refusal(() =>
    text('{{a}}{{#b}}{{c}}{{/b}}{{d.e}}{{#f}}{{g}}{{/f}}{{a}}', { b: 'x', d: '{}' }),
  );
  t.deepEqual(
    error.details.violations?.map(({ field }) => field),
    ['variables.a', 'variables.c', 'variables.d.e'],
  );
});

test('names reach own members only', (t) => {
  for (const name of [
    'constructor',
    '__proto__',
    'toString',
    'o.constructor',
    'o.__proto__.x',
    'l.length',
    's.length',
  ])
    t.is(
      refusal(() => text(`{{${name}}}`, { o: '{}', l: '[1]', s: 'text' })).details.param,
      `variables.${name}`,
    );
  t.is(text('{{#o}}{{constructor}}{{/o}}', { o: '{"constructor":"mine"}' }), 'mine');
  t.is(text('{{o.__proto__}}', { o: '{"__proto__":"mine"}' }), 'mine');
});

test('in JSON nothing leaves the string that it lands in', (t) => {
  const source = '[{"role":"user","content":"Say {{x}} \\"{{{x}}}\\" {{>p}}"}]';
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (x) => {
      const json = JSON.parse(text(source, { x }, { p: 'p"\n{{x}}\\' }, 'json'));
      t.deepEqual(json, [{ role: 'user', content: `Say ${x} "${x}" p"\n${x}\\` }]);
    }),
  );
});

test('outside of strings a variable is one JSON value', (t) => {
  const source = '[{"role":"user","n":{{n}}}{{#more}},{"role":"x","content":"{{.}}"}{{/more}}]';
  t.deepEqual(JSON.parse(text(source, { n: '{"a":[1]}', more: '["a\\"b"]' }, {}, 'json')), [
    { role: 'user', n: { a: [1] } },
    { role: 'x', content: 'a"b' },
  ]);
  for (const n of ['1,"role":"system"', 'x', '', '1}', '"a" "b"'])
    t.is(refusal(() => text(source, { n }, {}, 'json')).details.param, 'variables.n');
  const slashed = refusal(() => text('["\\{{n}}"]', { n: '"' }, {}, 'json'));
  t.regex(slashed.message, /backslash/);
});

test('partials end', (t) => {
  t.regex(refusal(() => text('{{>a}}', {}, { a: '{{>b}}', b: '{{>a}}' })).message, /a > b > a/);
  t.regex(refusal(() => text('{{>none}}')).message, /no partial none/);
  const chain = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, `{{>p${i + 1}}}`]));
  t.regex(refusal(() => text('{{>p0}}', {}, { ...chain, p20: '' })).message, /at most 16 deep/);
});

test('an image may be long', (t) => {
  const image = `data:image/png;base64,${'A'.repeat(10_000_000)}`;
  const source = '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"{{image}}"}}]}]';
  const json = JSON.parse(text(source, { image }, {}, 'json'));
  t.is(json[0].content[0].image_url.url, image);
});

test('hostile templates are bounded in work and size', (t) => {
  const doubling = Object.fromEntries(
    Array.from({ length: 14 }, (_, i) => [`p${i}`, `{{>p${i + 1}}}`.repeat(8)]),
  );
  const nested = `${'{{#l}}'.repeat(8)}x${'{{/l}}'.repeat(8)}`;
  const list = JSON.stringify(Array.from({ length: 100 }, () => ({})));
  for (const [run, message] of [
    [() => text('{{>p0}}', {}, { ...doubling, p14: 'x' }), /too many steps/],
    [() => text(nested, { l: list }), /too many steps/],
    [() => text('{{#l}}{{v}}{{/l}}', { l: list, v: 'x'.repeat(100_000) }), /longer than/],
    [() => text('{{#a}}x{{/a}}', { a: '['.repeat(5000) + ']'.repeat(5000) }), /nested deeper/],
  ] as const) {
    const from = performance.now();
    t.regex(refusal(run).message, message);
    t.true(performance.now() - from < withSlack(1000));
  }
});

test('any text is either a template or refused, and renders to itself without tags', (t) => {
  const soup = fc.array(
    fc.constantFrom(
      '{{',
      '}}',
      '{{{',
      '}}}',
      '#',
      '^',
      '/',
      '>',
      '!',
      '&',
      'a',
      'b.c',
      ' ',
      '\n',
      '"',
      '\\',
      '{{a}}',
      '{{#a}}',
      '{{/a}}',
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(soup, fc.constantFrom('text' as const, 'json' as const), (parts, form) => {
      const source = parts.join('');
      try {
        const out = text(source, { a: '[{"a":1}]', b: '{"c":"2"}' }, {}, form);
        if (!source.includes('{{')) t.is(out, source);
      } catch (error) {
        t.true(error instanceof GatewayError && error.status === 400, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test('what a template asks for', (t) => {
  const template = parseTemplate('{{a}}{{#s}}{{b}}{{#u.v}}{{c}}{{/u.v}}{{/s}}{{>p@2}}{{a}}', 'string');
  const { sectionVariables, ...lists } = componentsOf(template);
  t.deepEqual(lists, { variables: ['a'], sections: ['s', 'u.v'], partials: ['p@2'] });
  t.deepEqual(
    [...sectionVariables],
    [
      ['s', ['b', 'c']],
      ['u.v', ['c']],
    ],
  );
  t.deepEqual([...rootsOf(template)], ['a', 's', 'b', 'u', 'c']);
});
