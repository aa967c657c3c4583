import { DatabaseSync } from 'node:sqlite';
import { statementCache } from '../../src/store/sqlite/statement-cache.ts';
import { SegmentFiles } from '../../src/store/sqlite/log/segment-files.ts';
import { Scratch } from '../../src/store/sqlite/log/segment.ts';
import { Selection } from '../../src/store/sqlite/log/selection.ts';
import { ValueTables } from '../../src/store/sqlite/log/value-table.ts';
import { LogView } from '../../src/store/sqlite/log/view.ts';
import { Grouping } from '../../src/store/sqlite/log/grouping.ts';
import { Histograms } from '../../src/store/sqlite/log/histograms.ts';
import * as G from '../../src/store/sqlite/log/grouped-rows.ts';
import * as C from '../../src/store/sqlite/log/row-classes.ts';
import { Accumulator } from '../../src/store/sqlite/log/accumulator.ts';
import { ORGANISATION, BEGIN, END } from './log-generator.ts';
const db = new DatabaseSync('/tmp/five/sluice.db', { readOnly: true });
const files = new SegmentFiles('/tmp/five/logs', 2000);
const log = new LogView(statementCache(db), files, 8192);
const values = new ValueTables(); const scratch = new Scratch();
const view = log.refresh();
const filter = { from: BEGIN, until: END };
const sel = new Selection({ org: ORGANISATION, workspace: null }, filter, view.hash, undefined, values, scratch);
const parts = view.parts.filter((p) => sel.overlaps(p));
const t: Record<string, number> = {};
const us = () => { const c = process.cpuUsage(); return (c.user + c.system) / 1000; };
for (let round = 0; round < 6; round++) {
  for (const k in t) t[k] = 0;
  const grouping = new Grouping({ by: [process.argv[2] === 'p' ? 'userId' : { metadata: 'environment' }] }, sel);
  const h = new Histograms(); h.grow(600);
  const sums = Array.from({ length: 20 }, () => new Float64Array(600));
  const acc = new Accumulator(true);
  const time = <T,>(name: string, f: () => T): T => { const s = process.hrtime.bigint(); const r = f(); t[name] = (t[name] ?? 0) + Number(process.hrtime.bigint() - s) / 1e6; return r; };
  for (const p of parts) {
    const seg = time('open', () => p.open());
    const s = time('rows', () => sel.rows(seg));
    const g = time('assign', () => grouping.assign(seg, s));
    acc.grow(grouping.size);
    const names = ['promptTokens', 'completionTokens', 'totalTokens', 'latencyUs', 'cost'] as const;
    const packed = time('read5', () => names.map((n) => seg.packed(n, scratch)));
    const zeros = new Uint8Array(scratch.bytes('zeros', seg.count));
    time('together', () => G.addTogether(g, sums[0]!, packed.map((numbers, i) => ({ sums: sums[i + 1]!, numbers })) as any, zeros));
    const times = time('times', () => seg.numbers('time', scratch));
    time('bounds', () => G.addBounds(sums[7]!, sums[8]!, g, times, times));
    for (const [n, c, w] of [['statusCode', C.STATUS_CLASSES, 1], ['statusCode', C.STATUS_CLASSES, 2], ['retries', C.RETRIED, 1], ['rescued', C.RESCUED, 1]] as const) {
      const f = time('flags ' + n + w, () => C.rowFlags(seg, n, c, w, scratch));
      if (typeof f === 'object') time('addFlagged ' + n + w, () => G.addFlagged(sums[9]!, g, f));
    }
    for (const w of [1, 2]) {
      const f = time('flags cache', () => C.rowFlags(seg, 'cacheStatus', C.CACHE_CLASSES, w, scratch));
      if (typeof f === 'object') { const o = time('keepFlagged', () => G.keepFlagged(g, f, scratch, 'x')); time('hits', () => { G.addCounts(sums[10]!, o, 1); G.addNumbers(sums[11]!, o, seg.packed('latencyUs', scratch)); G.addNumbers(sums[12]!, o, seg.packed('saved', scratch)); }); }
    }
    const b = time('read bucket', () => seg.packed('latencyBucket', scratch));
    time('histogram', () => h.addRows(g, b));
  }
  if (round === 5) console.log(Object.entries(t).map(([k, v]) => `${k} ${v.toFixed(1)}`).join('\n'), '\nsum', Object.values(t).reduce((a, b) => a + b));
}
