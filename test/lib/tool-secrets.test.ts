// What a request hands to tool servers is found wherever it stands, and nothing else is.
import test from 'ava';
import { atOnce, maskToolSecrets, toolSecrets } from '../../src/lib/tool-secrets.ts';

const withoutToolSecrets = (text: string): string => atOnce(maskToolSecrets(text)).text;

const tool = (more: object) => JSON.stringify({ model: 'm', tools: [{ type: 'mcp', ...more }] });

test('authorization, headers, nested servers: as they stand and without their scheme', (t) => {
  const text = tool({
    authorization: 'Bearer mcp-secret-1',
    headers: {
      Authorization: 'Basic mcp-secret-2',
      'X-Api-Key': 'short',
      Accept: 'text/plain',
      'X-Team': 'team-secret-3',
    },
    server: {
      url: 'https://x.example.com',
      headers: { 'x-api-key': 'nested-secret-4' },
      options: { access_token: 'deep-secret-5' },
    },
  });
  const found = toolSecrets(text) ?? [];
  for (const secret of [
    'mcp-secret-1',
    'mcp-secret-2',
    'short',
    'team-secret-3',
    'nested-secret-4',
    'deep-secret-5',
  ])
    t.true(found.includes(secret), secret);
  t.false(found.includes('text/plain'));
  const clean = withoutToolSecrets(text);
  t.notRegex(clean, /secret|short/);
  t.deepEqual(JSON.parse(clean).tools[0].server.url, 'https://x.example.com');
  t.is(withoutToolSecrets(clean), clean);
  t.notRegex(withoutToolSecrets(text.replace('mcp-secret-1', 'mcp-\\u0073ecret-1')), /u0073|secret/);
  const other = JSON.stringify({ mcp_servers: [{ url: 'u', authorization_token: 'anthropic-secret-6' }] });
  t.notRegex(withoutToolSecrets(other), /anthropic-secret/);
});

test('what is no credential stays, byte for byte', (t) => {
  const parameters = {
    type: 'object',
    properties: {
      headers: { type: 'string', description: 'a header' },
      token: { type: 'string', description: 'x' },
    },
  };
  const plain = `{"tools": [{"type":"function","function":{"name":"f","parameters":${JSON.stringify(parameters)}}}],
    "messages":[{"role":"user","content":"the token is \\"abc\\", authorization: none"}], "seed": 12345678901234567890}`;
  t.is(withoutToolSecrets(plain), plain);
  t.deepEqual(toolSecrets(plain), []);
  const none = '{"messages":[{"role":"user","content":"tools headers authorization"}]}';
  t.is(withoutToolSecrets(none), none);
});

test('a text that was cut loses what is named so', (t) => {
  const whole = tool({ headers: { authorization: 'cut-secret-0123456789', 'x-api-key': 'other-secret' } });
  for (let end = 10; end < whole.length; end++) {
    const cut = withoutToolSecrets(whole.slice(0, end));
    if (whole.slice(0, end).includes('"authorization":"')) t.notRegex(cut, /cut-s/, String(end));
  }
});

test('names that end in a credential are found, whatever else is in them; a text of such words is looked through once', (t) => {
  for (const name of ['jwt', 'passwd', 'bearer', `${'a-'.repeat(100)}token`])
    t.deepEqual(toolSecrets(tool({ [name]: 'a-secret-value' })), ['a-secret-value'], name);
  const words = JSON.stringify({ tools: [], content: `${'token'.repeat(100_000)} ` });
  t.is(withoutToolSecrets(words), words);
});

test('of more credentials than can be looked for, all are masked and none is named', (t) => {
  const servers = Array.from({ length: 300 }, (_, i) => ({ token: `credential-${i}` }));
  const text = JSON.stringify({ numbers: Array.from({ length: 30_000 }, () => 1), mcp_servers: servers });
  t.is(toolSecrets(text), undefined);
  t.notRegex(withoutToolSecrets(text), /credential/);
});
