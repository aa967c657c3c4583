// What is published has no scripts and no development dependencies in its package.json: those who install it build nothing.
// `npm pack` reads the file from the folder, so it is replaced before and put back afterwards.
'use strict';
const fs = require('fs');
const path = require('path');
const { build, findNode, isFresh } = require('../launch.cjs');

const ROOT = path.join(__dirname, '..', '..');
const FILE = path.join(ROOT, 'package.json');
const KEPT = path.join(ROOT, '.cache', 'package.json');

/** Puts the whole file back, also after a run that was interrupted. */
function restore() {
  // The file itself, with its time: the build is not older than it.
  if (fs.existsSync(KEPT)) fs.renameSync(KEPT, FILE);
}

restore();
if (process.argv[2] === 'before') {
  if (!isFresh(ROOT) && !build(findNode())) process.exit(1);
  const whole = fs.readFileSync(FILE, 'utf8');
  fs.mkdirSync(path.dirname(KEPT), { recursive: true });
  fs.renameSync(FILE, KEPT);
  const { scripts, devDependencies, overrides, allowScripts, ava, ...published } = JSON.parse(whole);
  fs.writeFileSync(FILE, `${JSON.stringify(published, null, 2)}\n`);
}
