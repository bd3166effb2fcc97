// SPDX-License-Identifier: Apache-2.0
// Writes profiles of programs for the browser test: a program with its source, one whose names are hostile, one
// with threads and processes, and a very large one. See attribution-builder.cjs.
'use strict';
const fs = require('fs');
const path = require('path');
const {Builder, EDGES} = require('./attribution-builder.cjs');
const folder = process.argv[2];
const write = (file, content) => fs.writeFileSync(path.join(folder, file), JSON.stringify(content));

// ---- a program with its source ----

const source = path.join(folder, 'smooth.c');
const header = path.join(folder, 'grid.h');
const lost = '/nowhere/at/all/lost.c';
fs.writeFileSync(
  header,
  `#pragma once
#include <stddef.h>
typedef struct grid { size_t rows, columns; double *cells; } grid;
static inline double *cell(grid *g, size_t row, size_t column)
{
    return &g->cells[row * g->columns + column];
}
`
);
fs.writeFileSync(
  source,
  `#include "grid.h"
#include <stdlib.h>
/* </script><script>alert('source')</script> & <b>bold</b> \u2028 in a comment */

double weights[9];

static void fill(grid *g)
{
\tfor (size_t row = 0; row < g->rows; row++)
\t\tfor (size_t column = 0; column < g->columns; column++)
\t\t\t*cell(g, row, column) = (double)(row ^ column);
}

static void smooth(grid *to, grid *from)
{
    for (size_t column = 1; column + 1 < from->columns; column++)
        for (size_t row = 1; row + 1 < from->rows; row++) {
            double sum = 0;
            for (size_t i = 0; i < 9; i++)
                sum += weights[i] * *cell(from, row + i / 3 - 1, column + i % 3 - 1);
            *cell(to, row, column) = sum;
        }
}

static double largest(grid *g)
{
    double most = 0;
    for (size_t i = 0; i < g->rows * g->columns; i++)
        if (g->cells[i] > most) most = g->cells[i];
    return most;
}

int main(void)
{
    grid a = {2000, 2000, malloc(32000000)}, b = {2000, 2000, malloc(32000000)};
    fill(&a);
    for (int round = 0; round < 5; round++) {
        smooth(&b, &a);
        smooth(&a, &b);
    }
    return largest(&a) > 1;
}
`
);

