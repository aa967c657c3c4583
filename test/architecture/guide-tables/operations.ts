import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../tools.ts';
import { tableOf } from './cell.ts';

/** What the table needs of an operation of gen/openapi.json. */
interface Operation {
  readonly tags: readonly string[];
  readonly summary?: string;
  readonly 'x-sluice-rpc'?: { readonly method?: string; readonly stream?: string };
}

interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Row {
  readonly rest: string[];
  readonly rpc: string;
  readonly summary: string;
}

/** The guide's tables, one for each tag in the document's order, from gen/openapi.json. */
export async function operationsTable(): Promise<string> {
  const document = JSON.parse(await readFile(join(ROOT, 'gen', 'openapi.json'), 'utf8')) as Document;
  const byTag = new Map(document.tags.map(({ name }) => [name, new Map<string, Row>()]));
  for (const [path, item] of Object.entries(document.paths))
    for (const [verb, operation] of Object.entries(item)) {
      const { method, stream } = operation['x-sluice-rpc'] ?? {};
      if (method === undefined) continue;
      const rows = byTag.get(operation.tags[0] ?? '');
      if (rows === undefined) throw new Error(`${verb} ${path} has no tag of the document`);
      const rest = `\`${verb.toUpperCase()} ${path}\``;
      const row = rows.get(method);
      if (row !== undefined) row.rest.push(rest);
      else rows.set(method, { rest: [rest], rpc: rpcName(method, stream), summary: operation.summary ?? '' });
    }
  return [...byTag]
    .filter(([, rows]) => rows.size > 0)
    .map(([tag, rows]) => `### ${tag}\n\n${tableFor([...rows.values()])}`)
    .join('\n\n');
}

function tableFor(rows: readonly Row[]): string {
  return tableOf(
    ['REST', 'gRPC', 'what it does'],
    rows.map(({ rest, rpc, summary }) => [rest.join(', '), rpc, summary]),
  );
}

/** The service without its package, its method, and the method that streams. */
function rpcName(method: string, stream: string | undefined): string {
  const short = method.replace(/^.*\./, '');
  return stream === undefined ? `\`${short}\`` : `\`${short}\`, \`${stream.replace(/^.*\//, '')}\``;
}
