#!/usr/bin/env node
// The `sluice-gateway` command: `sluice`, which starts the gateway when it is told nothing else.
'use strict';
const { main } = require('./launch.cjs');

const args = process.argv.slice(2);
const starts = args.length === 0 || (/^-/.test(args[0]) && !/^(-h|--help|--version)$/.test(args[0]));
main(starts ? ['start'].concat(args) : args);
