/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.js - the first screen: what is wrong at every cache, and the lines that do it, as `fathom run` shows it
 * (src/view/terminal/terminal_verdict.c), with a sentence that says so. Code of the system's libraries is one row for
 * each library. Of keys: hit ratios, and the sizes for them.
 */

/* 787, 9.16 M: three digits. */
const shortCount = (value) => {
  const units = ['', ' k', ' M', ' G', ' T', ' P', ' E'];
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit++;
  }
  return value.toFixed(unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + units[unit];
};
const wholePercent = (share) => {
  const value = share * 100;
  return value > 0 && value < 1 ? '<1 %' : value < 100 && value > 99 ? '>99 %' : value.toFixed(0) + ' %';
};

/* ---- what is told ---- */

const verdictSentence = (profile, name) => {
  const {run} = profile, parts = [name + (run && run.ending ? ' ' + run.ending : '') + ': '];
  parts.push(shortCount(profile.references) + (profile.references === 1 ? ' reference' : ' references'));
  if (fewBlocks(profile)) parts.push(' to an unknown number of blocks (' + count(profile.sampling.blockSamples) + ' samples of it)');
  else parts.push(profile.granularity > 1 ? ' to ' + bytes(profile.distinct * profile.granularity) : ' to ' + shortCount(profile.distinct) + (profile.elements ? ' elements' : ' blocks'));
  if (run && run.what && run.what !== 'all references') parts.push(', ' + run.what);
  else if (run && profile.complete) parts.push(', every one seen');
  parts.push(profile.exact ? ', exact' : ', estimated', profile.bound ? ' below ' + count(profile.bound) + ' blocks' : '');
  return parts.join('');
};

/* Misses at each cache: of all references, late, first touches. */
const verdictLevels = (profile) => data.caches.map((cache, i) => {
  const fit = profile.caches[i], misses = fit.ratio * profile.references, late = Math.max(0, misses - profile.cold);
  return {cache, band: bandText(profile, fit.blocks), blocks: fit.blocks, known: fit.known, ratio: fit.ratio, misses, late};
}).filter((level) => level.blocks > 0);

/* The first cache at which re-uses are lost, one in a thousand references or more; else the first. */
const judgedLevel = (profile, levels) => levels.find((level) => level.late * 1000 >= profile.references) || levels[0];

/* Where a place stands in the list: its library, its line, or what it is called. */
const verdictPlace = (of, place, module) => {
  const path = module >= 0 ? of.modules[module].path : '';
  if (/^\/(usr\/)?lib/.test(path)) return {key: 'm' + lastPart(path), title: lastPart(path)};
  if (!Array.isArray(place)) return {key: 'b' + bareText(of, place), title: bareText(of, place)};
  const at = frameFor(place, 'user'), file = place[at + 1], line = place[at + 2];
  const name = place[at] >= 0 ? of.names[place[at]] : '';
  if (file < 0 || !line) return {key: 'f' + name, title: name || 'unknown code'};
  return {key: file + ':' + line, title: lastPart(files[file].path) + ':' + line, file, line, name};
};

const verdictRows = (of) => {
  const rows = new Map(), moduleOf = [];
  for (const site of of.sites) if (moduleOf[site[0]] === undefined) moduleOf[site[0]] = site[1];
  of.places.forEach((place, number) => {
    const told = verdictPlace(of, place, moduleOf[number] === undefined ? -1 : moduleOf[number]);
    if (!rows.has(told.key)) rows.set(told.key, Object.assign(told, {misses: new Misses(of.edges)}));
    rows.get(told.key).misses.add(of.reuse[number], 0);
  });
  return [...rows.values()];
};

/* ---- showing it ---- */

const rankedAt = (rows, of, level) => {
  const size = sizeOf(of.edges, level.blocks);
  return rows.map((row) => ({row, value: row.misses.missesAt(size)})).filter((one) => one.value > 0)
    .sort((a, b) => b.value - a.value);
};

