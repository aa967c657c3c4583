// The journey of a person in a browser: from a link of the console over Keycloak's pages and back, and out again.
import assert from 'node:assert/strict';
import { builtConsole, chromiumPath, openBrowser } from '../console/browser.ts';
import type { TestGateway } from '../support/gateway.ts';
import { type Case, PASSWORD } from './journey.ts';

/** Empty where there is no chromium. */
export function browserJourney(gateway: TestGateway): readonly Case[] {
  const program = chromiumPath();
  if (program === undefined) return [];
  return [
    {
      name: 'in chromium: from a link by Keycloak to its page, and out of both by Sign out',
      async run() {
        await builtConsole();
        const browser = await openBrowser(program);
        try {
          const page = await (await browser.newContext()).newPage();
          page.setDefaultTimeout(60_000);
          await page.goto(`${gateway.origin}/console/logs?status=429`);
          const button = page.getByRole('link', { name: 'Continue with single sign-on' });
          await button.click();
          await page.locator('#username').fill('ada');
          await page.locator('#password').fill(PASSWORD);
          await page.locator('#kc-login').click();
          await page.getByRole('navigation', { name: 'Main' }).waitFor();
          assert.equal(page.url(), `${gateway.origin}/console/logs?status=429`);
          await page.getByRole('button', { name: 'Sign out' }).click();
          await page.waitForURL(`${gateway.origin}/console`);
          await button.click();
          await page.locator('#username').waitFor();
          return undefined;
        } finally {
          await browser.close();
        }
      },
    },
  ];
}
