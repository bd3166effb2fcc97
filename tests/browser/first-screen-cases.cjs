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
      for (const what of ['#verdict .lead', '.levels tbody tr', '.worst tr:first-child', '#curve .plot-area'])
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
      const [first] = await rows(page, '.worst tr');
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
    async 'metadata-is-at-the-end'(open) {
      const page = await open('program');
      const order = await page.evaluate(() => [...document.querySelectorAll('main section')].filter((one) => !one.closest('[hidden]')).map((one) => one.id));
      equal(order.slice(0, 2), ['verdict-section', 'curve-section'], 'what comes first');
      equal(order.slice(-3), ['run-section', 'profiles-section', 'reading-section'], 'what comes last');
    },
  };
};