const program = () => {
  const b = new Builder();
  b.source(source);
  b.source(header, null, {newer: true});
  b.source(lost, 'was there');
  const main = b.module(path.join(folder, 'smooth'), {build_id: '11aa'});
  const libc = b.module('/lib/x86_64-linux-gnu/libc.so.6');
  b.module('/lib/x86_64-linux-gnu/libm.so.6', {unseen: true});
  const at = (name, line, address, column, more) => b.site(main, address, [[name, source, line, column]], more);
  const inlined = (name, line, address, more) =>
    b.site(
      main,
      address,
      [
        ['cell', header, 6, 12],
        [name, source, line, 14],
      ],
      more
    );
  const callSmooth = at('main', 38, 0x13a0, 9),
    callSmoothBack = at('main', 39, 0x13b0, 9),
    callFill = at('main', 36, 0x1390, 5);
  const there = b.path(null, callSmooth),
    back = b.path(null, callSmoothBack),
    filling = b.path(null, callFill);
  const store = b.site(
    main,
    0x1210,
    [
      ['cell', header, 6, 12],
      ['fill', source, 11, 5],
    ],
    {path: filling}
  );
  const loadThere = inlined('smooth', 20, 0x1280, {path: there}),
    loadBack = inlined('smooth', 20, 0x1280, {path: back});
  const storeThere = at('smooth', 21, 0x12c4, 13, {path: there}),
    storeBack = at('smooth', 21, 0x12c4, 13, {path: back});
  const weight = at('smooth', 20, 0x1270, 24, {path: there});
  const scan = at('largest(grid*)', 28, 0x1330, 13),
    again = at('largest(grid*)', 28, 0x1342, 41);
  const gone = b.site(main, 0x1500, [['vanished', lost, 7, 3]]);
  const copy = b.site(libc, 0x9a1f0, [], {symbol: '__memmove_avx_unaligned_erms', offset: 0x40});
  const nameless = b.site(libc, 0x9b000, []),
    made = b.site(null, 0x7f0012345678, []);
  // 2000 × 2000 doubles are 500,000 blocks a grid.
  b.pair(null, store, {}, 500000);
  b.pair(store, store, {0: 3400000, 1: 100000});
  b.pair(store, loadThere, {130000: 900000, 600000: 480000});
  b.pair(loadThere, loadThere, {3: 21000000, 2: 4000000, 5000: 3600000, 7000: 400000});
  b.pair(loadBack, loadBack, {3: 20500000, 5000: 3500000});
  b.pair(storeThere, loadBack, {600000: 510000, 140000: 2100000});
  b.pair(storeBack, loadThere, {600000: 500000, 140000: 2000000});
  b.pair(loadThere, storeBack, {900: 1500000, 20000: 2400000});
  b.pair(null, storeThere, {}, 500000);
  b.pair(storeThere, storeThere, {4000: 3100000, 700: 300000});
  b.pair(weight, weight, {1: 90000000, 2: 8000000});
  b.pair(null, weight, {}, 2);
  b.pair(storeBack, scan, {700000: 499000});
  b.pair(scan, scan, {0: 3500000});
  b.pair(scan, again, {0: 2000});
  b.pair(again, gone, {2500: 700});
  b.pair(gone, copy, {30000: 1234});
  b.pair(copy, nameless, {1000: 55, 700000: 11});
  b.pair(null, made, {}, 3);
  b.pair(made, made, {0: 40});

  const first = b.object({kind: 'heap', size: 32000000, blocks: 1, allocation: b.path(null, at('main', 35, 0x1370, 31))});
  const second = b.object({kind: 'heap', size: 32000000, blocks: 1, allocation: b.path(null, at('main', 35, 0x137a, 70))});
  const table = b.object({kind: 'global', name: 'weights', module: main, address: 0x4060, size: 72});
  const stack = b.object({kind: 'stack', thread: 1});
  b.use(first, store, {}, 500000);
  b.use(first, loadThere, {130000: 900000, 600000: 980000, 140000: 2000000, 5000: 3600000, 7000: 400000});
  b.use(first, storeBack, {900: 1500000, 20000: 2400000});
  b.use(first, scan, {700000: 499000});
  b.use(second, loadBack, {600000: 510000, 140000: 2100000, 5000: 3500000});
  b.use(second, storeThere, {4000: 3100000}, 500000);
  b.use(table, weight, {}, 2);
  b.use(stack, copy, {30000: 1234});
  b.named = {loadThere, loadBack, storeThere, storeBack, scan, copy};
  return b;
};
const run = {
  command: "./smooth --rounds 5 'a file'",
  collector: 'valgrind',
  what: 'all references',
  ending: 'exited with 0',
  exit_code: 0,
  process: 4711,
  seconds: 12.25,
  notes: 'libc.so.6 has no debug information: install libc6-dbg\nthreads take turns under Valgrind',
};
write('program.json', program().profile('./smooth', {run}));

// ---- the same, with what a processor told of sampled accesses ----

const timed = program();
timed.latency(timed.named.loadThere, 300, 60000, {1: 100, 6: 200});
timed.latency(timed.named.loadBack, 100, 30000, {4: 20, 6: 80}); // the same line
timed.latency(timed.named.scan, 1000, 4000, {1: 1000});
timed.latency(timed.named.storeThere, 0, 0, {0: 50}); // no latency is told of stores
timed.latency(timed.named.copy, 10, 6000, {7: 10});
write('latencies.json', timed.profile('./smooth', {run}));

// ---- the same, estimated from samples ----

const sampled = program();
const {loadThere, loadBack, storeBack} = sampled.named;
// Of 4,000,000 and 3,500,000 late ones of one line.
sampled.pairErrors.push([loadThere, loadThere, 400000, 12], [loadBack, loadBack, 350000, 9], [storeBack, loadThere, 1250000, 3]);
Object.assign(sampled.objects[0], {error: 1000000, samples: 21});
const sampledProfile = (never) =>
  sampled.profile('./smooth', {
    run: Object.assign({}, run, {what: 'samples of all references', collector: 'sampling (perf)'}),
    engine: 'sample',
    exact: false,
    accuracy: {
      statement: 'estimated from 68 samples',
      samples: 68,
      confidence: 0.95,
      band: [[1, 0.7, 0.9], [768, 0.1, 0.3], [16384, 0.02, 0.2], [524288, 0.01, 0.125]],
    },
    sampling: {
      method: 'software', estimator: 'capped', conversion: 'aet', bursts: 68, burst_uses: 287402, used: 21, replaced: 2,
      never, not_armed: 0, burst_time: 16383, measured_time: 65535, measured: 1682,
    },
  });
