// What stories about prompts, partials, labels and collections have in common.
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { JsonObject } from './runner.ts';
import type { Caller } from './story.ts';

let count = 0;
export const fresh = (word: string): string => `${word}-${++count}`;

export const data = (list: JsonObject): JsonObject[] => list.data as JsonObject[];

/** Makes a workspace and answers its id. */
export async function newWorkspace(admin: Caller): Promise<string> {
  return String((await admin.ok(WorkspacesService.method.createWorkspace, { name: fresh('ws') })).id);
}
