// SPDX-License-Identifier: Apache-2.0
// The table of line pairs: what it shows is compared with a computation of its own. See report-test.cjs.
'use strict';
const fs = require('fs');
const path = require('path');
const {CACHES, number, percent, linePairs, total} = require('./late-model.cjs');

module.exports = (helpers) => {
  const {expect, equal, settle, choose, folder} = helpers;
  const {pairRows, listAll, more, size, sorted} = require('./late-page.cjs')(helpers);
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name + '.json'), 'utf8'));

  return {
    async 'late-pairs-are-those-of-the-profile'(open) {
      const page = await open('program'),
        profile = read('program');
      equal(
        await page.locator('#late-bar input[name=late-cache]:checked').evaluate((box) => box.parentElement.textContent),
        'L1d 48 KiB',
        'the first cache in which one reference in a thousand comes too late'
      );
      await listAll(page);
      for (const [name, blocks] of [...Object.entries(CACHES), ['64 B', 1], ['256 KiB', 4096]]) {
        await size(page, name);
        const wanted = linePairs(profile, blocks),
          all = total(profile, blocks);
        equal(
          sorted(await pairRows(page)),
          sorted(
            wanted.map((pair) => ({
              misses: number(pair.misses),
              share: percent(pair.misses, all),
              use: pair.use,
              reuse: pair.reuse,
              count: number(pair.count),
            }))
          ),
          name
        );
        const said = await page.locator('#pairs-summary').textContent();
        expect(
          said.includes(
            number(all) +
              ' of ' +
              number(profile.references) +
              ' references miss (' +
              percent(all, profile.references) +
              '): ' +
              number(profile.cold) +
              ' first touches and ' +
              number(all - profile.cold) +
              ' late re-uses'
          ),
          'the summary: ' + said
        );
      }
    },
    async 'late-first-touches-can-be-left-out'(open) {
      const page = await open('program'),
        profile = read('program');
      await choose(page, 'late-cold', 'without');
      await size(page, 'L2 1 MiB');
      await more(page);
      const wanted = linePairs(profile, 16384, {cold: false}).filter((pair) => pair.misses > 0),
        all = total(profile, 16384, false);
      equal(
        sorted(await pairRows(page)),
        sorted(
          wanted.map((pair) => ({
            misses: number(pair.misses),
            share: percent(pair.misses, all),
            use: pair.use,
            reuse: pair.reuse,
            count: number(pair.count),
          }))
        ),
        'rows'
      );
    },
    async 'late-inlined-code-at-its-caller'(open) {
      const page = await open('program'),
        profile = read('program');
      await listAll(page);
      await choose(page, 'late-inlined', 'caller');
      await size(page, 'L2 1 MiB');
      const wanted = linePairs(profile, 16384, {inlined: 'caller'});
      equal(
        sorted((await pairRows(page)).map((row) => [row.misses, row.use, row.reuse])),
        sorted(wanted.map((pair) => [number(pair.misses), pair.use, pair.reuse])),
        'rows'
      );
      expect(!(await pairRows(page)).some((row) => row.use.startsWith('grid.h')), 'lines of the header are still there');
    },
    async 'late-system-headers-give-way'(open) {
      const page = await open('library'),
        profile = read('library');
      equal(
        await page.locator('#late-bar input[name=late-inlined]').evaluateAll((all) => all.map((box) => [box.value, box.checked])),
        [
          ['own', false],
          ['user', true],
          ['caller', false],
        ],
        'choices'
      );
      for (const inlined of ['user', 'own', 'caller']) {
        await choose(page, 'late-inlined', inlined);
        await more(page);
        equal(
          sorted((await pairRows(page)).map((row) => [row.misses, row.use, row.reuse])),
          sorted(linePairs(profile, 16384, {inlined}).map((pair) => [number(pair.misses), pair.use, pair.reuse])),
          inlined
        );
      }
      expect(
        (await page.locator('#pairs .dim[title="std::sort<double*>(double*, double*)"]').first().textContent()) === 'std::sort<>',
        'no short name with the whole one behind it'
      );
    },
    async 'late-places-in-the-source-have-no-address'(open) {
      const page = await open('places'),
        profile = read('places');
      await size(page, 'L2 1 MiB');
      await more(page);
      equal(
        sorted((await pairRows(page)).map((row) => [row.misses, row.use, row.reuse])),
        sorted(linePairs(profile, 16384).map((pair) => [number(pair.misses), pair.use, pair.reuse])),
        'rows'
      );
      await page.locator('#pairs tr.pair', {hasText: 'smooth.c:28'}).locator('button').first().click();
      equal(await page.locator('#pairs .site').allTextContents(), ['column 5 in the source', ' in the source'], 'sites');
    },
    async 'late-size-that-is-no-edge-is-interpolated'(open) {
      const page = await open('other-sizes'),
        profile = read('program');
      equal(await page.locator('#late-bar .choices').first().locator('label').allTextContents(), ['97.7 KiB', '3 MiB'], 'sizes of --size');
      await size(page, '3 MiB'); // 49152 blocks, in the middle of [32768, 65536)
      const {edges, pairs} = profile.attribution;
      let wanted = 0;
      for (const row of pairs) {
        wanted += row[3];
        for (let i = 0; i < row[5].length; i += 2) {
          const from = edges[row[5][i]],
            to = edges[row[5][i] + 1];
          wanted += row[5][i + 1] * (from >= 49152 ? 1 : to <= 49152 ? 0 : (to - 49152) / (to - from));
        }
      }
      const said = await page.locator('#pairs-summary').textContent();
      expect(said.includes('≈ ' + number(wanted) + ' of') && said.includes('interpolated'), said + ' / ' + wanted);
    },
    async 'late-table-sorts'(open) {
      const page = await open('program'),
        profile = read('program');
      await listAll(page);
      await size(page, 'L2 1 MiB');
      const of = (row) => ({misses: Number(row.misses.replace(/,/g, '')), count: Number(row.count.replace(/,/g, ''))});
      equal(
        sorted((await pairRows(page)).map(of)),
        sorted(linePairs(profile, 16384).map(({misses, count}) => ({misses, count}))),
        'numbers'
      );
      const orders = {
        misses: (a, b) => b.misses - a.misses,
        count: (a, b) => b.count - a.count,
        missed: (a, b) => b.misses / b.count - a.misses / a.count,
      };
      for (const [key, compare] of Object.entries(orders))
        for (const way of ['descending', 'ascending']) {
          if (!(key === 'misses' && way === 'descending')) await page.locator(`#pairs .sort[data-key=${key}]`).click();
          const rows = (await pairRows(page)).map(of);
          expect(
            rows.every((row, i) => i === 0 || (way === 'descending' ? compare(rows[i - 1], row) <= 0 : compare(rows[i - 1], row) >= 0)),
            `${key} ${way}: ${JSON.stringify(rows)}`
          );
          equal(await page.locator('#pairs th[aria-sort]').getAttribute('aria-sort'), way, key);
        }
      await page.locator('#pairs .sort[data-key=reuse]').press('Enter');
      equal(await page.locator('#pairs th[aria-sort]').getAttribute('aria-sort'), 'ascending', 'by name, with the keyboard');
      equal(await page.evaluate(() => document.activeElement.dataset.key), 'reuse', 'the focus stays');
    },
    async 'late-table-filters'(open) {
      const page = await open('program'),
        profile = read('program');
      await listAll(page);
      const filter = async (text) => {
        await page.locator('#pairs-filter').fill(text);
        // The page filters a moment later, by a timer; this one comes behind it, however slow the machine is.
        await page.evaluate(() => new Promise((done) => setTimeout(done, 150)));
        await settle(page);
        return pairRows(page);
      };
      const all = linePairs(profile, 524288);
      equal((await filter('LARGEST')).length, all.filter((pair) => pair.ends.includes('smooth.c:28')).length, 'rows with a function');
      equal(
        (await filter('smooth.c:21 grid.h')).length,
        all.filter((pair) => pair.ends.includes('smooth.c:21') && pair.ends.includes('grid.h:6')).length,
        'rows with two words'
      );
      equal(
        (await filter('weights')).map((row) => row.reuse),
        ['smooth.c:20', '↻ the same line'],
        'rows with a variable'
      );
      equal((await filter('nothing of the kind')).length, 0, 'rows with nonsense');
      equal((await filter('')).length, all.length, 'all rows');
    },
    async 'late-details-of-a-pair'(open) {
      const page = await open('program');
      await size(page, 'L2 1 MiB');
      const row = page.locator('#pairs tr.pair', {hasText: 'smooth.c:21'}).filter({hasText: 'grid.h:6'}).first();
      await row.locator('.toggle').focus();
      await page.keyboard.press('Enter');
      await settle(page);
      equal(await page.evaluate(() => document.activeElement.getAttribute('aria-expanded')), 'true', 'the focus stays on the button');
      const detail = await page.locator('#pairs .detail-row').textContent();
      for (const text of [
        '[128Ki, 256Ki)',
        '4,100,000',
        '[512Ki, 1Mi)',
        '1,010,000',
        '2 pairs of instructions',
        '0x12c4 · column 13',
        'inlined into smooth smooth.c:20',
        'called from main smooth.c:38',
        'called from main smooth.c:39',
        'heap from main (smooth.c:35), column 31',
      ])
        expect(detail.includes(text), `no '${text}' in: ${detail}`);
      const bars = await page.locator('#pairs .detail-row .histogram .fill').evaluateAll((all) => all.map((bar) => bar.className));
      equal(bars, ['fill missed', 'fill missed'], 'both ranges miss in 1 MiB');
      await size(page, 'L3 32 MiB');
      equal(
        await page.locator('#pairs .detail-row .histogram .fill').evaluateAll((all) => all.map((bar) => bar.className)),
        ['fill hits', 'fill missed'],
        'and one in 32 MiB'
      );
    },
    async 'late-300000-pairs-stay-usable'(open) {
      const bytes = fs.statSync(path.join(folder, 'huge.html')).size;
      expect(bytes < 8e6, `the page has ${bytes} bytes`);
      const profile = read('huge');
      const page = await open('empty');
      await page.call('Performance.enable', {timeDomain: 'threadTicks'});
      // Milliseconds of processor time that the page's thread has used: others on the machine do not count.
      const used = async () => {
        const {metrics} = await page.call('Performance.getMetrics');
        return Math.round(1000 * metrics.find((metric) => metric.name === 'ThreadTime').value);
      };
      const timed = async (what, limit, action) => {
        const from = await used();
        await action();
        await settle(page);
        const took = (await used()) - from;
        expect(took < limit, `${what} took ${took} ms`);
      };
      await timed('opening', 8000, () => open('huge'));
      await timed('another size', 3000, () => size(page, 'L1d 48 KiB'));
      await timed('sorting', 3000, () => page.locator('#pairs .sort[data-key=count]').click());
      await timed('sorting back', 3000, () => page.locator('#pairs .sort[data-key=misses]').click());
      await timed('more rows', 3000, () => page.locator('#pairs-more button').first().click());
      equal((await pairRows(page)).length, 120, 'rows');
      // The largest pair, and what is said about those left out.
      const best = linePairs(profile, 768).sort((a, b) => b.misses - a.misses)[0];
      equal((await pairRows(page))[0].misses, number(best.misses), 'the first row');
      const said = await page.locator('#pairs-left').textContent();
      const leftOut = Number(said.match(/small, ([\d,]+) pairs/)[1].replace(/,/g, '')),
        misses = Number(said.match(/others have ([\d,]+) misses/)[1].replace(/,/g, ''));
      const covered = parseFloat(said.match(/at least >?([\d.]+) %/)[1]);
      equal(leftOut, profile.attribution.pairs.length - 30000, 'pairs left out');
      const shown = await page.evaluate(() =>
        JSON.parse(document.getElementById('data').textContent).profiles[0].attribution.pairs.reduce((sum, pair) => {
          for (let i = 4; i < pair.length; i += 2) if (pair[i] >= 11) sum += pair[i + 1];
          return sum + pair[2];
        }, 0)
      );
      equal(profile.attribution.edges[11], 768, 'the edge meant');
      equal(shown + misses, total(profile, 768), 'misses shown and left out');
      expect((shown / total(profile, 768)) * 100 >= covered - 0.01, 'it promises more than it shows: ' + said);
      // The source: 120,000 lines, of which the page holds pieces, and of those the ones in sight.
      await timed('a jump', 3000, () => page.locator('#pairs tr.pair .link').nth(1).click());
      const line = await page.locator('#source-text .is-reuse').getAttribute('data-line');
      equal(
        await page.locator('#source-text .is-reuse .text').textContent(),
        `    value_${line} = table[${line - 1}] + other[${line - 1}];`,
        'the text of the line'
      );
      expect(
        (await page.locator('#source-text tr').count()) < 3000,
        'rows of the source in the page: ' + (await page.locator('#source-text tr').count())
      );
      await timed('scrolling', 3000, () =>
        page.evaluate(() => {
          document.getElementById('source-text').scrollTop = 1e9;
        })
      );
      await page.waitForFunction(
        () => {
          const rows = [...document.querySelectorAll('#source-text tr[data-line], #source-text tr.gap')],
            pane = document.getElementById('source-text').getBoundingClientRect();
          return rows.some(
            (row) => row.getBoundingClientRect().bottom <= pane.bottom + 2 && row.getBoundingClientRect().bottom > pane.bottom - 60
          );
        }
      );
    },
  };
};
