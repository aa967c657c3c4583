// /exports/<token>: the file of an export, for everyone who has its address.
import { pipeline } from 'node:stream/promises';
import type { Middleware } from 'koa';

/** A file on its way out. */
export interface HandedFile {
  readonly name: string;
  readonly bytes: number;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Answers with the file, or with 404 for an address that is none or not any more. */
export function exportPage(find: (token: string) => Promise<HandedFile | undefined>): Middleware {
  return async (ctx) => {
    const token = ctx.path.slice(ctx.path.lastIndexOf('/') + 1);
    ctx.set('cache-control', 'no-store');
    ctx.set('x-content-type-options', 'nosniff');
    const file = await find(token).catch(() => 'away' as const);
    if (file === 'away') {
      ctx.status = 503;
      ctx.body = { error: 'the file cannot be read now' };
      return;
    }
    if (file === undefined) {
      ctx.status = 404;
      ctx.body = { error: 'there is no such file, or its address does not hold any more' };
      return;
    }
    const { res } = ctx;
    ctx.respond = false;
    res.writeHead(200, {
      'content-type': 'application/jsonl; charset=utf-8',
      'content-length': file.bytes,
      'content-disposition': `attachment; filename="${file.name}"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    if (ctx.method === 'HEAD') res.end();
    // A file that breaks off ends the connection before its length, so that clients see that it is incomplete.
    else await pipeline(file.pieces, res).catch(() => res.destroy());
  };
}
