// What the port serves in addition to the API: health, metrics and documents.
import Router from '@koa/router';
import type { Middleware } from 'koa';
import { exportPage, type HandedFile } from './export-page.ts';
import { homePage } from './home-page.ts';
import { type MetricsDeps, metricsPage } from './metrics-page.ts';
import { addOauthRoutes, type OauthSurface } from './oauth/oauth-routes.ts';
import { BodyReader } from './read-body.ts';
import { SCIM_BASE, type ScimPageDeps, scimPage } from './scim-page.ts';
import {
  beginPage,
  CALLBACK_PATH,
  callbackPage,
  LINK_PATH,
  LOGOUT_PATH,
  linkPage,
  logoutPage,
  SIGN_IN_PATH,
  SIGNED_OUT_PATH,
  type SignInSurface,
  signedOutPage,
} from './sign-in-page.ts';

/** What the pages show. */
export interface PageDeps {
  /** Undefined: ready. Else why not. Must answer within a bound. */
  readonly unready: () => Promise<string | undefined>;
  readonly metrics: MetricsDeps;
  /** The OpenAPI document's JSON text. */
  readonly openapi: () => Promise<Buffer>;
  readonly docs: Middleware;
  readonly console: Middleware;
  /** The file that an address is for. Must answer within a bound. */
  readonly exportFile: (token: string) => Promise<HandedFile | undefined>;
  readonly scim: ScimPageDeps;
  readonly oauth: OauthSurface;
  readonly signIn: SignInSurface;
}

export function pages({
  unready,
  metrics,
  openapi,
  docs,
  console: consoleFiles,
  exportFile,
  scim,
  oauth,
  signIn,
}: PageDeps): Middleware {
  const router = new Router();
  router.get('/', homePage());
  for (const path of ['/healthz', '/health'])
    router.get(path, (ctx) => {
      ctx.body = { status: 'ok' };
    });
  router.get('/readyz', async (ctx) => {
    const why = await unready();
    ctx.status = why === undefined ? 200 : 503;
    ctx.body = why === undefined ? { status: 'ready' } : { status: 'unready', reason: why };
  });
  router.get('/metrics', metricsPage(metrics));
  router.get('/openapi.json', async (ctx) => {
    ctx.body = await openapi();
    ctx.type = 'application/json';
  });
  // Where the link of an invitation leads: a page of the console. Browsers keep what stands after the `#`.
  router.get('/invite', (ctx) => ctx.redirect('/console/invite'));
  router.get('/exports/:token', exportPage(exportFile));
  router.get(SIGN_IN_PATH, beginPage(signIn));
  router.get(LINK_PATH, linkPage(signIn));
  router.get(CALLBACK_PATH, callbackPage(signIn));
  router.get(SIGNED_OUT_PATH, signedOutPage(signIn));
  const bodies = new BodyReader(scim.pace, scim.budget);
  router.post(LOGOUT_PATH, logoutPage(signIn, bodies));
  addOauthRoutes(router, oauth, bodies);
  router.all(`${SCIM_BASE}{/*path}`, scimPage(scim));
  router.get('/docs{/*path}', docs);
  router.get('/console{/*path}', consoleFiles);
  return router.routes() as unknown as Middleware;
}
