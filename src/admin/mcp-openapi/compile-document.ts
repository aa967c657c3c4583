// An OpenAPI document as tools: which operations it has, and where the arguments of the chosen ones go. Pure.
import type { RestTool } from '../../access/mcp/mcp-collections.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Described } from '../mcp-integrations/catalogue.ts';
import { DocumentError, type DocumentOperation } from './document-error.ts';
import { operationTool } from './operation-tool.ts';
import { objectOf, resolved } from './references.ts';

export interface CompiledDocument {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
  readonly operations: readonly DocumentOperation[];
  readonly tools: readonly RestTool[];
  /** Of the tools, in their order. */
  readonly described: readonly Described[];
}

/** What is wrong, by the request's field. */
export interface DocumentFault {
  readonly fault: string;
  readonly message: string;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const MOST_OPERATIONS = 5000;

/** @param chosen operationIds, or methods and paths as "GET /pets" */
export function compileDocument(
  document: JsonObject,
  chosen: readonly string[],
): CompiledDocument | DocumentFault {
  try {
    return compiled(document, chosen);
  } catch (error) {
    if (error instanceof DocumentError) return { fault: error.field, message: error.message };
    throw error;
  }
}

function compiled(document: JsonObject, chosen: readonly string[]): CompiledDocument {
  if (!/^3\.[01]\.\d/.test(String(document.openapi)))
    throw new DocumentError('document', 'must be an OpenAPI document of version 3.0 or 3.1');
  const info = objectOf(document.info);
  const found = operationsOf(document);
  const names = new Set<string>();
  const made = chosen.map((wanted, i) => {
    const one = found.find(({ operation }) => isMeant(operation, wanted));
    if (one === undefined) throw new DocumentError(`operations[${i}]`, 'names no operation of the document');
    return operationTool(document, one.item, one.source, one.operation, names, `operations[${i}]`);
  });
  const summary =
    typeof info.description === 'string' ? { description: info.description.slice(0, 4096) } : {};
  return {
    title: String(info.title ?? '').slice(0, 255),
    version: String(info.version ?? '').slice(0, 255),
    ...summary,
    operations: found.map(({ operation }) => operation),
    tools: made.map(({ tool }) => tool),
    described: made.map(({ described }) => described),
  };
}

function isMeant({ id, method, path }: DocumentOperation, wanted: string): boolean {
  return id === wanted || `${method} ${path}` === wanted.replace(/^[a-z]+/, (verb) => verb.toUpperCase());
}

interface Found {
  readonly operation: DocumentOperation;
  /** The path's members, which hold for all of its operations. */
  readonly item: JsonObject;
  readonly source: JsonObject;
}

function operationsOf(document: JsonObject): readonly Found[] {
  const found: Found[] = [];
  for (const [path, given] of Object.entries(objectOf(document.paths))) {
    const item = objectOf(resolved(document, given as Json));
    for (const method of METHODS) {
      if (!Object.hasOwn(item, method)) continue;
      const source = objectOf(item[method]);
      const verb = method.toUpperCase();
      const { operationId, summary } = source;
      found.push({
        item,
        source,
        operation: {
          id: typeof operationId === 'string' && operationId !== '' ? operationId : `${verb} ${path}`,
          method: verb,
          path,
          ...(typeof summary === 'string' ? { summary: summary.slice(0, 255) } : {}),
        },
      });
    }
  }
  if (found.length > MOST_OPERATIONS)
    throw new DocumentError('document', `must have at most ${MOST_OPERATIONS} operations`);
  return found;
}
