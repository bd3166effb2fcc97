// SPDX-License-Identifier: Apache-2.0
// Phases of a trace, and profiles that are not exact, as the page shows them. See report-test.cjs.
'use strict';

module.exports = ({equal, expect}) => ({
  async 'phases-are-drawn'(open) {
    const page = await open('phases');
    const seen = await page.evaluate(() => ({
      hidden: document.getElementById('phases-section').hidden,
      stripes: document.querySelectorAll('#phases .phase').length,
      stems: document.querySelector('#phases .stems').getAttribute('d').split('M').length - 1,
      rows: [...document.querySelectorAll('#phases tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)),
    }));
    equal(seen.hidden, false, 'the section is hidden');
    equal(seen.stripes, 3, 'stripes');
    equal(seen.stems, 2, 'time samples');
    equal(seen.rows, [['A', '1', '100', '50', '1'], ['B', '2', '150', '40', '2, 3']], 'kinds');
  },
  async 'no-phases-no-section'(open) {
    const page = await open('one');
    expect(await page.evaluate(() => document.getElementById('phases-section').hidden), 'an empty section is shown');
  },
  async 'approximate-profiles-say-so'(open) {
    const page = await open('phases');
    const warnings = await page.evaluate(() => [...document.querySelectorAll('#warnings p')].map((one) => one.textContent));
    expect(warnings.some((text) => text.startsWith('APPROXIMATE') && text.includes('<b>within 5 %</b>')), JSON.stringify(warnings));
  },
});
