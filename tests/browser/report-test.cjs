// SPDX-License-Identifier: Apache-2.0
// What a person would check on the page, checked by a program. See run-report-test.sh.
'use strict';
const fs = require('fs');
const path = require('path');
const {newPage} = require('./page.cjs');
const {shown} = require('./late-model.cjs');

const [folder, shots, only] = process.argv.slice(2);
let failed = 0;

const expect = (condition, message) => {
  if (!condition) throw new Error(message);
};
const equal = (found, wanted, what) =>
  expect(JSON.stringify(found) === JSON.stringify(wanted), `${what}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);

// How many pixels of a chart's canvas differ from its most frequent colour, and a sum that changes with the picture.
const pixels = (page, id) => page.evaluate((chart) => {
  const canvas = document.querySelector('#' + chart + ' canvas');
  const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let inked = 0, sum = 0;
  const colours = new Set();
  for (let i = 0; i < image.length; i += 4) {
    if (image[i + 3] === 0) continue;
    inked++;
    colours.add((image[i] << 16) | (image[i + 1] << 8) | image[i + 2]);
    sum = (sum * 31 + image[i] + 7 * image[i + 1] + 13 * image[i + 2] + i) % 1000000007;
  }
  return {inked, sum, colours: colours.size};
}, id);

const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

const choose = async (page, name, value) => {
  await page.locator(`input[name="${name}"][value="${value}"]`).check({force: true});
  await settle(page);
};

const legend = (page, id) => page.evaluate((chart) =>
  [...document.querySelectorAll('#' + chart + ' .plot-entry')].map((row) => [
    row.querySelector('.plot-label').textContent, row.querySelector('.plot-value').textContent]), id);

const numbers = (page) => page.evaluate(() => Object.fromEntries(
  [...document.querySelectorAll('#numbers tbody tr')].map((row) => [
    row.querySelector('th').textContent, [...row.querySelectorAll('td')].map((cell) => cell.textContent)])));

const helpers = {expect, equal, settle, choose, legend, pixels, folder};
const cases = {
  async 'charts-render'(open) {
    const page = await open('one');
    for (const id of ['curve', 'histogram', 'times']) {
      const seen = await pixels(page, id);
      expect(seen.inked > 3000 && seen.colours > 8, `#${id}: an (almost) empty canvas: ${JSON.stringify(seen)}`);
    }
  },
  async 'axis-switches-change-the-axes'(open) {
    const page = await open('one');
    const pictures = new Set();
    for (const id of ['histogram', 'curve', 'times'])
      for (const x of ['linear', 'log'])
        for (const y of ['linear', 'log']) {
          await choose(page, id + '-x', x);
          await choose(page, id + '-y', y);
          const state = await page.evaluate((chart) => Object.assign({}, document.getElementById(chart).dataset), id);
          equal([state.x, state.y], [x, y], id);
          const seen = await pixels(page, id);
          expect(seen.inked > 1500, `${id} with x ${x}, y ${y} is empty`);
          pictures.add(seen.sum);
        }
    equal(pictures.size, 12, 'different pictures');
    const before = await pixels(page, 'histogram');
    await choose(page, 'histogram-unit', 'count');
    expect((await pixels(page, 'histogram')).sum !== before.sum, 'share and count look the same');
  },
  async 'numbers-are-those-of-the-closed-form'(open) {
    const page = await open('one');
    const table = await numbers(page);
    // A sweep over 1 MiB: everything but the 50000 immediate returns misses below 1 MiB, only cold from there on.
    const all = 50000 + 131072 + 16384;
    const share = (part) => ((part / all) * 100).toFixed(2) + ' %';
    equal(table['64 B'], [share(all - 50000)], '64 B');
    equal(table['512 KiB'], [share(all - 50000)], '512 KiB');
    equal(table['1 MiB'], [share(16384)], '1 MiB');
    const l2 = Object.keys(table).find((key) => key.startsWith('L2'));
    expect(l2 && table[l2][0].startsWith(share(16384)), 'the row of the L2 cache: ' + JSON.stringify(table));
  },
  async 'cursor-reads-out-by-keyboard'(open) {
    const page = await open('one');
    await page.locator('#curve').focus();
    await page.keyboard.press('Home');
    await settle(page);
    equal((await legend(page, 'curve'))[0][1], '64 B', 'size at the left end');
    await page.keyboard.press('End');
    await settle(page);
    const right = await legend(page, 'curve');
    equal(right[1][1], ((16384 / 197456) * 100).toFixed(2) + ' %', 'miss ratio at the right end');
  },
  async 'cursor-reads-out-by-mouse'(open) {
    // Anywhere over a bar its own numbers are read, also where the next bar's point is nearer.
    const page = await open('several');
    const over = page.locator('#histogram .plot-area');
    const box = await over.boundingBox();
    // Distances up to 16383: bins 0 to 14, a gap, cold: 17 places from -0.6 to 16.6.
    for (const offset of [-0.4, 0, 0.4]) {
      const x = ((9 + offset + 0.6) / 17.2) * box.width; // bin 9: [256, 512)
      await over.hover({position: {x, y: box.height / 2}});
      await settle(page);
      const rows = await legend(page, 'histogram');
      equal(rows[0][1], '[256, 512)', 'distance');
      equal(rows.slice(1).map((row) => row[1]),
        ['0.00 %', ((90000 / 161500) * 100).toFixed(2) + ' %', '0.00 %', '0.00 %'], 'shares');
    }
  },
  // 64 B to 64 MiB are 20 powers of two: what is dragged over is what is shown then.
  async 'dragging-zooms-and-a-double-click-shows-all'(open) {
    const page = await open('one'), over = page.locator('#curve .plot-area');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox(), middle = box.y + box.height / 2;
    const place = (bytes, from, to) => box.x + (Math.log2(bytes / from) / Math.log2(to / from)) * box.width;
    const read = async (x) => {
      await page.mouse.move(x, middle);
      await settle(page);
      return (await legend(page, 'curve'))[0][1];
    };
    const [least, most] = [64, 2 ** 26];
    const whole = await pixels(page, 'curve');
    equal(await read(place(1 << 20, least, most)), '1 MiB', 'before');
    await page.mouse.move(place(1 << 14, least, most), middle);
    await page.mouse.down(place(1 << 14, least, most), middle);
    await page.mouse.move(place(1 << 18, least, most), middle, {down: true});
    equal(await page.locator('#curve .plot-band').isVisible(), true, 'the band that is dragged');
    await page.mouse.up(place(1 << 18, least, most), middle);
    await settle(page);
    expect((await pixels(page, 'curve')).sum !== whole.sum, 'dragging does not zoom');
    equal(await page.locator('#curve .plot-band').isVisible(), false, 'the band afterwards');
    equal(await read(place(1 << 16, 1 << 14, 1 << 18)), '64 KiB', 'after zooming');
    await page.mouse.doubleClick(place(1 << 16, 1 << 14, 1 << 18), middle);
    equal(await read(place(1 << 20, least, most)), '1 MiB', 'after a double click');
    await page.mouse.move(box.x - 20, box.y - 20);
    await settle(page);
    equal((await pixels(page, 'curve')).sum, whole.sum, 'the picture as it was');
  },
  async 'fingers-read-and-zoom'(open) {
    const page = await open('one'), over = page.locator('#curve .plot-area');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox(), middle = box.y + box.height / 2;
    const place = (bytes, from, to) => box.x + (Math.log2(bytes / from) / Math.log2(to / from)) * box.width;
    const [least, most] = [64, 2 ** 26];
    await page.touch('Start', [place(1 << 12, least, most), middle]);
    await page.touch('Move', [place(1 << 20, least, most), middle]);
    await settle(page);
    equal((await legend(page, 'curve'))[0][1], '1 MiB', 'one finger reads');
    // Two fingers on 16 KiB and 256 KiB go to where 4 KiB and 1 MiB were: half as many powers of two, around 64 KiB.
    await page.touch('Start', [place(1 << 14, least, most), middle], [place(1 << 18, least, most), middle]);
    await page.touch('Move', [place(1 << 12, least, most), middle], [place(1 << 20, least, most), middle]);
    await page.touch('End');
    await settle(page);
    await page.mouse.move(box.x + box.width * 0.9, middle);
    await settle(page);
    equal((await legend(page, 'curve'))[0][1], '1 MiB', 'four tenths of ten powers of two above 64 KiB');
  },
  async 'several-profiles-overlay'(open) {
    const page = await open('several');
    const rows = await legend(page, 'curve');
    equal(rows.slice(1).map((row) => row[0]),
      ['sweep.fathom', 'small.fathom', 'run · 8 B blocks', 'run · 4 KiB blocks'], 'legend');
    const colours = await page.evaluate(() => {
      const canvas = document.querySelector('#curve canvas');
      const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const style = getComputedStyle(document.documentElement);
      return [0, 1, 2, 3].map((i) => {
        const hex = parseInt(style.getPropertyValue('--s' + i).trim().slice(1), 16);
        let found = 0;
        for (let at = 0; at < image.length; at += 4)
          if (((image[at] << 16) | (image[at + 1] << 8) | image[at + 2]) === hex && image[at + 3] === 255) found++;
        return found;
      });
    });
    expect(colours.every((found) => found > 50), 'pixels in each curve\'s colour: ' + colours);
    equal(await page.locator('#profiles tbody tr').count(), 4, 'rows of the table of profiles');
    equal((await legend(page, 'times')).length, 2, 'only the profile that has time distances is in their chart');
    const before = await pixels(page, 'curve');
    await page.locator('#curve .plot-entry button').first().press('Enter');
    await settle(page);
    expect((await pixels(page, 'curve')).sum !== before.sum, 'a name in the legend does not hide its curve');
  },
  async 'hostile-name-stays-text'(open) {
    const page = await open('hostile');
    const profile = JSON.parse(fs.readFileSync(path.join(folder, 'hostile.json'), 'utf8'));
    const cell = await page.locator('#profiles tbody th').first().textContent();
    equal(cell, shown(profile.name), 'the name in the table');
    equal(await page.locator('img').count(), 0, 'images');
    equal(await page.locator('#profiles b').count(), 0, 'markup out of the engine\'s name');
    equal(await page.locator('script').count(), 2, 'scripts');
    const warning = await page.locator('#warnings').textContent();
    expect(warning.includes('INCOMPLETE') && warning.includes(profile.what_missing), 'the warning: ' + warning);
  },
  async 'keys-are-counted-in-keys'(open) {
    const page = await open('keys');
    const table = await numbers(page);
    equal(table['512 keys'], [((6000 / 6010) * 100).toFixed(2) + ' %'], '512 keys');
    expect(!Object.keys(table).some((row) => row.startsWith('L')), 'caches in bytes beside keys');
  },
  /* 10 at distance 0, 5000 at 999, 1000 first touches. */
  async 'sizes-asked-for-are-keys-where-profiles-are'(open) {
    const page = await open('keys-sized');
    const table = await numbers(page);
    equal(table['600 keys'], [((6000 / 6010) * 100).toFixed(2) + ' %'], '600 keys');
    equal(table['1000 keys'], [((1000 / 6010) * 100).toFixed(2) + ' %'], '1000 keys');
    const text = await page.locator('body').textContent();
    expect(text.includes('cache sizes: 600 keys, 1000 keys'), 'sizes in another unit: ' + text.slice(0, 400));
  },
  async 'large-histogram-is-coarsened-and-says-so'(open) {
    const size = fs.statSync(path.join(folder, 'large.html')).size;
    expect(size < 600000, `the page has ${size} bytes`);
    const page = await open('large');
    expect((await page.locator('#histogram-note').textContent()).includes('64 bins per power of two'), 'no word of it');
    expect((await pixels(page, 'histogram')).inked > 3000, 'an empty chart');
  },
  async 'an-empty-profile-is-no-error'(open) {
    const page = await open('empty');
    equal(await page.locator('#profiles tbody tr').count(), 1, 'rows');
  },
  async 'dark-and-light-differ'(open) {
    const page = await open('one');
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({colorScheme: 'light'});
    await settle(page);
    const light = [await background(), (await pixels(page, 'curve')).sum];
    await page.emulateMedia({colorScheme: 'dark'});
    await settle(page);
    const dark = [await background(), (await pixels(page, 'curve')).sum];
    expect(light[0] !== dark[0] && light[1] !== dark[1], `${light} ${dark}`);
  },
  async 'narrow-window-fits'(open) {
    const page = await open('several');
    await page.setViewportSize({width: 390, height: 800});
    await settle(page);
    await settle(page);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(over <= 0, `the page is ${over} pixels wider than the window`);
  },
};

