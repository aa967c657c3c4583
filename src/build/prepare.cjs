// `npm ci` and `npm pack` build by this. Without the development dependencies there is nothing to build with, which is
// no fault: the package that is published has dist/ in it.
'use strict';
const { build, findNode } = require('../launch.cjs');

const node = findNode();
if (node === undefined) process.stderr.write('dist/ is not built: no suitable Node.js\n');
else if (!build(node)) process.stderr.write('dist/ is not built\n');
