// SPDX-License-Identifier: Apache-2.0
// A run and its parts, two programs on one page, hostile names, colours, narrow windows. See report-test.cjs.
'use strict';
const fs = require('fs');
const path = require('path');
const {CACHES, shown, number, percent, linePairs} = require('./late-model.cjs');

module.exports = (helpers) => {
  const {expect, equal, settle, legend, pixels, folder} = helpers;
  const {pairRows, more, size, sourceRows, openFile, sorted} = require('./late-page.cjs')(helpers);
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name + '.json'), 'utf8'));

  return {
    async 'late-run-and-its-end-are-told'(open) {
      const page = await open('program');
      const text = await page.locator('#run-section').textContent();
      for (const part of [
        "./smooth --rounds 5 'a file'",
        'exited with 0 after 12.3 s',
        'all references',
        'valgrind, process 4711',
        'yes: everything that was watched is counted',
        'Not seenlibm.so.6: their own accesses are not in this profile',
        'install libc6-dbg',
        'threads take turns',
      ])
        expect(text.includes(part), `no '${part}' in ${text}`);
      equal(
        await page.locator('#contents a').allTextContents(),
        ['Verdict', 'Miss ratios', 'Late re-use', 'Source', 'Data', 'Distances', 'Numbers', 'Run', 'Profiles', 'How to read this'],
        'links'
      );
    },
    async 'latencies-are-told-by-line'(open) {
      const without = await open('program');
      expect(await without.locator('#latencies-section').isHidden(), 'there is a table without latencies');
      const page = await open('latencies');
      const rows = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('#latencies tbody tr')].map((row) => {
            const cells = [...row.children].map((cell) => cell.textContent);
            return [cells[0], cells[1], cells[2], row.querySelector('.link').textContent, cells[4]];
          })
        );
      // Both calls of smooth are one line: 400 samples that took 90,000 of 100,000 cycles.
      const wanted = [
        ['90 %', '225 cycles', '400', 'grid.h:6', 'memory 70 %, L1 25 %, L3 5 %'],
        ['6 %', '600 cycles', '10', '__memmove_avx_unaligned_erms+0x40 in libc.so.6', 'far memory 100 %'],
        ['4 %', '4 cycles', '1,000', 'smooth.c:28', 'L1 100 %'],
        ['0 %', '–', '50', 'smooth.c:21', 'not told 100 %'],
      ];
      equal(await rows(), wanted, 'rows');
      await page.locator('#latencies .sort[data-key=mean]').click();
      equal((await rows()).map((row) => row[1]), ['600 cycles', '225 cycles', '4 cycles', '–'], 'by mean latency');
      await size(page, 'L3 32 MiB');
      equal((await rows()).length, 4, 'whatever the size');
      expect((await page.locator('#contents').textContent()).includes('Latencies'), 'no link to it');
      await page.locator('#latencies .link', {hasText: 'smooth.c:28'}).click();
      await settle(page);
      expect((await page.locator('#source-head').textContent()).includes('smooth.c'), 'the line is not shown');
      await page.locator('#latencies-section').scrollIntoViewIfNeeded();
    },
    async 'samples-have-bands-and-errors'(open) {
      const exact = await open('program');
      equal(await exact.locator('.sure').count(), 0, 'errors of an exact profile');
      expect(!(await exact.locator('main').innerText()).includes('never used again'), 'an exact profile has first touches');
      const plain = await pixels(exact, 'curve');
      const page = await open('sampled');
      const shaded = await pixels(page, 'curve');
      expect(shaded.inked > plain.inked + 5000, `no band behind the curve: ${JSON.stringify([plain, shaded])}`);
      const text = async (id) => (await page.locator(id).textContent()).replace(/\s+/g, ' ');
      const has = async (id, ...parts) => {
        const found = await text(id);
        for (const part of parts) expect(found.includes(part), `no '${part}' in ${id}: ${found}`);
      };
      await has('#curve-note', 'Shaded: where it lies with 95 % confidence');
      await has('#verdict', '95 % band', '10.0 % to 30.0 %', '2.0 % to 20.0 %', '1.0 % to 12.5 %');
      await has('#numbers', '(10.00 % to 30.00 %)');
      await has('#runs', 'by a clock, in bursts: 68 bursts, 24 watches; estimator capped, distances by aet',
        'in bursts, up to time distances of 16,383 references', 'up to time distances of 65,535 references, some 105 KiB of other data; inferred beyond');
      await has('#reading-section', 'Nobody saw first touches');
      await has('#late-bar', 'never used again');
      await has('#pairs-summary', 'never used again');
      await has('#pairs', '± 10 %, from 12 samples', '± 24 %, from 3 samples');
      await has('#objects', 'Never used again', '± 8 %, from 21 samples');
      const never = (await pairRows(page)).filter((row) => row.reuse === 'never');
      expect(never.length > 0 && never.every((row) => row.use !== 'never'), 'no pair that is never used again');
      await page.locator('#curve').scrollIntoViewIfNeeded();
    },
    async 'few-samples-are-no-verdict'(open) {
      const page = await open('few');
      const answer = await page.locator('#verdict .answer').textContent();
      expect(answer.startsWith('Too few samples for a verdict: 9 of misses (10 are the least)'), answer);
      expect((await page.locator('#verdict .lead').textContent()).includes('an unknown number of blocks (9 samples of it)'), 'a footprint');
      equal(await page.locator('#verdict .worst').count(), 0, 'lists of lines');
      equal(await page.locator('#late').isVisible(), false, 'pairs of lines');
      await open('sampled');
      equal(await page.locator('#late').isVisible(), true, 'pairs of lines of 25 samples');
    },
    async 'late-two-programs-can-be-chosen'(open) {
      const page = await open('two-programs');
      equal(await page.locator('#late-profile option').allTextContents(), ['smooth', 'smooth-after'], 'profiles with code');
      await size(page, 'L3 32 MiB');
      await more(page);
      const before = await pairRows(page);
      await page.selectOption('#late-profile', {label: 'smooth-after'});
      await settle(page);
      await more(page);
      equal(
        await page.locator('#late-bar input[name=late-cache]:checked').evaluate((box) => box.parentElement.textContent),
        'L3 32 MiB',
        'the size stays'
      );
      const profile = read('after');
      const wanted = linePairs(profile, 524288).filter((pair) => pair.misses > 0);
      equal(
        sorted((await pairRows(page)).map((row) => [row.misses, row.use, row.reuse])),
        sorted(wanted.map((pair) => [number(pair.misses), pair.use, pair.reuse])),
        'rows'
      );
      expect(before.length > wanted.length, 'the profiles do not differ');
      equal(await page.locator('#runs .run h3').allTextContents(), ['smooth', 'smooth-after'], 'runs');
    },
    async 'parts-are-a-tree-with-curves'(open) {
      const page = await open('parts'),
        profile = read('parts');
      const rows = await page.evaluate(() =>
        [...document.querySelectorAll('#parts tbody tr')].map((row) => [
          row.querySelector('th').firstChild.textContent,
          parseInt(row.querySelector('th').style.paddingLeft, 10),
          ...[...row.querySelectorAll('td')].slice(1).map((cell) => cell.textContent),
        ])
      );
      const ratios = (part) =>
        Object.values(CACHES).map((blocks) =>
          percent(
            part.histogram.reduce((sum, bin) => sum + (bin[0] >= blocks ? bin[2] : 0), part.cold),
            part.references
          )
        );
      const line = (name, indent, part) => [
        name,
        indent,
        number(part.references),
        number(part.distinct),
        {20: '1.25 KiB', 1000: '62.5 KiB', 2000: '125 KiB', 3000: '188 KiB', 5000: '313 KiB'}[part.distinct],
        ...ratios(part),
      ];
      const [make, cc, ld, sh] = profile.parts;
      equal(
        rows,
        [
          line('process 100, make', 10, make),
          line('process 101, cc', 32, cc),
          line('thread 1', 54, cc.parts[0]),
          line('thread 2', 54, cc.parts[1]),
          line('process 102, sh', 32, sh),
          line('process 103, ld', 54, ld),
        ],
        'rows'
      );
      expect(
        (await page.locator('#parts').textContent()).includes('killed by SIGKILL (9) INCOMPLETE'),
        'no word of the one that was killed'
      );
      equal((await legend(page, 'curve')).length, 2, 'curves at first');
      const before = await pixels(page, 'curve');
      await page.locator('#parts input[type=checkbox]').nth(5).check();
      await settle(page);
      equal((await legend(page, 'curve')).map((row) => row[0]).slice(1), ['make', 'process 103, ld'], 'curves');
      expect((await pixels(page, 'curve')).sum !== before.sum, 'nothing was drawn');
      await page.locator('#curve').focus();
      await page.keyboard.press('Home');
      await settle(page);
      equal(
        (await legend(page, 'curve')).slice(1).map((row) => row[1]),
        [percent(7000, 10000), percent(4000, 5000)],
        'ratios at one block'
      );
      await page.locator('#parts input[type=checkbox]').nth(5).uncheck();
      await settle(page);
      equal((await legend(page, 'curve')).length, 2, 'and away again');
      equal(await page.locator('#late').isVisible(), false, 'a section about code without any');
    },
    async 'late-hostile-names-stay-text'(open) {
      const page = await open('hostile-program'),
        profile = read('hostile-program');
      for (const toggle of await page.locator('.toggle').all()) await toggle.click();
      for (const file of await page.locator('#source-files button').all()) await file.click();
      await page.locator('#source-files button').first().click();
      await settle(page);
      equal(await page.locator('img').count(), 0, 'images');
      equal(await page.locator('script').count(), 2, 'scripts');
      equal(await page.locator('main b').count(), 0, 'markup');
      const nasty = shown(profile.name);
      const file = fs.readFileSync(path.join(folder, '<img src=x onerror=alert(4)>.c'), 'utf8').split('\n');
      equal(
        (await sourceRows(page)).map((row) => row[4]),
        file.slice(0, 3).map(shown),
        'source'
      );
      const text = (where) => page.locator(where).evaluate((one) => one.textContent);
      expect((await text('#runs')).split(nasty).length === 7, 'the run: ' + (await text('#runs')));
      /* Long names lose their middle; the title has all. */
      for (const where of ['#pairs', '#objects'])
        expect(await page.locator(where + ' [title]').evaluateAll((all, name) => all.some((one) => one.title.includes(name)), nasty), 'names in ' + where);
      expect((await text('#parts')).includes(nasty), await text('#parts'));
      await openFile(page, 'zero');
      expect((await text('#source-stale')).includes('no regular file'), 'a device was read');
      await openFile(page, 'tmp');
      expect((await text('#source-stale')).includes('no regular file'), 'a folder was read');
    },
    async 'late-unseen-characters-are-shown'(open) {
      const page = await open('hostile-program');
      // Names, the title of the page, and source text have none of them as it is.
      const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
      for (const toggle of await page.locator('.toggle').all()) await toggle.click();
      for (const file of await page.locator('#source-files button').all()) {
        await file.click();
        await settle(page);
        const found = await page.evaluate((pattern) => {
          const bad = [], all = new RegExp(pattern);
          const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
          for (let node = walk.nextNode(); node; node = walk.nextNode()) {
            if (node.nodeType === 3 && all.test(node.data)) bad.push(node.data);
            if (node.nodeType === 1) for (const one of node.attributes) if (all.test(one.value)) bad.push(one.value);
          }
          return bad;
        }, unseen.source);
        equal(found, [], 'texts with characters that are not seen');
      }
      expect(!unseen.test(await page.title()), 'the title');
      // They are marked: not in the colour of the text around them.
      const marked = await page.evaluate(() =>
        [...document.querySelectorAll('#runs .unseen')].map((one) => [
          one.textContent,
          getComputedStyle(one).color !== getComputedStyle(one.parentElement).color,
        ])
      );
      expect(marked.length >= 6 && marked.every((one) => one[1]), JSON.stringify(marked));
      expect(marked.some((one) => one[0] === '<U+202E>') && marked.some((one) => one[0] === '<U+2066>'), JSON.stringify(marked));
    },
    async 'late-dark-and-light-differ'(open) {
      const page = await open('program');
      const colours = () =>
        page.evaluate(() =>
          ['#source-text .hot', '#late-bar', '#pairs .fill.missed', '#source-text'].map(
            (what) => getComputedStyle(document.querySelector(what)).backgroundColor
          )
        );
      await page.emulateMedia({colorScheme: 'light'});
      await settle(page);
      const light = await colours();
      await page.emulateMedia({colorScheme: 'dark'});
      await settle(page);
      const dark = await colours();
      expect(
        light.every((colour, i) => colour !== dark[i]),
        `${light} / ${dark}`
      );
    },
    async 'late-narrow-window-fits'(open) {
      const page = await open('program');
      await page.setViewportSize({width: 390, height: 800});
      await page.locator('#pairs tr.pair .link').nth(1).click();
      await page.locator('#pairs .toggle').first().click();
      await settle(page);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(over <= 0, `the page is ${over} pixels wider than the window`);
    },
  };
};