const placesText = (rows, of, level, words) => {
  const ranked = rankedAt(rows, of, level), told = [];
  let passed = 0;
  for (const {row, value} of ranked.slice(0, 3)) {
    if (told.length && (passed > level.misses * 0.8 || value < level.misses * 0.1)) break;
    told.push(row.title);
    passed += value;
    if (!(level.late > 0)) return told[0] + ' (' + words + ')';
  }
  return told.join(', ');
};

const levelTable = (profile, levels, rows) => {
  const of = profile.attribution, body = element('tbody', {});
  for (const level of levels) {
    const cells = level.known
      ? [td('', shortCount(level.misses)), td('', percent(level.ratio)),
        ...(profile.band ? [td('', level.band)] : [td('', wholePercent(level.misses ? level.late / level.misses : 0)),
          td('', wholePercent(level.misses ? 1 - level.late / level.misses : 0))]), td('left code', of ? placesText(rows, of, level, coldWords(profile)) : '')]
      : [element('td', {colspan: profile.band ? 4 : 5, class: 'left'}, 'unknown: larger than the profile’s bound')];
    body.append(tr(element('th', {scope: 'row'}, cacheName(level.cache)), td('', size(level.cache.bytes)), ...cells));
  }
  return element('div', {class: 'scroll'}, element('table', {class: 'levels'}, element('thead', {}, tr(
    ...['Cache', 'Size', 'Misses', 'Of refs', ...(profile.band ? [confidenceText(profile) + ' band'] : ['Late', 'First'])].map((text) => element('th', {scope: 'col'}, text)),
    element('th', {scope: 'col', class: 'left'}, of ? 'Most of them at' : ''))), body));
};

const lineRow = (of, level, {row, value}) => {
  const line = late.model && late.model.of === of && row.file >= 0 ? late.model.lines.get(row.key) : null;
  const title = line ? textButton(row.title, () => showLine(line), {class: 'link', title: files[row.file].path + ':' + row.line}) :
    element('span', {title: row.title}, cutMiddle(row.title, LONG_NAME));
  const text = row.file >= 0 ? codeAt(row.file, row.line) : null;
  return tr(element('th', {scope: 'row', class: 'code'}, title), td('', shortCount(value)), td('', wholePercent(value / level.misses)),
    td('left', text ? element('code', {title: text.trim()}, text.trim()) : '', row.name ? element('span', {class: 'dim', title: row.name}, ' ' + cutMiddle(row.name, LONG_NAME)) : '',
      line ? sureNote(line.sure.text) : ''));
};

const NUMBER_WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/* The places with most misses at a level: shown, of which the first `told` make `most` of them; null: none. */
const worstLines = (of, level, rows) => {
  const shown = [];
  let passed = 0, most = 0, told = 0, lines = true;
  for (const one of rankedAt(rows, of, level).slice(0, 5)) {
    if (passed > level.misses * 0.95 || (shown.length && one.value < level.misses * 0.01)) break;
    shown.push(one);
    if (most < level.misses * 0.8) {
      most += one.value;
      told++;
      lines = lines && one.row.file >= 0;
    }
    passed += one.value;
  }
  return shown.length ? {shown, told, most, lines} : null;
};

const lineTable = (profile, level, {shown, told, most, lines}) => {
  const of = profile.attribution, name = cacheName(level.cache), noun = (lines ? 'line' : 'place') + (told === 1 ? ' makes ' : 's make ');
  const heading = name + ': ' + NUMBER_WORDS[told] + ' ' + noun + wholePercent(most / level.misses) + ' of the misses' +
    (level.late > 0 ? '' : ', ' + coldWords(profile) + ' only');
  const heads = smallHeads([['Line', ''], ['Misses', ''], ['Of ' + name, ''], ['Source, function', 'left']]);
  return element('div', {}, element('h3', {}, heading), element('div', {class: 'scroll'},
    element('table', {class: 'worst'}, heads, element('tbody', {}, ...shown.map((one) => lineRow(of, level, one))))));
};

/* ---- the answer ---- */

