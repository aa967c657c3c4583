// What `npm ci` brings in: each file held to the lock file's integrity, and no script of any package run. The build has the packages' code in it.
import { readFileSync } from 'node:fs';
import test from 'ava';

const ROOT = new URL('../../', import.meta.url);

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
}

const lock = JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const own = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly dependencies?: object;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

test('each package of the lock file has an integrity', (t) => {
  t.true(packages.length > 100);
  t.deepEqual(
    packages.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path),
    [],
  );
});

test('no install script of a package runs: those that have one are refused by name', (t) => {
  const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  t.deepEqual(
    scripted.map((path) => path.slice('node_modules/'.length)).sort(),
    Object.entries(own.allowScripts)
      .filter(([, allowed]) => !allowed)
      .map(([name]) => name)
      .sort(),
  );
  // The project's own: the build, and what is published.
  t.deepEqual(
    Object.keys(own.scripts).filter((name) => /^(pre|post)|^install$/.test(name)),
    ['prepare', 'prepack', 'postpack'],
  );
});

test('who installs the package gets no packages but a Node.js', (t) => {
  t.is(own.dependencies, undefined);
  t.true(Object.keys(own.optionalDependencies).every((name) => /^node-/.test(name)));
});

test('the Node.js binary of each platform is a package of the lock file, and `node` of the scripts is this one', (t) => {
  const nodes = packages.filter(([, { bin }]) => bin?.node !== undefined);
  t.deepEqual(nodes.map(([, { os, cpu }]) => `${os} ${cpu}`).sort(), [
    ...['darwin arm64', 'darwin x64', 'linux arm64', 'linux x64', 'win32 arm64', 'win32 x64'],
  ]);
  const own = nodes.find(([, { os, cpu }]) => os === process.platform && cpu === process.arch)?.[1];
  t.is(own && `v${own.version}`, process.version);
});
