// The tools, resources and prompts that the official conformance suite calls, in both generations of the protocol.
import {
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
const state = createRequestStateCodec<{ round: number }>({ key: 'a-key-of-the-tests-of-32-bytes-long!' });
type Form = Parameters<ServerContext['mcpReq']['elicitInput']>[0] & { mode?: 'form' };
type Properties = Record<string, object>;

const object = (properties: Properties = {}, required: string[] = []) =>
  fromJsonSchema<Record<string, string>>({ type: 'object', properties, required } as never);
const form = (message: string, properties: Properties, required: string[] = []): Form =>
  ({ message, requestedSchema: { type: 'object', properties, required } }) as never;
const asked = (message: string, name: string, type = 'string') =>
  inputRequired.elicit(form(message, { [name]: { type } }, [name]) as never);
const answered = (ctx: ServerContext, key: string): Record<string, unknown> | undefined =>
  acceptedContent(ctx.mcpReq.inputResponses, key) as Record<string, unknown> | undefined;

/** A server for one session, or for one request of the newer revision. */
export function referenceServer(): McpServer {
  const server = new McpServer({ name: 'reference', version: '1.0.0' }, {
    capabilities: {
      logging: {},
      completions: {},
      resources: { subscribe: true, listChanged: true },
      tools: { listChanged: true },
      prompts: { listChanged: true },
    },
    requestState: { verify: (given: string, ctx: ServerContext) => state.verify(given, ctx) },
  } as never);
  addContent(server);
  addTalk(server);
  addRounds(server);
  addResources(server);
  addPrompts(server);
  addDiagnostics(server);
  return server;
}

/** Asks as the older revisions do, or by a result that asks, whichever the request allows. */
async function elicited(
  ctx: ServerContext,
  params: Form,
): Promise<{ readonly action: string; readonly content?: unknown } | ReturnType<typeof inputRequired>> {
  if ((ctx.mcpReq as { readonly envelope?: unknown }).envelope === undefined)
    return ctx.mcpReq.elicitInput(params, { relatedRequestId: ctx.mcpReq.id } as never);
  const given = (
    ctx.mcpReq.inputResponses as Record<string, { action: string; content?: unknown }> | undefined
  )?.asked;
  return given ?? inputRequired({ inputRequests: { asked: inputRequired.elicit(params as never) } });
}

type Handler = (args: Record<string, string>, ctx: ServerContext) => unknown;

function tool(server: McpServer, name: string, handler: Handler, inputSchema = object()): void {
  server.registerTool(name, { description: `Tool ${name}`, inputSchema }, handler as never);
}

function addContent(server: McpServer): void {
  const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
  const embedded = (uri: string, words: string, mimeType = 'text/plain') => ({
    type: 'resource',
    resource: { uri, mimeType, text: words },
  });
  tool(server, 'test_simple_text', () => text('This is a simple text response for testing.'));
  tool(server, 'test_image_content', () => ({ content: [image] }));
  tool(server, 'test_audio_content', () => ({
    content: [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }],
  }));
  tool(server, 'test_embedded_resource', () => ({
    content: [embedded('test://embedded-resource', 'This is an embedded resource content.')],
  }));
  tool(server, 'test_multiple_content_types', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
    ],
  }));
  tool(server, 'test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  tool(server, 'test_tool_with_logging', async (_args, ctx) => {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', words);
      await wait(50);
    }
    return text('logged');
  });
  tool(server, 'test_tool_with_progress', async (_args, ctx) => {
    const progressToken = (ctx.mcpReq as { _meta?: { progressToken?: string } })._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        } as never);
      await wait(50);
    }
    return text('done');
  });
}