/* The range of distances with the median of the late reuses at these rows: [lo, hi], or null. */
const medianDistance = (of, level, shown) => {
  const {range, inside} = sizeOf(of.edges, level.blocks), counts = of.edges.map((_, at) =>
    (at < range ? 0 : shown.reduce((sum, {row}) => sum + row.misses.inRange(at), 0) * (at === range ? 1 - inside : 1)));
  const half = counts.reduce((sum, number) => sum + number, 0) / 2;
  let passed = 0;
  for (let at = range; half > 0 && at + 1 < of.edges.length; at++) {
    passed += counts[at];
    if (passed >= half) return [of.edges[at], of.edges[at + 1]];
  }
  return null;
};

/* How far apart the uses are, and the cache that would hold them. */
const distanceText = (profile, level, shown) => {
  const found = level.late > 0 ? medianDistance(profile.attribution, level, shown) : null;
  if (!found) return '';
  const unit = profile.granularity, ratio = missRatio(profile, found[1]);
  const helps = ratio != null && ratio < level.ratio * 0.9;
  return ' Most of them reuse data after ' + blocksText(found[0], unit) + ' to ' + blocksText(found[1], unit) + ' of other data' +
    (helps ? ': a cache of ' + blocksText(found[1], unit) + ' would miss ' + percent(ratio) + ' instead of ' + percent(level.ratio) + '.' : '.');
};

/* "a, b and c" */
const listText = (texts) => (texts.length < 2 ? texts.join('') : texts.slice(0, -1).join(', ') + ' and ' + texts[texts.length - 1]);
const NEGLIGIBLE = 1 / 1000; /* of the references */

/* What is wrong with a program, in two sentences; worst: {shown, told, most} of worstLines, or null. */
const programAnswer = (profile, levels, judged, worst) => {
  const about = isSampled(profile) || !profile.exact ? 'about ' : '', name = cacheName(judged.cache);
  if (levels[0].ratio < NEGLIGIBLE)
    return 'Next to no misses: ' + about + percent(levels[0].ratio) + ' of the references miss ' + cacheName(levels[0].cache) +
      '. Data locality is not a problem of this program.';
  const much = about + shortCount(judged.misses) + ' misses in ' + name + ', ' + percent(judged.ratio) + ' of all references';
  if (!(judged.late * 1000 >= profile.references))
    return much[0].toUpperCase() + much.slice(1) + ', nearly all ' + coldWords(profile) + ': data that is used again is still in the cache.';
  if (!worst) return much[0].toUpperCase() + much.slice(1) + '; ' + wholePercent(judged.late / judged.misses) + ' of them reuse data that the cache has lost.';
  const all = worst.shown.slice(0, worst.told).map(({row}) => row.title);
  const places = all.length > 3 ? [...all.slice(0, 2), all.length - 2 + ' other places'] : all;
  return listText(places) + (places.length === 1 ? ' causes ' : ' cause ') + wholePercent(worst.most / judged.misses) + ' of the ' + much + '.' +
    distanceText(profile, judged, worst.shown);
};

/* The smallest cache with this hit ratio, in blocks; null: no size, or none that the profile knows. */
const sizeForHits = (profile, wanted) => {
  let low = 1, high = profile.distinct;
  const hits = (blocks) => {
    const ratio = missRatio(profile, blocks);
    return ratio == null ? -1 : 1 - ratio;
  };
  if (profile.bound && profile.beyond) high = Math.min(high, profile.bound);
  if (!(high >= 1) || hits(high) < wanted) return null;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (hits(middle) >= wanted) high = middle;
    else low = middle + 1;
  }
  return low;
};

