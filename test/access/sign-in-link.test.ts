// Links by mail that sign a person in: once, for 10 minutes, in the browser that asked.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { Browser } from '../support/identity-provider.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';

let mail: MailServer;
let gateway: TestGateway;
test.before(async () => {
  mail = await startMailServer();
  gateway = await startGateway({ GATEWAY_SMTP_URL: mail.url, LOG_LEVEL: 'trace' });
});
test.after.always(async () => {
  await gateway?.close();
  await mail?.close();
});

async function invited(email: string): Promise<string> {
  const body = { email, role: 'member', workspaces: [{ id: 'default', role: 'member' }] };
  await ok(gateway, 'POST', '/admin/users/invites', { body });
  return email;
}

/** Asks for a link, as the page does. */
async function ask(browser: Browser, email: string, returnTo?: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${gateway.origin}/v1/sessions/links`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ email, ...(returnTo === undefined ? {} : { return_to: returnTo }) }),
  });
  const cookie = answer.headers.getSetCookie()[0] ?? '';
  if (cookie !== '') browser.cookies(gateway.origin).set('sluice_link', cookie.split(/[=;]/)[1] ?? '');
  return { status: answer.status, json: await answer.json(), cookie };
}

/** The newest link to an address. */
async function linkTo(email: string, after = 0): Promise<string> {
  const text = (
    await eventually('the mail', () =>
      mail.messages.slice(after).findLast((one) => one.includes(email) && one.includes('Sign in')),
    )
  )
    .replaceAll(/=\n/g, '')
    .replaceAll('=3D', '=');
  return /http\S+\/console\/sign-in\/link\?token=\S+/.exec(text)?.[0] ?? '';
}

const whoami = (browser: Browser) => browser.ask(`${gateway.origin}/v1/sessions/current`);

test.serial(
  'an invited person signs in by a link, and comes back to the page that they wanted',
  async (t) => {
    t.like(await (await fetch(`${gateway.origin}/v1/sessions/methods`)).json(), { mail: true });
    const email = await invited('ada@link.test');
    const browser = new Browser();
    const { status, json, cookie } = await ask(browser, 'Ada@Link.test', '/console/logs?status=429');
    t.is(status, 200);
    t.like(json, { object: 'sign-in-link', expires_in: 600 });
    t.regex(cookie, /Path=\/console\/sign-in; HttpOnly; SameSite=Lax; Max-Age=600/);
    const link = await linkTo(email);
    const other = new Browser();
    t.is((await other.ask(link)).status, 401, 'another browser');
    const back = await browser.ask(link);
    t.is(back.status, 303);
    t.is(back.headers.get('location'), '/console/logs?status=429');
    t.like(await (await whoami(browser)).json(), { name: email, workspaces: [{ slug: 'default' }] });
    const again = new Browser();
    again.cookies(gateway.origin).set('sluice_link', cookie.split(/[=;]/)[1] ?? '');
    t.is((await again.ask(link)).status, 401, 'a second use');
    const token = new URL(link).searchParams.get('token') ?? '';
    t.false(gateway.logLines.join('').includes(token.slice(0, 60)), 'the log has no link');
  },
);

test.serial('every address has the same answer, and strangers get no mail', async (t) => {
  const known = await invited('known@link.test');
  const before = mail.messages.length;
  const stranger = await ask(new Browser(), 'stranger@link.test');
  const answer = await ask(new Browser(), known);
  t.deepEqual(stranger.json, answer.json);
  t.is(stranger.cookie.length, answer.cookie.length);
  await linkTo(known, before);
  t.false(mail.messages.some((one) => one.includes('stranger@link.test')));
});

test.serial('one address gets at most 3 links; forged and changed links are refused', async (t) => {
  const email = await invited('often@link.test');
  const before = mail.messages.length;
  const browser = new Browser();
  for (let i = 0; i < 5; i++) t.is((await ask(browser, email)).status, 200);
  const last = await invited('last@link.test');
  await ask(new Browser(), last);
  await linkTo(last, before);
  const sent = mail.messages.slice(before).filter((one) => one.includes(email) && one.includes('Sign in'));
  t.true(sent.length <= 3, `${sent.length} links`);
  const link = await linkTo(email, before);
  for (const forged of [
    link.slice(0, -4),
    link.replace('token=ey', 'token=eyx'),
    `${gateway.origin}/console/sign-in/link`,
  ])
    t.is((await browser.ask(forged)).status, 401);
});

test.serial('pages of other sites ask for no link; an address that is none is named', async (t) => {
  const browser = new Browser();
  const cross = await ask(browser, 'ada@link.test', undefined, { origin: 'https://elsewhere.test' });
  t.is(cross.status, 403);
  t.is((await ask(browser, 'not an address')).status, 400);
});

test.serial('a gateway without a mail server says so', async (t) => {
  const plain = await startGateway();
  t.teardown(() => plain.close());
  const answer = await fetch(`${plain.origin}/v1/sessions/links`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ada@link.test' }),
  });
  t.is(answer.status, 400);
  t.regex(await answer.text(), /sends no mail/);
});
