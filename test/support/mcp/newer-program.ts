// A program that is an MCP server of 2026-07-28: the official one over standard input and output. Its argument says whether
// it takes older clients, too (`both`), or not.
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const inputSchema = fromJsonSchema({ type: 'object', properties: {} });
const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });

serveStdio(
  ({ era }) => {
    const server = new McpServer(
      { name: 'newer-program', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool('about', { description: 'Says what it is', inputSchema }, () =>
      text(`${era} ${process.pid}`),
    );
    server.registerTool('steps', { description: 'Tells its progress', inputSchema }, (async (
      _args: unknown,
      { mcpReq }: { mcpReq: { _meta?: { progressToken?: unknown }; notify(notice: object): Promise<void> } },
    ) => {
      const { progressToken } = mcpReq._meta ?? {};
      for (const progress of [1, 2, 3])
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } });
      return text('done');
    }) as never);
    server.registerTool('more', { description: 'Has one tool more', inputSchema }, () => {
      server.registerTool(`more-${Date.now()}`, { description: 'more', inputSchema }, () => text('more'));
      return text('one more');
    });
    return server;
  },
  { legacy: process.argv[2] === 'both' ? 'serve' : 'reject' },
);
