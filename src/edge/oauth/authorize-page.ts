// /oauth/authorize: the person signs in at the console, reads which client asks for what, and answers.
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import { answerLocation, ToldByRedirect } from '../../access/oauth/authorize-request.ts';
import type { Consent, ConsentQuestion, Visitor } from '../../access/oauth/consent.ts';
import { OauthError } from '../../access/oauth/oauth-error.ts';
import { isLoopbackUri, redirectHost } from '../../access/oauth/redirect-uri.ts';
import { toGatewayError } from '../../lib/errors.ts';
import { urlText } from '../../lib/url-text.ts';
import type { BodyReader } from '../read-body.ts';
import { Html, html, respondPage, respondRedirect } from './page-html.ts';
import { readSmallBody } from './small-body.ts';

export const AUTHORIZE_PATH = '/oauth/authorize';
const MOST_QUERY = 12_288;

export interface AuthorizePageDeps {
  readonly consent: Pick<Consent, 'ask' | 'answer'>;
  readonly visitorOf: (req: IncomingMessage) => Visitor;
  /** Where people sign in; takes `return_to`. */
  readonly signInPath: string;
}

/** GET: the question. Opening it changes nothing. */
export function questionPage({ consent, visitorOf, signInPath }: AuthorizePageDeps): Middleware {
  return async (ctx) => {
    const visitor = visitorOf(ctx.req);
    await told(ctx, visitor, async () => {
      if (ctx.search.length > MOST_QUERY) throw new OauthError('invalid_request', 'the request is too long');
      const question = await consent.ask(new URLSearchParams(ctx.querystring), visitor);
      if (question === 'sign-in') return respondRedirect(ctx, signInLocation(ctx, signInPath));
      const target = formTarget(question.redirectUri);
      respondPage(ctx, 200, `Allow ${question.client.name || 'an application'}?`, questionHtml(question), [
        target,
      ]);
    });
  };
}

/** POST: the answer. */
export function answerPage({ consent, visitorOf }: AuthorizePageDeps, bodies: BodyReader): Middleware {
  return async (ctx) => {
    const visitor = visitorOf(ctx.req);
    await told(ctx, visitor, async () => {
      const form = new URLSearchParams(await readSmallBody(bodies, ctx, 'application/x-www-form-urlencoded'));
      respondRedirect(ctx, await consent.answer(form, visitor));
    });
  };
}

/** The console's sign-in, which leads back here. */
export function signInLocation(ctx: Context, signInPath: string): string {
  return `${signInPath}?return_to=${urlText(ctx.path + ctx.search)}`;
}

async function told(ctx: Context, { base }: Visitor, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof ToldByRedirect) {
      const { fault, redirectUri, state } = error;
      const members = { error: fault.code, error_description: fault.message };
      respondRedirect(ctx, answerLocation(redirectUri, base, state, members));
    } else if (error instanceof OauthError) respondRefusal(ctx, error.status, error.message);
    else respondRefusal(ctx, toGatewayError(error).status, 'the gateway cannot answer now: try again');
  }
}

/** What went wrong, for the person. */
export function respondRefusal(ctx: Context, status: number, message: string): void {
  respondPage(ctx, status, 'That did not work', html`<p>${message}</p>`);
}

function questionHtml({ client, redirectUri, target, workspaces, person, ticket }: ConsentQuestion): Html {
  const all = [...workspaces];
  const names = all.map(([, name]) => name).join(', ');
  const what =
    target.name === undefined ? 'all MCP servers of the workspace' : `the MCP server ${target.name}`;
  const choice =
    all.length === 1
      ? new Html('')
      : html`<label>Workspace <select name="workspace">${all.map(([id, name]) => html`<option value="${id}">${name}</option>`)}</select></label>`;
  const vouched =
    client.host === undefined
      ? html`<p class="note">This application has registered itself: nobody has checked its name.</p>`
      : new Html('');
  const local = isLoopbackUri(redirectUri)
    ? html`<p class="note">The answer goes to a program on this computer. Allow it only if you have just started it.</p>`
    : new Html('');
  return html`<p>It asks to call tools in your name, with your rights.</p>
<dl>
<dt>Application</dt><dd>${client.name || 'without a name'}</dd>
${client.host === undefined ? new Html('') : html`<dt>Published by</dt><dd>${client.host}</dd>`}
<dt>Answer goes to</dt><dd>${redirectHost(redirectUri)}</dd>
<dt>For</dt><dd>${what}</dd>
<dt>Workspace</dt><dd>${names}</dd>
<dt>Scope</dt><dd>mcp.invoke: list and call tools, read resources and prompts</dd>
<dt>You are</dt><dd>${person}</dd>
</dl>
${vouched}${local}
<form method="post" action="/oauth/authorize">
<input type="hidden" name="ticket" value="${ticket}">
${choice}
<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button>
</form>`;
}

/** Chrome holds redirects after a form to the policy of the form, too. */
function formTarget(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? origin : protocol;
}
