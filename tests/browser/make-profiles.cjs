// SPDX-License-Identifier: Apache-2.0
// Writes profiles for the browser test, by hand, so that it does not lean on the program it tests. The shapes
// have known answers: cyclic sweeps hit nothing below their length and everything from it on.
'use strict';
const fs = require('fs');
const path = require('path');
const folder = process.argv[2];

const profile = (name, granularity, distinct, bins, more) => {
  const counted = bins.reduce((sum, bin) => sum + bin[2], 0);
  return Object.assign({
    schema: 'fathom-profile-1', name, engine: 'exact', exact: true, granularity, references: counted + distinct,
    distinct, cold: distinct, complete: true, lost: 0, histogram: bins,
  }, more);
};
const write = (file, content) => fs.writeFileSync(path.join(folder, file), JSON.stringify(content));

// 16384 blocks of 64 bytes (1 MiB), swept 9 times: 8/9 of the references have the distance 16383.
const sweep = [[0, 0, 50000], [16383, 16383, 131072]];
write('plain.json', profile('traces/sweep.fathom', 64, 16384, sweep,
  {bins: 'exact', times: [[1, 1, 50000], [16384, 16384, 131072]]}));
write('other.json', profile('traces/small.fathom', 64, 500, [[0, 0, 1000], [3, 3, 70000], [499, 499, 90000]], {bins: 'exact'}));

const fine = profile('run', 8, 4000, [[1, 1, 9000], [600, 600, 3000]], {bins: 'exact'});
const coarse = profile('run', 4096, 40, [[0, 0, 11000], [39, 39, 1000]], {bins: 'exact'});
write('several.json', Object.assign({}, fine, {profiles: [fine, coarse]}));

const nasty = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u2028<!-- \u001b[31m';
write('hostile.json', profile(nasty, 64, 100, [[7, 7, 900]],
  {bins: 'exact', engine: '<b>exact</b>', complete: false, lost: 5, what_missing: '<img src=x onerror=alert(3)>'}));

write('keys.json', profile('keys.txt', 1, 1000, [[0, 0, 10], [999, 999, 5000]], {bins: 'exact', bound: 2000, beyond: 0}));

const many = [];
for (let i = 0; i < 1000000; i += 5) many.push([i, i, 1 + (i % 7)]);
write('large.json', profile('many-bins', 64, 1000000, many, {bins: 'exact'}));

write('empty.json', profile('nothing', 64, 0, [], {bins: 'loglinear'}));

write('phases.json', profile('steps', 1, 50, [[49, 49, 350]], {bins: 'exact', exact: false, accuracy: {statement: '<b>within 5 %</b>'},
  phases: {threshold: 25, samples: [{block: 7, times: [[100, 49], [250, 49]]}],
    phases: [[0, 100, 50, 50, 0], [100, 250, 40, 0, 1], [250, 400, 40, 0, 1]]}}));

// Two rounds of three, and a phase with none inside.
write('nested-phases.json', profile('rounds', 1, 50, [[49, 49, 650]], {bins: 'exact',
  phases: {threshold: 25, cut: 'changes', samples: [{block: 7, times: [[300, 49], [600, 49]]}],
    phases: [[0, 300, 50, 50, 0], [300, 600, 50, 0, 0], [600, 700, 9, 0, 1]],
    inner: [{level: 2, phases: [[0, 100, 20, 20, 0, 0], [100, 200, 10, 10, 1, 0], [200, 300, 30, 20, 2, 0],
      [300, 400, 20, 0, 0, 1], [400, 500, 10, 0, 1, 1], [500, 600, 30, 0, 2, 1]]}]}}));
