// Servers of the official SDK for the MCP bench, one of each generation, as a process of their own: it prints their
// addresses as one line of JSON.
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { startLegacyUpstream, startModernUpstream } from '../support/mcp/upstreams.ts';

/** One tool that answers at once. */
function echoServer(): McpServer {
  const server = new McpServer(
    { name: 'bench', version: '1' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const inputSchema = fromJsonSchema<{ text: string }>({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  });
  server.registerTool('echo', { description: 'Says it again', inputSchema }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  return server;
}

const [older, newer] = await Promise.all([startLegacyUpstream(echoServer), startModernUpstream(echoServer)]);
console.log(JSON.stringify({ older: older.url, newer: newer.url }));
process.once('SIGTERM', () => process.exit(0));
