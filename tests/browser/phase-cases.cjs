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
  async 'one-level-is-said'(open) {
    const page = await open('phases');
    const seen = await page.evaluate(() => ({
      said: document.querySelector('#phases .phase-level').textContent, choices: document.querySelectorAll('#phases .phase-choice').length,
      bands: document.querySelectorAll('#phases .phase-band').length,
    }));
    equal(seen, {said: 'Picture and table: level 1, the only one: no phase has phases inside.', choices: 0, bands: 0}, 'one level');
  },
  async 'phases-inside-phases'(open) {
    const page = await open('nested-phases');
    const look = () => page.evaluate(() => ({
      said: document.querySelector('#phases .phase-level').textContent,
      stripes: document.querySelectorAll('#phases .phase').length,
      bands: document.querySelectorAll('#phases .phase-band').length,
      picture: document.querySelector('#phases .phase-picture').getAttribute('aria-label').endsWith('level 1'),
      rows: [...document.querySelectorAll('#phases tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)),
    }));
    equal(await look(), {said: 'Picture and table: level 1 of 2, 3 phases with phases inside.', stripes: 3, bands: 9, picture: true,
      rows: [['A', '2', '300', '50', '1, 2'], ['B', '1', '100', '9', '3']]}, 'level 1');
    await page.selectOption('#phases .phase-choice', '1');
    equal(await look(), {said: 'Picture and table: level 2 of 2, 6 phases inside those of level 1.', stripes: 6, bands: 9, picture: false,
      rows: [['A', '2', '100', '20', '1, 4'], ['B', '2', '100', '10', '2, 5'], ['C', '2', '100', '30', '3, 6']]}, 'level 2');
    const text = await page.evaluate(() => document.querySelector('#phases').textContent);
    expect(text.includes('Phases begin where the distances, or the data in use, change'), text);
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
