// A search in what was asked and answered, through the front door: who finds what by it, and how it ends.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { ok } from '../support/front-door.ts';
import { bookEntry, personKey, serviceKey } from './logs-books.ts';
import { type Bench, type JsonObject, PROTOCOLS, raw, startBench } from './runner.ts';
import { STORES } from './stores.ts';
import { Caller } from './story.ts';

const { listLogs } = LogsService.method;
for (const [store, env] of STORES) {
  let bench: Bench;
  test.serial.before(async () => {
    bench = await startBench(env());
  });
  test.after.always(() => bench?.close());
  const idsOf = ({ data }: JsonObject): unknown[] => (data as JsonObject[]).map(({ id }) => id);
  const chat = async (content: string, key?: string): Promise<string> => {
    const { headers } = await raw(bench.gateway.origin, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        ...bench.headers(bench.mark()),
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'x-gateway-api-key': key }),
      },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }),
    });
    return String(headers['x-gateway-request-id']);
  };

  for (const protocol of PROTOCOLS) {
    const admin = new Caller(() => bench, protocol);

    test.serial(`what was asked and answered is found [${store}, ${protocol}]`, async (t) => {
      const mark = randomUUID();
      const asked = await chat(`Wo liegt "Zürich" ${mark}?\nSag es.`);
      const writer = await serviceKey(bench.gateway);
      const { id: told } = await ok(bench.gateway, 'POST', '/logs', {
        key: writer.key,
        body: {
          request: { url: '/x', body: { q: 'nothing' } },
          response: { body: { said: `it lies in ${mark}` } },
        },
      });
      const entry = bookEntry(bench.gateway, { metadata: { note: mark } });
      const { id: marked } = entry;
      bench.gateway.app.requestLog.record(entry);
      const all = await admin.ok(listLogs, { search: mark.toUpperCase() });
      t.deepEqual(idsOf(all).sort(), [asked, told, marked].sort());
      t.like(all, { total: 3, total_capped: false });
      t.false('search_incomplete' in all || 'searched_to' in all || 'next' in all);
      t.deepEqual(idsOf(await admin.ok(listLogs, { search: `"ZÜRICH" ${mark}?\nsag` })), [asked]);
      t.deepEqual(idsOf(await admin.ok(listLogs, { search: `${mark}!` })), []);
      // Page after page, and by number.
      const first = await admin.ok(listLogs, { search: mark, page_size: 2, include_total: 'exact' });
      t.like(first, { total: 3, total_capped: false });
      const second = await admin.ok(listLogs, { search: mark, page_size: 2, after: String(first.next) });
      t.deepEqual([...idsOf(first), ...idsOf(second)], idsOf(all));
      t.is(second.next, undefined);
      const numbered = await admin.ok(listLogs, {
        search: mark,
        page_size: 1,
        current_page: 2,
        order: 'asc',
      });
      t.deepEqual(idsOf(numbered), idsOf(all).slice(0, 1));
      // Other conditions hold beside it.
      t.deepEqual(idsOf(await admin.ok(listLogs, { search: mark, api_key_ids: writer.id })), [told]);
      t.deepEqual(idsOf(await admin.ok(listLogs, { search: mark, status_code: '404' })), []);
    });

    test.serial(`bodies that a caller may not see are not found [${store}, ${protocol}]`, async (t) => {
      const mark = randomUUID();
      const { id } = await ok(bench.gateway, 'POST', '/admin/workspaces', {
        body: { name: `Sealed ${mark}` },
      });
      const workspace = String(id);
      const scopes = ['logs.list', 'logs.view', 'logs.write', 'completions.write'];
      const person = await personKey(bench.gateway, 'member', scopes, workspace);
      const writer = await serviceKey(bench.gateway, workspace);
      const lister = await serviceKey(bench.gateway, workspace, ['logs.view']);
      const blind = await serviceKey(bench.gateway, workspace, [
        'logs.view',
        'logs.write',
        'completions.write',
      ]);
      const elsewhere = await serviceKey(bench.gateway);
      const write = async (key: string): Promise<unknown> => {
        const body = { request: { url: '/x', body: { said: mark } }, response: { body: {} } };
        return (await ok(bench.gateway, 'POST', '/logs', { key, body })).id;
      };
      const theirs = await write(person.key);
      const others = await write(writer.key);
      const own = await write(lister.key);
      const find = async ({ key }: { readonly key: string }) => {
        const page = await admin.as(key).ok(listLogs, { search: mark });
        t.false('search_incomplete' in page);
        return [page.total, idsOf(page).sort()];
      };
      const set = (body: JsonObject) =>
        ok(bench.gateway, 'PUT', `/admin/workspaces/${workspace}`, { body: { security_settings: body } });
      t.deepEqual(await find(writer), [3, [theirs, others, own].sort()]);
      // Without logs.view a key reads the calls that were made with it, and finds by no others.
      t.deepEqual(await find(lister), [1, [own]]);
      t.deepEqual(await find(blind), [0, []]);
      t.deepEqual(await find(elsewhere), [0, []]);
      await set({ membersViewAllData: true });
      t.deepEqual(await find(person), [3, [theirs, others, own].sort()]);
      await set({ membersViewAllData: false });
      t.deepEqual(await find(person), [1, [theirs]]);
      await set({ membersViewAllData: true, membersViewLogs: false });
      t.deepEqual(await find(person), [0, []]);
    });
  }
}
