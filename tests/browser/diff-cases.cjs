// SPDX-License-Identifier: Apache-2.0
// The page of a diff: what it says is what `fathom diff` says (diff.txt, diff-page.json), the sources stand side by
// side, and the report of both is below. See report-test.cjs.
'use strict';
const fs = require('fs');
const path = require('path');

module.exports = (helpers) => {
  const {expect, equal, settle, pixels, folder} = helpers;
  const read = (name) => fs.readFileSync(path.join(folder, name), 'utf8');
  const rows = (page, selector) =>
    page.evaluate((what) => [...document.querySelectorAll(what)].map((row) => [...row.children].map((cell) => cell.textContent)), selector);

  return {
    async 'diff-page-says-what-the-terminal-says'(open) {
      const page = await open('diff'), told = JSON.parse(read('diff-page.json')), screen = read('diff-page.txt').replace(/\s+/g, ' ');
      const [answer] = await page.locator('#verdict .answer').allTextContents();
      const leads = await page.locator('#verdict .lead').allTextContents();
      equal([answer, leads[0]], told.sentences, 'sentences');
      for (const text of [answer, leads[0], ...told.notes]) expect(screen.includes(text), `the terminal does not say '${text}'`);
      for (const note of told.notes) expect(leads.includes(note), 'no note ' + note);
      // Every cache with its two numbers, as on the terminal.
      const levels = await rows(page, '#verdict .changes tbody tr');
      equal(levels.map(([name]) => name), told.caches.map(({name}) => name), 'caches');
      for (const cells of levels) for (const cell of cells.slice(0, 5)) expect(screen.includes(cell), `the terminal has no '${cell}'`);
      // Lines that changed, the largest change first.
      const changed = told.lines.filter(({change}) => change !== 'same');
      const lines = await rows(page, '#changed > div:first-child tbody tr');
      equal(lines.map(([change, place]) => [change, place]), changed.slice(0, 30).map((row) => [row.change, (row.after || row.before).text]), 'lines');
    },
    async 'diff-page-looks-like-the-report'(open) {
      const page = await open('diff');
      const links = await page.locator('#contents a').allTextContents();
      for (const link of ['Verdict', 'Miss ratios', 'What changed', 'Side by side', 'Each by itself', 'Source'])
        expect(links.includes(link), `no link to '${link}': ${links}`);
      const seen = await pixels(page, 'curve');
      expect(seen.inked > 3000 && seen.colours > 8, 'no curves of the two');
      equal((await page.locator('#each .verdict').count()), 2, 'verdicts of each');
      // Lines of the two sources stand beside each other, changed ones are marked.
      const sides = await rows(page, '#sides tbody tr');
      expect(sides.length > 5 && sides.some((cells) => cells.length === 6 && cells[1] && cells[4]), 'no line has misses on both sides');
      equal(await page.evaluate(() => getComputedStyle(document.querySelector('header')).maxWidth), '1280px', 'the header of the report');
    },
    async 'diff-page-in-a-narrow-window'(open) {
      const page = await open('diff');
      await page.setViewportSize({width: 400, height: 800});
      await settle(page);
      expect((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400, 'the page is wider than its window');
    },
    async 'diff-page-of-two-that-cannot-be-compared'(open) {
      const page = await open('diff-incomparable');
      const [answer] = await page.locator('#verdict .answer').allTextContents();
      expect(answer.startsWith('not comparable: '), answer);
      equal(await page.locator('#changed table').count(), 0, 'tables');
      expect(await page.evaluate(() => document.getElementById('changed-section').hidden && document.getElementById('sides-section').hidden), 'empty sections');
    },
  };
};