function addTalk(server: McpServer): void {
  tool(
    server,
    'test_sampling',
    async ({ prompt }, ctx) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt ?? '' } }];
      if ((ctx.mcpReq as { readonly envelope?: unknown }).envelope !== undefined) {
        const given = ctx.mcpReq.inputResponses as
          | Record<string, { content?: { text?: string } }>
          | undefined;
        if (given?.asked !== undefined) return text(`LLM response: ${given.asked.content?.text}`);
        return inputRequired({
          inputRequests: { asked: inputRequired.createMessage({ messages, maxTokens: 100 }) },
        });
      }
      const result = await ctx.mcpReq.requestSampling({ messages, maxTokens: 100 }, {
        relatedRequestId: ctx.mcpReq.id,
      } as never);
      return text(`LLM response: ${(result.content as { text?: string }).text}`);
    },
    object({ prompt: { type: 'string' } }, ['prompt']),
  );
  tool(
    server,
    'test_elicitation',
    async ({ message }, ctx) => {
      const user = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      };
      const given = await elicited(ctx, form(message ?? '', user, ['username', 'email']));
      if (!('action' in given)) return given;
      const { action, content } = given;
      return text(`User response: action=${action}, content=${JSON.stringify(content)}`);
    },
    object({ message: { type: 'string' } }, ['message']),
  );
  const elicits = (name: string, properties: Properties) =>
    tool(server, name, async (_args, ctx) => {
      const given = await elicited(ctx, form('Please answer', properties));
      if (!('action' in given)) return given;
      const { action, content } = given;
      return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
    });
  elicits('test_elicitation_sep1034_defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  });
  const options = ['option1', 'option2', 'option3'];
  const titled = (word: string) =>
    [1, 2, 3].map((n) => ({ const: `value${n}`, title: `${['First', 'Second', 'Third'][n - 1]} ${word}` }));
  elicits('test_elicitation_sep1330_enums', {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  });
}

function addRounds(server: McpServer): void {
  const name = 'test_input_required_result_';
  const capital = inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
    maxTokens: 100,
  });
  tool(server, `${name}elicitation`, (_args, ctx) => {
    const given = answered(ctx, 'user_name');
    return typeof given?.name === 'string'
      ? text(`Hello, ${given.name}!`)
      : inputRequired({ inputRequests: { user_name: asked('What is your name?', 'name') } });
  });
  const first =
    (key: string, request: unknown, words: (answer: unknown) => string) =>
    (_args: unknown, ctx: ServerContext) => {
      const answer = (ctx.mcpReq.inputResponses as Record<string, unknown> | undefined)?.[key];
      return answer === undefined
        ? inputRequired({ inputRequests: { [key]: request } } as never)
        : text(words(answer));
    };
  tool(
    server,
    `${name}sampling`,
    first('capital_question', capital, (answer) => JSON.stringify(answer)),
  );
  tool(
    server,
    `${name}list_roots`,
    first('client_roots', inputRequired.listRoots(), (answer) => JSON.stringify(answer)),
  );
  tool(server, `${name}request_state`, async (_args, ctx) => {
    if (ctx.mcpReq.requestState() !== undefined && answered(ctx, 'confirm') !== undefined)
      return text('state-ok');
    return inputRequired({
      inputRequests: { confirm: asked('Please confirm', 'ok', 'boolean') },
      requestState: await state.mint({ round: 1 }),
    });
  });
  tool(server, `${name}tampered_state`, async (_args, ctx) => {
    if (ctx.mcpReq.requestState() !== undefined) return text('state-ok');
    return inputRequired({
      inputRequests: { confirm: asked('Please confirm', 'ok', 'boolean') },
      requestState: await state.mint({ round: 1 }),
    });
  });
  tool(server, `${name}multiple_inputs`, async (_args, ctx) => {
    if (ctx.mcpReq.requestState() !== undefined) return text(JSON.stringify(ctx.mcpReq.inputResponses));
    const greeting = inputRequired.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'Generate a greeting' } }],
      maxTokens: 50,
    });
    const inputRequests = {
      user_name: asked('What is your name?', 'name'),
      greeting,
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await state.mint({ round: 1 }) });
  });
  tool(server, `${name}multi_round`, async (_args, ctx) => {
    const round = ctx.mcpReq.requestState<{ round: number }>()?.round ?? 0;
    if (round === 2) return text(`done: ${JSON.stringify(ctx.mcpReq.inputResponses)}`);
    const step: Record<string, ReturnType<typeof asked>> = round === 0
      ? { step1: asked('Step 1: What is your name?', 'name') }
      : { step2: asked('Step 2: What is your favorite color?', 'color') };
    return inputRequired({ inputRequests: step, requestState: await state.mint({ round: round + 1 }) });
  });
  tool(server, `${name}capabilities`, (_args, ctx) => {
    const all =
      (ctx.mcpReq as unknown as { envelope?: Record<string, Record<string, unknown>> }).envelope?.[
        'io.modelcontextprotocol/clientCapabilities'
      ] ??
      // Of a session: those of its beginning.
      server.server.getClientCapabilities() ??
      {};
    const inputRequests = {
      ...(all.elicitation === undefined ? {} : { user_name: asked('What is your name?', 'name') }),
      ...(all.sampling === undefined ? {} : { capital_question: capital }),
    };
    return ctx.mcpReq.inputResponses === undefined && Object.keys(inputRequests).length > 0
      ? inputRequired({ inputRequests } as never)
      : text('nothing to ask');
  });
}

