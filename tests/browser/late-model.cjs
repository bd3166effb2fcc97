// SPDX-License-Identifier: Apache-2.0
// What a profile's attribution means, computed straight from its JSON: shares nothing with the page or with libfathom.
'use strict';

const CACHES = {'L1d 48 KiB': 768, 'L2 1 MiB': 16384, 'L3 32 MiB': 524288};
const number = (value) => Math.round(value).toLocaleString('en-US');

// Misses of a row of pairs or object uses at a size that is an edge.
const missesOf = (profile, row, blocks, cold) => {
  let misses = (cold === false ? 0 : row[3]) + row[4];
  for (let i = 0; i < row[5].length; i += 2) if (profile.attribution.edges[row[5][i]] >= blocks) misses += row[5][i + 1];
  return misses;
};
// The frame that stands for a site: see the switch for inlined code.
const frameOf = (profile, frames, inlined) => {
  const outside =
    inlined === 'user'
      ? frames.findIndex((file, i) => i % 4 === 1 && !profile.attribution.strings[file].startsWith('/usr/include/')) - 1
      : -1;
  return inlined === 'caller' ? frames.length - 4 : Math.max(0, outside);
};
// What the page calls a site: its line, or for want of one its name.
const titleOf = (profile, site, inlined) => {
  const {strings, sites, modules} = profile.attribution;
  if (site == null) return 'first touch';
  const [module, address, , symbol, offset, frames] = sites[site];
  const at = frameOf(profile, frames, inlined);
  if (frames.length) return strings[frames[at + 1]].split('/').pop() + ':' + frames[at + 2];
  const where = module == null ? ', made at run time' : ' in ' + modules[module].path.split('/').pop();
  return (symbol == null ? '0x' + address.toString(16) : strings[symbol] + '+0x' + offset.toString(16)) + where;
};
// Code that was inlined in two places is two lines, unless it is counted where it was inlined.
const linePairs = (profile, blocks, {cold, inlined} = {}) => {
  const found = new Map();
  const spotOf = (site) => {
    const title = titleOf(profile, site, inlined);
    const frames = site == null ? [] : profile.attribution.sites[site][5];
    return (
      title +
      ' in ' +
      frames
        .slice(frameOf(profile, frames, inlined) + 4)
        .filter((_, i) => i % 4 < 3)
        .join()
    );
  };
  for (const row of profile.attribution.pairs) {
    const use = titleOf(profile, row[0], inlined),
      reuse = titleOf(profile, row[1], inlined);
    const spots = [spotOf(row[0]), spotOf(row[1])],
      key = spots.join(' > ');
    const pair = found.get(key) || {
      use,
      reuse: spots[0] === spots[1] ? '↻ the same line' : reuse,
      ends: [use, reuse],
      misses: 0,
      count: 0,
      key,
    };
    pair.misses += missesOf(profile, row, blocks, cold);
    pair.count += row[2] - (cold === false ? row[3] : 0);
    found.set(key, pair);
  }
  return [...found.values()];
};
const total = (profile, blocks, cold) => profile.attribution.pairs.reduce((sum, row) => sum + missesOf(profile, row, blocks, cold), 0);
const percent = (part, whole) => {
  const value = (part / whole) * 100;
  return value > 0 && value < 0.005 ? value.toPrecision(1) + ' %' : value < 100 && value > 99.995 ? '>99.99 %' : value.toFixed(2) + ' %';
};

// Text as the page shows it: characters that are not seen, or that reorder others, by their numbers.
const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const shown = (text) => text.replace(odd, (one) => '<U+' + one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '>');

module.exports = {CACHES, shown, number, percent, missesOf, titleOf, linePairs, total};