write('sampled.json', sampledProfile(1)); // 24 of misses that were reused
sampled.pairErrors.length = 0;
write('few.json', sampledProfile(9));
// The same program, better: what came back after 600,000 blocks now comes after 40.
const better = program();
const nearer = (row) => {
  const [first, second, , cold, beyond, flat] = row;
  const distances = flat.flatMap((_, i) => (i % 2 ? [] : [[EDGES[flat[i]] >= 131072 ? 40 : EDGES[flat[i]], flat[i + 1]]]));
  return [first, second, distances, cold, beyond];
};
better.pairs = better.pairs.map(nearer).map(([use, reuse, distances, cold, beyond]) => [
  use,
  reuse,
  ...Builder.counts(Object.fromEntries(distances), cold, beyond),
]);
// Uses of objects are of late references alone.
better.uses = better.uses.map(nearer).map(([object, site, distances, cold, beyond]) => [
  object,
  site,
  ...Builder.counts(Object.fromEntries(distances.filter(([distance]) => distance >= better.lateFrom)), cold, beyond),
]);
write('after.json', better.profile('./smooth-after', {run: Object.assign({}, run, {command: './smooth-after'})}));

// ---- code of system headers, inlined into a program's own lines ----

const library = new Builder();
const cxx = library.module(path.join(folder, 'smooth'));
const element = ['std::vector<double>::operator[](unsigned long)', '/usr/include/c++/12/bits/stl_vector.h', 1123, 9];
const inFill = library.site(cxx, 0x10, [element, ['fill', source, 11, 3]]),
  inLargest = library.site(cxx, 0x20, [element, ['cell', header, 6, 1], ['largest', source, 28, 5]]);
const alone = library.site(cxx, 0x30, [['std::sort<double*>(double*, double*)', '/usr/include/c++/12/bits/stl_algo.h', 1921, 4]]);
const partOfSort = library.site(cxx, 0x34, [element, ['std::swap', '/usr/include/c++/12/bits/move.h', 204, 4]]);
library.pair(null, inFill, {}, 100);
library.pair(inFill, inLargest, {20000: 3000});
library.pair(inLargest, inFill, {20000: 500});
library.pair(inFill, alone, {20000: 200});
library.pair(alone, partOfSort, {20000: 70});
library.pair(partOfSort, inLargest, {20000: 30});
write('library.json', library.profile('library'));

// ---- places in the source, of no program ----

const places = new Builder();
const placed = (name, line, column) => places.site(null, 0, [[name, source, line, column]]);
const written = placed('fill', 11, 5),
  readAgain = placed(null, 28, 0);
places.pair(null, written, {}, 100);
places.pair(written, readAgain, {20000: 3000});
write('places.json', places.profile('places'));

// ---- threads and processes ----

const plain = (name, distances, cold, more) => {
  const histogram = Object.entries(distances).map(([distance, count]) => [Number(distance), Number(distance), count]);
  return Object.assign(
    {
      schema: 'fathom-profile-1',
      name,
      engine: 'exact',
      exact: true,
      granularity: 64,
      distinct: histogram.reduce((sum, bin) => sum + bin[2], cold), // as of a phase
      cold,
      complete: true,
      lost: 0,
      references: histogram.reduce((sum, bin) => sum + bin[2], cold),
      histogram,
      bins: 'exact',
    },
    more
  );
};
const thread = (number, process, distances, cold) => plain('./tool', distances, cold, {run: {process, thread: number}});
write(
  'parts.json',
  plain('make', {0: 3000, 500: 3000, 20000: 1000}, 3000, {
    run: {command: 'make all', collector: 'compiler', process: 100},
    parts: [
      plain('make', {0: 1000}, 1000, {run: {process: 100, ending: 'exited with 2', exit_code: 2}}),
      plain('cc', {0: 1000, 500: 1000}, 1000, {
        run: {process: 101, parent: 100, ending: 'exited with 0', exit_code: 0},
        parts: [thread(1, 101, {0: 1000, 500: 500}, 500), thread(2, 101, {500: 500}, 500)],
      }),
      plain('ld', {0: 1000, 500: 2000, 20000: 1000}, 1000, {
        run: {process: 103, parent: 102, ending: 'killed by SIGKILL (9)', signal: 9},
        complete: false,
        lost: 7,
        what_missing: 'it was killed',
      }),
      plain('sh', {500: 10}, 10, {run: {process: 102, parent: 100, ending: 'exited with 0', exit_code: 0}}),
    ],
  })
);