function addResources(server: McpServer): void {
  const fixed = (name: string, uri: string, contents: object) =>
    server.registerResource(
      name,
      uri,
      { description: `Resource ${name}`, mimeType: 'text/plain' },
      () => ({ contents: [{ uri, ...contents }] }) as never,
    );
  fixed('static-text', 'test://static-text', {
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  });
  fixed('static-binary', 'test://static-binary', { mimeType: 'image/png', blob: PIXEL });
  fixed('watched-resource', 'test://watched-resource', { mimeType: 'text/plain', text: 'watched' });
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource(
    'template',
    template,
    { description: 'By id', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const)
    server.server.setRequestHandler(method, () => ({}));
  server.server.setRequestHandler('completion/complete', () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }));
}

function addPrompts(server: McpServer): void {
  const said = (content: object) => ({ messages: [{ role: 'user', content }] }) as never;
  const prompt = (name: string, handler: Handler, argsSchema?: ReturnType<typeof object>) =>
    server.registerPrompt(
      name,
      { description: `Prompt ${name}`, ...(argsSchema && { argsSchema }) } as never,
      (argsSchema ? handler : (ctx: ServerContext) => handler({}, ctx)) as never,
    );
  prompt('test_simple_prompt', () => said({ type: 'text', text: 'This is a simple prompt for testing.' }));
  const two = object({ arg1: { type: 'string' }, arg2: { type: 'string' } }, ['arg1', 'arg2']);
  prompt(
    'test_prompt_with_arguments',
    ({ arg1, arg2 }) => said({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
    two,
  );
  const uri = object({ resourceUri: { type: 'string' } }, ['resourceUri']);
  prompt(
    'test_prompt_with_embedded_resource',
    ({ resourceUri }) =>
      said({
        type: 'resource',
        resource: {
          uri: resourceUri,
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        },
      }),
    uri,
  );
  prompt('test_prompt_with_image', () => said({ type: 'image', data: PIXEL, mimeType: 'image/png' }));
  prompt('test_input_required_result_prompt', (_args, ctx) => {
    const given = answered(ctx, 'user_context');
    return given === undefined
      ? inputRequired({
          inputRequests: { user_context: asked('What context should the prompt use?', 'context') },
        })
      : said({ type: 'text', text: `With ${String(given.context)}` });
  });
}

/** What the suite looks at the newer revision with. */
function addDiagnostics(server: McpServer): void {
  tool(server, 'test_missing_capability', (_args, ctx) => {
    if (ctx.mcpReq.inputResponses !== undefined) return text('has sampling');
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } }];
    return inputRequired({
      inputRequests: { hello: inputRequired.createMessage({ messages, maxTokens: 10 }) },
    });
  });
  tool(server, 'test_streaming_elicitation', (_args, ctx) =>
    answered(ctx, 'user_name') === undefined
      ? inputRequired({ inputRequests: { user_name: asked('What is your name?', 'name') } })
      : text('done'),
  );
  tool(server, 'test_logging_tool', async (_args, ctx) => {
    await ctx.mcpReq.log('info', 'a line');
    return text('logged');
  });
  const schema = fromJsonSchema<Record<string, string>>({
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  } as never);
  server.registerTool('test_custom_headers', { description: 'Headers', inputSchema: schema }, (({
    region,
  }: Record<string, string>) => text(`region ${region}`)) as never);
}