/* What whoever runs a cache of keys asks: hit ratios at shares of the keys, and the sizes for hit ratios. */
const KEY_SHARES = [0.01, 0.1, 0.5], HIT_RATIOS = [0.8, 0.9];
const hitRows = (profile) => {
  const rows = KEY_SHARES.map((share) => {
    const blocks = Math.max(1, Math.round(profile.distinct * share)), ratio = missRatio(profile, blocks);
    return {share, blocks, hits: ratio == null ? null : 1 - ratio};
  });
  for (const hits of HIT_RATIOS) {
    const blocks = sizeForHits(profile, hits);
    rows.push({wanted: hits, hits, blocks, share: blocks == null ? null : blocks / profile.distinct});
  }
  return rows;
};
const mostHits = (profile) => {
  const ratio = missRatio(profile, profile.bound && profile.beyond ? profile.bound : Math.max(1, profile.distinct));
  return ratio == null ? 0 : 1 - ratio;
};
/* 80 %, 85.93 % */
const plainPercent = (share) => (Number.isInteger(Math.round(share * 1e6) / 1e4) ? Math.round(share * 100) + ' %' : percent(share));

const keysAnswer = (profile, rows) => {
  const ten = rows.find((row) => row.share === 0.1 && !row.wanted), eighty = rows.find((row) => row.wanted === 0.8);
  const least = profile.bound && profile.beyond ? 'The largest cache that the profile knows hits ' : 'No cache hits more than ';
  const about = profile.exact ? '' : 'about ';
  const first = ten.hits == null ? '' : 'A cache of 10 % of the ' + keyWords + ' (' + count(ten.blocks) + ') hits ' + about + percent(ten.hits) + ' of the references. ';
  const second = eighty.blocks == null ? '' : '80 % hits need ' + about + count(eighty.blocks) + ' ' + (eighty.blocks === 1 ? keyWord : keyWords) + ' (' + percent(eighty.share) + ' of them). ';
  return first + second + least + percent(mostHits(profile)) +
    (profile.bound && profile.beyond ? '.' : ': the other references are the first to their ' + keyWords + '.');
};

const hitTable = (profile, rows) => element('div', {class: 'scroll'}, element('table', {class: 'hits'},
  element('thead', {}, tr(...['Cache', keyWords[0].toUpperCase() + keyWords.slice(1), 'Of all ' + keyWords, 'Hit ratio'].map((text) => element('th', {scope: 'col'}, text)))),
  element('tbody', {}, ...rows.map((row) => tr(
    element('th', {scope: 'row'}, row.wanted ? 'for ' + plainPercent(row.wanted) + ' hits' : plainPercent(row.share) + ' of the ' + keyWords),
    td('', row.blocks == null ? 'no size' : count(row.blocks)), td('', row.share == null ? '–' : plainPercent(row.share)),
    td('', row.blocks == null ? '–' : row.hits == null ? 'unknown' : plainPercent(row.hits)))))));

/* ---- all of it ---- */

const verdictOfKeys = (profile) => {
  const rows = hitRows(profile);
  return [keysAnswer(profile, rows), hitTable(profile, rows)];
};

/* [the answer, what it rests on …] */
const verdictOfProgram = (profile) => {
  const levels = verdictLevels(profile), of = profile.attribution, known = levels.filter((level) => level.known);
  if (!levels.length) return [''];
  const few = tooFew(profile), rows = of && !few ? verdictRows(of) : [], judged = known.length ? judgedLevel(profile, known) : null;
  const worst = rows.length && judged && judged.misses > 0 ? worstLines(of, judged, rows) : null;
  if (few) return [fewText(profile), levelTable(profile, levels, rows)];
  return [judged ? programAnswer(profile, known, judged, worst) : '', levelTable(profile, levels, rows),
    worst ? lineTable(profile, judged, worst) : ''];
};

const fillVerdict = () => {
  const box = byId('verdict');
  profiles.slice(0, 8).forEach((profile, index) => {
    const keys = keysOnly && !data.caches.length;
    const [answer, ...basis] = !profile.references ? ['No references: nothing to show.'] : keys ? verdictOfKeys(profile) : verdictOfProgram(profile);
    box.append(element('div', {class: 'verdict'}, answer ? element('p', {class: 'answer'}, profiles.length > 1 ? chip(index) : '', answer) : '',
      element('p', {class: 'lead'}, profiles.length > 1 && !answer ? chip(index) : '', verdictSentence(profile, shortNames[index])), ...basis));
  });
};
