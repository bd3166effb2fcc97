// SPDX-License-Identifier: Apache-2.0
// The source with its counts, jumps into it, and the data that is missed on. See report-test.cjs.
'use strict';
const fs = require('fs');
const path = require('path');
const {CACHES, shown, number, percent, missesOf, titleOf, linePairs, total} = require('./late-model.cjs');

module.exports = (helpers) => {
  const {expect, equal, settle, folder} = helpers;
  const {more, size, sourceRows, openFile} = require('./late-page.cjs')(helpers);
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name + '.json'), 'utf8'));

  return {
    async 'late-source-has-counts-of-each-line'(open) {
      const page = await open('program'),
        profile = read('program');
      const {pairs, sites, strings} = profile.attribution;
      const lineOf = (site) => (site == null || !sites[site][5].length ? null : strings[sites[site][5][1]] + ':' + sites[site][5][2]);
      for (const [name, blocks] of Object.entries(CACHES)) {
        await size(page, name);
        await more(page, '#source-files');
        for (const file of ['smooth.c', 'grid.h', 'lost.c']) {
          await openFile(page, file);
          const full = file === 'lost.c' ? '/nowhere/at/all/lost.c' : path.join(folder, file);
          const text = file === 'lost.c' ? [] : fs.readFileSync(full, 'utf8').split('\n').slice(0, -1);
          const wanted = [];
          for (let line = 1; line <= Math.max(text.length, 7); line++) {
            const key = full + ':' + line;
            const reuse = pairs.filter((row) => lineOf(row[1]) === key),
              use = pairs.filter((row) => lineOf(row[0]) === key);
            if (!text.length && !reuse.length && !use.length) continue;
            const sum = (rows, value) => number(rows.reduce((all, row) => all + value(row), 0)).replace(/^0$/, '');
            wanted.push([
              String(line),
              sum(reuse, (row) => row[2]),
              sum(reuse, (row) => missesOf(profile, row, blocks)),
              sum(use, (row) => missesOf(profile, row, blocks)),
              text.length ? shown(text[line - 1]) : '(no text)',
            ]);
          }
          equal(await sourceRows(page), wanted, file + ' at ' + name);
        }
      }
      await openFile(page, 'lost.c');
      expect(
        (await page.locator('#source-head').textContent()).includes('The source is not here: No such file or directory'),
        'no word of the missing file'
      );
      await openFile(page, 'grid.h');
      expect((await page.locator('#source-stale').textContent()).includes('changed after the program was built'), 'no word of the newer file');
      await openFile(page, 'smooth.c');
      equal(await page.locator('#source-stale').count(), 0, 'warnings about the older file');
      await openFile(page, 'code without source lines');
      equal(
        (await sourceRows(page)).map((row) => row[4]).sort(),
        ['0x7f0012345678, made at run time', '0x9b000 in libc.so.6', '__memmove_avx_unaligned_erms+0x40 in libc.so.6'],
        'instructions'
      );
    },
    async 'late-files-are-ranked'(open) {
      const page = await open('program'),
        profile = read('program');
      for (const [name, blocks] of Object.entries(CACHES)) {
        await size(page, name);
        await more(page, '#source-files');
        const misses = {};
        for (const row of profile.attribution.pairs) {
          const title = titleOf(profile, row[1]);
          const file = title.includes(':') ? title.split(':')[0] : 'code without source lines';
          misses[file] = (misses[file] || 0) + missesOf(profile, row, blocks);
        }
        const wanted = Object.entries(misses)
          .sort((a, b) => b[1] - a[1])
          .map(([file, value]) => [file, percent(value, total(profile, blocks))]);
        equal(
          await page.evaluate(() =>
            [...document.querySelectorAll('#source-files button')]
              .filter((one) => one.querySelector('.file-name'))
              .map((one) => [one.querySelector('.file-name').textContent, one.querySelector('.file-misses').textContent])
          ),
          wanted,
          name
        );
      }
    },
    async 'late-pair-jumps-to-both-lines'(open) {
      const page = await open('program');
      await size(page, 'L2 1 MiB');
      const marked = () =>
        page.evaluate(() =>
          Object.fromEntries(
            ['use', 'reuse'].map((end) => [end, [...document.querySelectorAll('#source-text .is-' + end)].map((row) => row.dataset.line)])
          )
        );
      const visible = (line) =>
        page.evaluate((at) => {
          const pane = document.getElementById('source-text').getBoundingClientRect();
          const row = document.querySelector('#source-text [data-line="' + at + '"]').getBoundingClientRect();
          return row.top >= pane.top && row.bottom <= pane.bottom && row.top >= 0 && row.bottom <= innerHeight;
        }, line);
      // Both ends in one file.
      await page
        .locator('#pairs tr.pair', {hasText: 'smooth.c:28'})
        .filter({hasText: 'smooth.c:21'})
        .first()
        .locator('.link', {hasText: 'smooth.c:28'})
        .click();
      await settle(page);
      equal(await marked(), {use: ['21'], reuse: ['28']}, 'marked lines');
      expect((await visible(21)) && (await visible(28)), 'the two lines cannot be seen');
      equal(await page.locator('#source-text .is-between').count(), 6, 'lines between the two');
      equal(await page.evaluate(() => document.activeElement.textContent), '28', 'the focus is on the line');
      expect((await page.locator('#source-pair').textContent()).includes('499,000'), 'no misses in the bar');
      // In two files: from one to the other and back.
      await page
        .locator('#pairs tr.pair', {hasText: 'grid.h:6'})
        .filter({hasText: 'smooth.c:21'})
        .first()
        .locator('.link', {hasText: 'smooth.c:21'})
        .first()
        .click();
      await settle(page);
      equal(await marked(), {use: ['21'], reuse: []}, 'marked in smooth.c');
      await page.locator('#source-text .badge', {hasText: 'used again at grid.h:6'}).click();
      await settle(page);
      equal(await marked(), {use: [], reuse: ['6']}, 'marked in grid.h');
      await page.locator('#source-text .badge', {hasText: 'last used at smooth.c:21'}).click();
      await settle(page);
      equal(await marked(), {use: ['21'], reuse: []}, 'and back');
      await page.locator('#source-pair .close').click();
      equal(await marked(), {use: [], reuse: []}, 'forgotten');
    },
    async 'late-line-lists-its-partners'(open) {
      const page = await open('program'),
        profile = read('program');
      await size(page, 'L2 1 MiB');
      await openFile(page, 'smooth.c');
      await page.locator('#source-text [data-line="21"] button').press('Enter');
      await settle(page);
      const pairs = linePairs(profile, 16384)
        .filter((pair) => pair.misses > 0)
        .sort((a, b) => b.misses - a.misses);
      const lists = await page.evaluate(() =>
        [...document.querySelectorAll('#source-text .partners .detail > div')].map((list) => [
          list.querySelector('h4').textContent,
          [...list.querySelectorAll('li')].map((item) => [
            item.querySelector('strong').textContent,
            (item.querySelector('.link') || item.querySelector('em')).textContent,
          ]),
        ])
      );
      equal(
        lists[0],
        [
          'Misses here on what was last used at',
          pairs.filter((pair) => pair.ends[1] === 'smooth.c:21').map((pair) => [number(pair.misses), pair.ends[0]]),
        ],
        'as re-user'
      );
      equal(
        lists[1],
        [
          'What is used here is missed later at',
          pairs.filter((pair) => pair.ends[0] === 'smooth.c:21').map((pair) => [number(pair.misses), pair.ends[1]]),
        ],
        'as user'
      );
      await page.locator('#source-text .partners .link', {hasText: 'grid.h:6'}).first().click();
      await settle(page);
      equal(await page.locator('#source-text tr.is-use, #source-text tr.is-reuse').count(), 1, 'a partner jumps');
      equal(await page.locator('#source-head .path').textContent(), path.join(folder, 'grid.h'), 'to its file');
    },
    async 'late-objects-are-those-of-the-profile'(open) {
      const page = await open('program'),
        profile = read('program');
      const {objects, object_uses: uses} = profile.attribution;
      const names = [
        'heap from main (smooth.c:35), column 31',
        'heap from main (smooth.c:35), column 70',
        'weights smooth',
        'stack of thread 1',
      ];
      const sums = (blocks) =>
        objects.map((_, i) => uses.filter((use) => use[0] === i).reduce((sum, use) => sum + missesOf(profile, use, blocks), 0));
      const shown = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('#objects tr[data-object]')].map((row) => [
            row.children[1].querySelector('strong').textContent,
            row.querySelector('th').textContent,
          ])
        );
      for (const [name, blocks] of Object.entries(CACHES)) {
        await size(page, name);
        await more(page, '#objects-more');
        const wanted = sums(blocks)
          .map((sum, i) => [sum, names[i]])
          .filter((entry) => entry[0])
          .sort((a, b) => b[0] - a[0])
          .map(([sum, text]) => [number(sum), text]);
        equal(await shown(), wanted, name);
      }
      await size(page, '1 KiB'); // objects are counted from 768 blocks on
      equal((await shown())[0][0], number(Math.max(...sums(768))), 'below the distance that objects are counted from');
      expect((await page.locator('#objects-note').textContent()).includes('from 48 KiB on'), 'no word of it');
      await page.locator('#objects tr[data-object="0"] .toggle').click();
      const detail = await page.locator('#objects .detail-row').textContent();
      expect(detail.includes('Allocated at') && detail.includes('grid.h:6') && detail.includes('main smooth.c:35'), detail);
      await page.locator('#pairs .data .link').first().click();
      await settle(page);
      expect(
        await page.evaluate(() => document.activeElement.closest('[data-object]') != null),
        'a name in the table of pairs does not lead here'
      );
    },
    async 'late-source-is-that-of-the-run'(open) {
      for (const name of ['other-sources', 'no-sums']) {
        const html = fs.readFileSync(path.join(folder, name + '.html'), 'utf8');
        expect(!html.includes('the-secret-of-this-machine'), 'a file that the profile only names is on the page ' + name);
        expect(!html.includes('new first line'), 'a file that has changed is on the page');
      }
      const page = await open('other-sources');
      const stale = () => page.locator('#source-stale').textContent();
      await openFile(page, 'secret.txt');
      expect((await stale()).includes('it could not be read when the profile was made'), await stale());
      await openFile(page, 'edited.c');
      expect((await stale()).includes('it has changed since the run'), await stale());
      await openFile(page, 'gone');
      equal(await page.locator('#source-stale').count(), 0, 'a word about the file in the profile');
      equal(await page.locator('#source-head .path').textContent(), '/nowhere/<b>gone.c (text from the profile)', 'its name');
      const text = read('other-sources').attribution.sources.find((source) => source.text).text.split('\n');
      equal(
        (await sourceRows(page)).map((row) => row[4]),
        text.slice(0, 2).map(shown),
        'its text'
      );
      equal(await page.locator('img').count(), 0, 'images');
      equal(await page.locator('script').count(), 2, 'scripts');
      await open('no-sums');
      expect((await stale()).includes('the profile has no checksums of source files'), await stale());
    },
    async 'late-page-without-source-has-none'(open) {
      const html = fs.readFileSync(path.join(folder, 'no-source.html'), 'utf8');
      expect(
        !html.includes('double weights[9]') && fs.readFileSync(path.join(folder, 'program.html'), 'utf8').includes('double weights[9]'),
        'text in the page'
      );
      const page = await open('no-source');
      await openFile(page, 'smooth.c');
      expect((await page.locator('#source-stale').textContent()).includes('not wanted'), 'no word of it');
      expect(
        (await sourceRows(page)).some((row) => row[0] === '21' && row[4] === '(no text)'),
        'no counts'
      );
    },
  };
};