// ---- hostile names ----

const nasty = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u2028\u202e\u2066<!-- ';
const hostile = new Builder(1);
const evilModule = hostile.module('/lib/' + nasty + '.so');
const evilFile = path.join(folder, '<img src=x onerror=alert(4)>.c');
fs.writeFileSync(evilFile, `first ${nasty}\nsecond ]]> <!-- </SCRIPT>\n\tthird\u2029 "quoted" \\ back\u0001\n`);
const evil = [1, 2, 3].map((line) => hostile.site(evilModule, 0x1000 + line, [['f' + line + nasty, evilFile, line, 1]]));
const pipe = hostile.site(evilModule, 0x2000, [['zero', '/dev/zero', 1, 1]]),
  folderSite = hostile.site(evilModule, 0x2001, [['folder', '/tmp', 1, 1]]);
const symbol = hostile.site(evilModule, 0x3000, [], {symbol: nasty, offset: 4});
hostile.source(evilFile);
hostile.source('/dev/zero', 'x');
hostile.source('/tmp', 'x');
hostile.pair(evil[0], evil[1], {20000: 1000});
hostile.pair(evil[1], evil[2], {20000: 500});
hostile.pair(evil[2], symbol, {20000: 100});
hostile.pair(symbol, pipe, {20000: 10});
hostile.pair(pipe, folderSite, {20000: 5});
hostile.pair(null, evil[0], {}, 50);
hostile.use(hostile.object({kind: 'global', name: nasty, module: evilModule, address: 1, size: 10}), evil[1], {20000: 1000});
write(
  'hostile-program.json',
  hostile.profile(nasty, {
    run: {command: nasty, collector: nasty, what: nasty, ending: nasty, notes: nasty + '\n' + nasty, exit_code: 0},
    parts: [plain(nasty, {0: 10}, 1, {run: {process: 5, ending: nasty}})],
  })
);

// ---- source files that are not those of the run ----

const secret = path.join(folder, 'secret.txt'),
  edited = path.join(folder, 'edited.c'),
  gone = '/nowhere/<b>gone.c';
fs.writeFileSync(secret, 'the-secret-of-this-machine\n');
fs.writeFileSync(edited, 'new first line\nint value;\n');
const other = new Builder(1);
const otherModule = other.module('/bin/other');
const inFile = (file, address) => other.site(otherModule, address, [['f', file, 1, 1]]);
const embedded = `int first; // ${nasty}\n\tint second; \u202e\u2066 // \u200f\u061c\u0001\n`;
[secret, edited, gone].forEach((file, i) => other.pair(null, inFile(file, 0x1000 + i), {}, 100 - i));
other.source(edited, 'int value;\n');
other.source(gone, embedded, {text: embedded});
write('other-sources.json', other.profile('other'));
const without = new Builder(1);
without.pair(null, without.site(without.module('/bin/other'), 1, [['f', secret, 1, 1]]), {}, 100);
write('no-sums.json', without.profile('no sums'));

// ---- 300,000 pairs ----

const huge = new Builder();
let seed = 12345;
const random = () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
};
const long = path.join(folder, 'long.c');
fs.writeFileSync(long, Array.from({length: 120000}, (_, i) => `    value_${i + 1} = table[${i}] + other[${i}];`).join('\n') + '\n');
huge.source(long);
const program2 = huge.module('/usr/bin/huge');
const longName = huge.string(long),
  functions = Array.from({length: 3000}, (_, i) => huge.string('function_' + i));
for (let i = 0; i < 60000; i++) {
  const line = 1 + Math.floor(random() * random() * 120000);
  huge.sites.push([program2, 0x1000 + 4 * i, null, null, 0, [functions[Math.floor(line / 40)], longName, line, 0]]);
}
for (let i = 0; i < 300000; i++) {
  const use = Math.floor(random() * 60000),
    reuse = Math.floor(random() * 60000);
  const weight = Math.ceil(1 / (random() + 1e-6));
  huge.pairs.push([
    use,
    reuse,
    2 * weight + 5,
    0,
    0,
    [Math.floor(random() * 8), weight + 5, 10 + Math.floor(random() * (EDGES.length - 10)), weight],
  ]);
}
huge.pairs.push([null, 0, 900000, 900000, 0, []]);
write('huge.json', huge.profile('huge', {run: {command: 'huge', collector: 'valgrind', exit_code: 0}}));
