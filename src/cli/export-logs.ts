// `sluice logs export`: an export of the request log, made, waited for and fetched.
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { progressOf } from '../lib/progress.ts';
import { type Gateway, type JsonObject, type Remote, withGateway } from './client.ts';
import type { Output, Terminal } from './output.ts';

export interface ExportLogsOptions extends Remote {
  readonly json?: boolean;
  /** Where the lines go; a dash or nothing: stdout. */
  readonly output?: string | undefined;
  /** ISO 8601 with offset. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Slug or id. */
  readonly workspace?: string | undefined;
  /** Members of each line, with commas between them. */
  readonly fields?: string | undefined;
  /** How many entries at the most. */
  readonly limit?: string | undefined;
}

/** Members of a line unless others are asked for: all but the bodies. */
const FIELDS =
  'id,trace_id,created_at,is_success,ai_org,ai_model,req_units,res_units,total_units,request_url,cost,cost_currency,' +
  'response_time,response_status_code,mode,config,prompt_slug,metadata,api_key_id,workspace_id,cache_status,user_id';
const MOST = 10_000_000;
const LOOK_MS = 250;

/** Writes the lines, and tells on stderr how far it is. @throws Error for people, also when the export fails */
export async function exportLogs(options: ExportLogsOptions, { env, out, tell }: Terminal): Promise<void> {
  const limit = limitOf(options.limit);
  const { output = '-' } = options;
  const file = output === '-' ? undefined : await opened(output);
  try {
    await exported(options, limit, file, { env, out, tell });
  } finally {
    await file?.close();
    if (file) await rm(partOf(output), { force: true });
  }
}

async function exported(
  options: ExportLogsOptions,
  limit: number,
  file: FileHandle | undefined,
  { env, out, tell }: Terminal,
): Promise<void> {
  const { output = '-' } = options;
  await withGateway(options, env, async (gateway) => {
    const { id, total } = await begun(gateway, options, limit);
    const told = progressOf('entries', tell, total);
    const rows = await written(gateway, id, told);
    const { signed_url: url } = await gateway.call('GET', `/logs/exports/${id}/download`);
    await fetched(gateway, String(url), file, out);
    if (file === undefined) return;
    await rename(partOf(output), output);
    if (options.json) out.json({ id, entries: rows, file: output });
    else out.line(`${rows} entries are in ${output}.`);
  });
}

/** Makes an export and starts it. */
async function begun(
  gateway: Gateway,
  { from, to, workspace, fields = FIELDS }: ExportLogsOptions,
  limit: number,
): Promise<{ readonly id: string; readonly total: number | undefined }> {
  const filters: JsonObject = {
    page_size: limit,
    ...(from === undefined ? {} : { time_of_generation_min: from }),
    ...(to === undefined ? {} : { time_of_generation_max: to }),
    ...(workspace === undefined ? {} : { workspace_slug: workspace }),
  };
  const asked = { filters, requested_data: fields.split(','), description: 'sluice logs export' };
  const { id } = await gateway.call('POST', '/logs/exports', asked);
  const total = await totalOf(gateway, { from, to, workspace }).catch(() => undefined);
  await gateway.call('POST', `/logs/exports/${String(id)}/start`, {});
  return { id: String(id), total: total === undefined ? undefined : Math.min(total, limit) };
}

/** How many entries there are to write. */
async function totalOf(gateway: Gateway, { from, to, workspace }: ExportLogsOptions): Promise<number> {
  const query = new URLSearchParams({ page_size: '1', include_total: 'exact' });
  if (from !== undefined) query.set('time_of_generation_min', from);
  if (to !== undefined) query.set('time_of_generation_max', to);
  if (workspace !== undefined) query.set('workspace_slug', workspace);
  return Number((await gateway.call('GET', `/logs?${query}`)).total);
}

/** Resolves with the number of entries when all are written. */
async function written(gateway: Gateway, id: string, told: (done: number) => void): Promise<number> {
  for (;;) {
    const { status, total_records: rows, error } = await gateway.call('GET', `/logs/exports/${id}`);
    if (status === 'success') return Number(rows ?? 0);
    if (status !== 'in_progress')
      throw new Error(`the export ${id} is ${status}: ${error ?? 'start it again'}`);
    told(Number(rows ?? 0));
    await sleep(LOOK_MS);
  }
}

/** The lines. */
async function fetched(
  gateway: Gateway,
  url: string,
  file: FileHandle | undefined,
  out: Output,
): Promise<void> {
  // The address that people use may lead elsewhere than the way this command came.
  const path = `/exports/${new URL(url).pathname.split('/').at(-1) ?? ''}`;
  if (file === undefined) return gateway.fetch(path, out.stream, { end: false });
  await gateway.fetch(path, file.createWriteStream());
}

/** Where the lines are until all of them are there. */
function partOf(output: string): string {
  return `${output}.part`;
}

/** The file, before anything is exported for it. @throws Error for people when it cannot be written */
async function opened(output: string): Promise<FileHandle> {
  if ((await stat(output).catch(() => undefined))?.isDirectory())
    throw new Error(`--output: ${output} is a folder: name a file`);
  return open(partOf(output), 'w', 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw new Error(`--output: ${output} cannot be written (${code})`);
  });
}

function limitOf(given = String(MOST)): number {
  const limit = Number(given);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST)
    throw new Error(`--limit: must be a whole number from 1 to ${MOST}`);
  return limit;
}
