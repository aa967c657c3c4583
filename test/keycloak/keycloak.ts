// npm run keycloak: sign-in by a real Keycloak, with a gateway of its own. One line for each case; ends with 1 when one fails.
// Needs Java 17 and Maven, which fetches Keycloak once, and uses a chromium where there is one.
import { startGateway } from '../support/gateway.ts';
import { CLIENT } from '../support/identity-provider.ts';
import { browserJourney } from './in-browser.ts';
import { type Case, journey } from './journey.ts';
import { downloadKeycloak, freePort, type Keycloak, startKeycloak } from './server.ts';

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message);
  return 1;
});

async function main(): Promise<number> {
  await downloadKeycloak();
  const port = await freePort();
  const gateway = await startGateway({
    LOG_LEVEL: 'warn',
    GATEWAY_EGRESS_ALLOW: '127.0.0.1/32,localhost',
    GATEWAY_OIDC_ISSUER: `http://127.0.0.1:${port}/realms/sluice`,
    GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
    GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
  });
  let keycloak: Keycloak | undefined;
  try {
    const before = performance.now();
    keycloak = await startKeycloak(port, gateway.origin);
    console.log(`Keycloak answers after ${((performance.now() - before) / 1000).toFixed(0)} s`);
    const inBrowser = browserJourney(gateway);
    if (inBrowser.length === 0) console.log('NO CHROMIUM: nothing is tried in a browser');
    const cases = [...journey(gateway, keycloak), ...inBrowser];
    let failed = 0;
    for (const one of cases) failed += Number(!(await passes(one)));
    console.log(`${cases.length - failed} passed, ${failed} failed`);
    if (failed > 0) console.log(gateway.logLines.join(''));
    return failed === 0 ? 0 : 1;
  } finally {
    await keycloak?.close();
    await gateway.close();
  }
}

async function passes({ name, run }: Case): Promise<boolean> {
  try {
    const figure = await run();
    console.log(`ok    ${name}${figure === undefined ? '' : ` (${figure})`}`);
    return true;
  } catch (error) {
    console.log(`FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
