// SPDX-License-Identifier: Apache-2.0
// The first screen: the answer is there without scrolling, its numbers are those of the profile, and a narrow window
// has all of it. See report-test.cjs.
'use strict';
const fs = require('fs');
const path = require('path');
const {CACHES, missesOf, titleOf, total} = require('./late-model.cjs');

module.exports = (helpers) => {
  const {expect, equal, settle, folder} = helpers;
  const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name + '.json'), 'utf8'));
  const short = (value) => {
    let unit = 0;
    for (; value >= 999.5; unit++) value /= 1000;
    return value.toFixed(unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + ['', ' k', ' M', ' G'][unit];
  };
  const rows = (page, selector) =>
    page.evaluate((what) => [...document.querySelectorAll(what)].map((row) => [...row.children].map((cell) => cell.textContent)), selector);
  const boxes = (page, selector) =>
    page.evaluate((what) => [...document.querySelectorAll(what)].map((one) => {
      const {left, right, top, bottom} = one.getBoundingClientRect();
      return {left, right, top, bottom, text: one.textContent.slice(0, 30)};
    }), selector);

  return {
    async 'first-screen-holds-the-answer'(open) {
      const page = await open('program'), profile = read('program');
      await page.setViewportSize({width: 1280, height: 800});
      await settle(page);
      await page.evaluate(() => scrollTo(0, 0));
      for (const what of ['#verdict .lead', '.levels tbody tr', '.worst tbody tr:first-child', '#curve .plot-area'])
        for (const box of await boxes(page, what))
          expect(box.bottom <= 800 && box.right <= 1280, `${what} is not on the first screen: ${JSON.stringify(box)}`);
      const found = await rows(page, '.levels tbody tr');
      equal(
        found.map((row) => [row[0], row[2]]),
        Object.entries(CACHES).map(([name, blocks]) => [name.split(' ')[0], short(total(profile, blocks))]),
        'misses at each cache'
      );
      // Lines by their own misses, first touches included, at the first cache that loses something.
      const [blocks] = Object.values(CACHES), lines = new Map();
      for (const pair of profile.attribution.pairs) {
        const title = titleOf(profile, pair[1], 'user').split('/').pop();
        lines.set(title, (lines.get(title) || 0) + missesOf(profile, pair, blocks));
      }
      const [[title, misses]] = [...lines].sort((a, b) => b[1] - a[1]);
      const [first] = await rows(page, '.worst tbody tr');
      equal([first[0], first[1]], [title, short(misses)], 'the worst line');
    },
    async 'first-screen-of-a-narrow-window'(open) {
      const page = await open('program');
      await page.setViewportSize({width: 400, height: 800});
      await settle(page);
      expect((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400, 'the page is wider than its window');
      for (const what of ['#verdict .lead', '.levels tbody tr > *', '.worst tr > *'])
        for (const box of await boxes(page, what))
          expect(box.left >= 0 && box.right <= 400, `${what} does not fit: ${JSON.stringify(box)}`);
      // Nothing lies over its neighbour.
      const cells = await boxes(page, '.levels tbody tr:first-child > *');
      cells.forEach((one, i) => cells.slice(i + 1).forEach((other) =>
        expect(one.right <= other.left + 0.5 || one.bottom <= other.top + 0.5, `${one.text} lies over ${other.text}`)));
    },
    async 'answer-is-the-first-sentence'(open) {
      const page = await open('program'), profile = read('program');
      const [answer] = await page.locator('#verdict .answer').allTextContents();
      const [[, blocks]] = Object.entries(CACHES), all = total(profile, blocks), found = await rows(page, '.worst tbody tr');
      const ratio = ((all / profile.references) * 100).toFixed(1) + ' %';
      for (const part of [found[0][0], short(all) + ' misses in L1d', ratio + ' of all references'])
        expect(answer.includes(part), `no '${part}' in: ${answer}`);
      equal((await rows(page, '.worst thead tr'))[0], ['Line', 'Misses', 'Of L1d', 'Source, function'], 'headings');
      equal(await page.title(), 'smooth: data locality', 'the title');
      await open('two-programs');
      expect(/^smooth, .*: data locality$/.test(await page.title()), 'the title of several: ' + (await page.title()));
    },
    async 'keys-have-hit-ratios-and-no-caches-of-this-machine'(open) {
      // 6010 references, 1000 first: 10 at distance 0, 5000 at 999. See make-profiles.cjs.
      const page = await open('keys'), share = (hits) => ((hits / 6010) * 100).toFixed(2) + ' %';
      equal(await rows(page, '.hits tbody tr'), [
        ['1 % of the keys', '10', '1 %', share(10)],
        ['10 % of the keys', '100', '10 %', share(10)],
        ['50 % of the keys', '500', '50 %', share(10)],
        ['for 80 % hits', '1,000', '100 %', '80 %'],
        ['for 90 % hits', 'no size', '–', '–'],
      ], 'hit ratios');
      const [answer] = await page.locator('#verdict .answer').allTextContents();
      expect(answer.includes('No cache hits more than ' + share(5010)), answer);
      expect(!/L1d|KiB/.test(await page.locator('body').innerText()), 'caches in bytes beside keys');
    },
    async 'source-opens-at-its-worst-line'(open) {
      const page = await open('program');
      const seen = await page.evaluate(() => {
        const pane = document.getElementById('source-text').getBoundingClientRect();
        const heat = (row) => Number(row.children[3].textContent.replace(/[^0-9]/g, ''));
        const worst = [...document.querySelectorAll('#source-text tr[data-line]')].sort((a, b) => heat(b) - heat(a))[0].getBoundingClientRect();
        return {worst: heat([...document.querySelectorAll('#source-text tr[data-line]')].sort((a, b) => heat(b) - heat(a))[0]),
          inside: worst.top >= pane.top && worst.bottom <= pane.bottom, top: scrollY};
      });
      expect(seen.worst > 0 && seen.inside, 'the worst line is not in sight of the source: ' + JSON.stringify(seen));
      equal(seen.top, 0, 'the page itself stays at its top');
    },
    async 'a-line-has-a-link'(open) {
      const page = await open('program');
      await page.locator('#verdict .worst .link').first().click();
      await settle(page);
      const url = await page.evaluate(() => location.hash);
      expect(/^#.+:\d+$/.test(url), 'the address after a jump: ' + url);
      const links = await page.locator('#source-text .line-link').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      expect(links.includes(url), url + ' is none of ' + links);
      // Somebody else opens it.
      await page.evaluate(() => { location.hash = '#smooth.c:28'; });
      await settle(page);
      expect((await page.locator('#source-head').textContent()).includes('smooth.c'), 'another file');
      const box = await page.locator('#source-text [data-line="28"]').boundingBox();
      expect(box && box.y >= 0 && box.y < 800, 'the line is not in sight: ' + JSON.stringify(box));
      for (const odd of ['#%E0%A4%A:3', '#nothing.c:7', '#source-section', '#:', '#smooth.c:999999'])
        await page.evaluate((hash) => { location.hash = hash; }, odd);
    },
    async 'pairs-stop-at-99-percent'(open) {
      const page = await open('program'), profile = read('program'), [blocks] = Object.values(CACHES), all = total(profile, blocks);
      const misses = await page.evaluate(() => [...document.querySelectorAll('#pairs tr.pair .misses strong')].map((one) => Number(one.textContent.replace(/,/g, ''))));
      const sum = misses.reduce((a, b) => a + b, 0), last = misses[misses.length - 1];
      expect(sum >= all * 0.99 && sum - last < all * 0.99, `${misses} of ${all}`);
      const said = await page.locator('#pairs-more').textContent();
      const rest = (100 * (all - sum)) / all;
      expect(said.includes('the others have ' + (rest < 0.005 ? rest.toPrecision(1) : rest.toFixed(2)) + ' %'), said);
    },
    async 'narrow-window-shows-the-line-that-misses'(open) {
      const page = await open('program');
      await page.setViewportSize({width: 400, height: 800});
      await settle(page);
      for (const what of ['#pairs tr.pair:first-child > td', '#objects tbody tr:first-child > *'])
        for (const box of await boxes(page, what))
          expect(box.left >= 0 && box.right <= 400, `${what} does not fit: ${JSON.stringify(box)}`);
      // Of a line of the source its misses and the beginning of its text.
      const cells = await page.evaluate(() => {
        const row = document.querySelector('#source-text .hot').parentElement, pane = document.getElementById('source-text').getBoundingClientRect();
        const text = row.querySelector('.text').getBoundingClientRect();
        return {misses: row.querySelector('.hot').getBoundingClientRect().right, text: text.left, pane: pane.right};
      });
      expect(cells.misses < cells.pane && cells.text < cells.pane - 120, 'the text of a line is out of sight: ' + JSON.stringify(cells));
    },
    async 'metadata-is-at-the-end'(open) {
      const page = await open('program');
      const order = await page.evaluate(() => [...document.querySelectorAll('main section')].filter((one) => !one.closest('[hidden]')).map((one) => one.id));
      equal(order.slice(0, 2), ['verdict-section', 'curve-section'], 'what comes first');
      equal(order.slice(-3), ['run-section', 'profiles-section', 'reading-section'], 'what comes last');
    },
  };
};
