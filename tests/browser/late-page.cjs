// SPDX-License-Identifier: Apache-2.0
// Reading and handling what the page shows of an attribution.
'use strict';

module.exports = ({settle}) => {
  const pairRows = (page) =>
    page.evaluate(() =>
      [...document.querySelectorAll('#pairs tr.pair')].map((row) => {
        const cells = row.children;
        const place = (cell) => (cell.querySelector('.link') || cell.querySelector('em') || cell.firstChild).textContent;
        return {
          misses: cells[1].querySelector('strong').textContent,
          share: cells[1].querySelector('.share').textContent,
          use: place(cells[2]),
          reuse: place(cells[3]),
          count: cells[4].textContent,
        };
      })
    );
  /* The rows, or files, that are not shown because the others make 99 % of the misses. */
  const more = async (page, where = '#pairs-more') => {
    const button = page.locator(where + ' button', {hasText: 'Show'});
    while (await button.count()) await button.first().click();
    await settle(page);
  };
  const listAll = async (page) => {
    if (await page.locator('#pairs-all').count()) await page.locator('#pairs-all').click();
  };
  const size = async (page, text) => {
    const cache = page.locator('#late-bar .choices label', {hasText: text}).locator('input[name=late-cache]');
    if (await cache.count()) {
      await cache.check({force: true});
    } else {
      await page.selectOption('#late-size', {label: text});
    }
    await settle(page);
  };
  const sourceRows = (page) =>
    page.evaluate(() =>
      [...document.querySelectorAll('#source-text tbody tr[data-line]')].map((row) => [
        row.children[1].firstChild.textContent, // without the link to the line
        ...[2, 3, 4].map((i) => row.children[i].textContent),
        row.querySelector('.text').textContent,
      ])
    );
  const openFile = async (page, name) => {
    await page.locator('#source-files button', {hasText: name}).click();
    await settle(page);
  };
  const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();
  return {pairRows, listAll, more, size, sourceRows, openFile, sorted};
};
