// Invitations are mailed when there is a mail server; the answer holds the link in any case.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';

async function invite(gateway: TestGateway, email: string): Promise<{ status: number; link: string }> {
  const answer = await fetch(`${gateway.origin}/v1/admin/users/invites`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ email, role: 'member', workspaces: [] }),
  });
  const { invite_link: link = '' } = (await answer.json()) as { invite_link?: string };
  return { status: answer.status, link };
}

async function until(holds: () => boolean): Promise<boolean> {
  for (let i = 0; i < 1200 && !holds(); i++) await sleep(50);
  return holds();
}

test('the mail holds the link, the log does not', async (t) => {
  const server = await startMailServer();
  const gateway = await startGateway({
    GATEWAY_SMTP_URL: server.url,
    GATEWAY_MAIL_FROM: 'Sluice <gateway@example.com>',
    GATEWAY_PUBLIC_URL: 'https://gateway.example.com/',
    LOG_LEVEL: 'trace',
  });
  try {
    const { status, link } = await invite(gateway, 'new@example.com');
    t.is(status, 200);
    t.regex(link, /^https:\/\/gateway\.example\.com\/invite#id=[0-9a-f-]{36}&token=[\w-]{43}$/);
    t.true(await until(() => server.messages.length > 0));
    const mail = server.messages[0]!.replaceAll(/=\n/g, '').replaceAll('=3D', '=');
    t.true(mail.includes(link), mail);
    t.regex(mail, /^To: .*new@example\.com/m);
    t.regex(mail, /^From: .*gateway@example\.com/m);
    const token = link.slice(link.lastIndexOf('=') + 1);
    t.false(gateway.logLines.join('\n').includes(token));
    const audit = await fetch(`${gateway.origin}/v1/audit-logs`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    t.false((await audit.text()).includes(token));
  } finally {
    await gateway.close();
    await server.close();
  }
});

test('a mail server that refuses fails no invitation, and is told in the log', async (t) => {
  const server = await startMailServer({ refuse: true });
  const gateway = await startGateway({ GATEWAY_SMTP_URL: server.url });
  try {
    t.is((await invite(gateway, 'new@example.com')).status, 200);
    t.true(await until(() => gateway.logLines.some((line) => line.includes('a mail could not be sent'))));
  } finally {
    await gateway.close();
    await server.close();
  }
});

test('the link leads to a page of the console', async (t) => {
  const gateway = await startGateway();
  try {
    const answer = await fetch(`${gateway.origin}/invite`, { redirect: 'manual' });
    t.is(answer.status, 302);
    t.is(answer.headers.get('location'), '/console/invite');
  } finally {
    await gateway.close();
  }
});