const runCases = async () => {
  for (const more of ['./late-pairs-cases.cjs', './late-source-cases.cjs', './program-cases.cjs', './phase-cases.cjs', './first-screen-cases.cjs', './diff-cases.cjs'])
    Object.assign(cases, require(more)(helpers));
  for (const [name, run] of Object.entries(cases)) {
    if (only && !name.includes(only)) continue;
    const trouble = [];
    const page = await newPage();
    page.on('pageerror', (message) => trouble.push('script error: ' + message));
    page.on('console', ({type, text}) => {
      if (text.includes('willReadFrequently')) return; // about this test's own looking at pixels
      if (type === 'error' || type === 'warning') trouble.push('console: ' + text);
    });
    page.on('dialog', (message) => trouble.push('dialog: ' + message));
    page.on('request', (url) => {
      if (!url.startsWith('file://' + folder) && !url.startsWith('data:')) trouble.push('request: ' + url);
    });
    const open = async (file) => {
      await page.goto('file://' + path.join(folder, file + '.html'));
      await page.waitForSelector('html[data-ready=yes]');
      await settle(page);
      return page;
    };
    try {
      await run(open);
      expect(!page.isClosed(), 'the page is gone');
      if (shots) await page.screenshot({path: path.join(shots, name + '.png')});
      expect(trouble.length === 0, trouble.join('; '));
      console.log('ok ' + name);
    } catch (error) {
      failed++;
      console.log('not ok ' + name);
      console.log('  ' + String(error.message).split('\n').join('\n  ') + (trouble.length ? '\n  ' + trouble.join('\n  ') : ''));
    }
    await page.close();
  }
  return failed ? 1 : 0;
};
module.exports.done = runCases();
