// An empty log: how to make the first call.
import { may } from './api.ts';
import { copy } from './copy.ts';
import { href } from './router.ts';

export function FirstCall() {
  const { origin, host, protocol } = location;
  const plain = protocol === 'http:' ? '-plaintext ' : '';
  const curl = `curl ${origin}/v1/chat/completions \\
  -H "x-gateway-api-key: $GATEWAY_API_KEY" \\
  -H "x-gateway-provider: openai" \\
  -H "authorization: Bearer $OPENAI_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello"}]}'`;
  const openai = `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: process.env.OPENAI_API_KEY,
  defaultHeaders: {
    'x-gateway-api-key': process.env.GATEWAY_API_KEY,
    'x-gateway-provider': 'openai',
  },
});
const answer = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello' }],
});`;
  const grpcurl = `grpcurl ${plain}-H "x-gateway-api-key: $GATEWAY_API_KEY" \\
  -H "x-gateway-provider: openai" -H "authorization: Bearer $OPENAI_API_KEY" \\
  -d '{"model": "gpt-4o-mini", "messages": [{"role": "user", "content": {"text": "Hello"}}]}' \\
  ${host} gateway.inference.v2.ChatService/CreateChatCompletion`;
  return (
    <section aria-label="First call" class="first-call">
      <h2>First call</h2>
      <p>Every call that goes through the gateway has an entry here. There is none yet.</p>
      <ol>
        {may('completions.write') && (
          <li>
            <a href={href('/playground')}>Open the playground</a>, name a provider with its key, and send a
            message.
          </li>
        )}
        {may('virtual_keys.create') && (
          <li>
            <a href={href('/providers')}>Store a provider</a>, so that callers need no credential of their
            own.
          </li>
        )}
        <li>
          {may('workspace_service_api_keys.create') ? (
            <a href={href('/keys')}>Make a key</a>
          ) : (
            'Take your key'
          )}{' '}
          and call from your program:
        </li>
      </ol>
      <Snippet name="curl" text={curl} />
      <Snippet name="openai" text={openai} />
      <Snippet name="grpcurl" text={grpcurl} />
    </section>
  );
}

function Snippet({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div class="snippet">
      <h3>{name}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <button type="button" onClick={() => void copy(text)}>
        Copy {name}
      </button>
    </div>
  );
}
