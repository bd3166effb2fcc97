/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.js - the first screen: what is wrong at every cache, and the lines that do it, as `fathom run` shows it
 * (src/view/terminal_verdict.c). Code of the system's libraries is one row for each library.
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
  parts.push(profile.granularity > 1 ? ' to ' + bytes(profile.distinct * profile.granularity) : ' to ' + shortCount(profile.distinct) + (profile.elements ? ' elements' : ' blocks'));
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
    element('span', {}, row.title);
  const text = row.file >= 0 ? codeAt(row.file, row.line) : null;
  return tr(element('th', {scope: 'row', class: 'code'}, title), td('', shortCount(value)), td('', wholePercent(value / level.misses)),
    td('left', text ? element('code', {title: text.trim()}, text.trim()) : '', row.name ? dim(' ' + row.name) : '',
      line ? sureNote(line.sure.text) : ''));
};

const NUMBER_WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

const lineTable = (profile, level, rows) => {
  const of = profile.attribution, ranked = rankedAt(rows, of, level), shown = [];
  let passed = 0, most = 0, told = 0, lines = true;
  for (const one of ranked.slice(0, 5)) {
    if (passed > level.misses * 0.95 || (shown.length && one.value < level.misses * 0.01)) break;
    shown.push(one);
    if (most < level.misses * 0.8) {
      most += one.value;
      told++;
      lines = lines && one.row.file >= 0;
    }
    passed += one.value;
  }
  if (!shown.length) return '';
  const noun = (lines ? 'line' : 'place') + (told === 1 ? ' makes ' : 's make ');
  const heading = cacheName(level.cache) + ': ' + NUMBER_WORDS[told] + ' ' + noun + wholePercent(most / level.misses) + ' of the misses' +
    (level.late > 0 ? '' : ', ' + coldWords(profile) + ' only');
  return element('div', {}, element('h3', {}, heading), element('div', {class: 'scroll'},
    element('table', {class: 'worst'}, element('tbody', {}, ...shown.map((one) => lineRow(of, level, one))))));
};

const fillVerdict = () => {
  const box = byId('verdict');
  profiles.slice(0, 8).forEach((profile, index) => {
    const levels = keysOnly && ofMachine ? [] : verdictLevels(profile), of = profile.attribution;
    const part = element('div', {class: 'verdict'}, element('p', {class: 'lead'}, profiles.length > 1 ? chip(index) : '',
      verdictSentence(profile, shortNames[index])));
    const rows = of && profile.references ? verdictRows(of) : [];
    if (levels.length && profile.references) {
      part.append(levelTable(profile, levels, rows));
      const judged = judgedLevel(profile, levels.filter((level) => level.known));
      if (of && judged && judged.misses > 0) part.append(lineTable(profile, judged, rows));
    }
    box.append(part);
  });
};
