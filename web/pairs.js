/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.js - the table of line pairs (used here, used again there) by their misses at the chosen size, and
 * what is known of one pair: all its distances, its instructions with their call paths, its data.
 */
const pairsView = {key: 'misses', down: true, shown: 0, /* 0: those that make 99 % */ filter: '', all: false, open: new Set()};
const PAIR_COLUMNS = [
  {text: '', class: 'narrow'},
  {key: 'misses', text: 'Misses', class: 'wide-number', title: 'Sort by misses at the chosen size'},
  {key: 'use', text: 'Last used at', number: false, class: 'left'},
  {key: 'reuse', text: 'Used again at', number: false, class: 'left'},
  {key: 'count', text: 'Re-uses', class: 'number', title: 'Sort by how often, at any distance'},
  {key: 'missed', text: 'Missed', class: 'percent', title: 'Sort by the share of the re-uses that miss'},
  {text: 'Distances', class: 'left picture'},
  {text: 'Data', class: 'left what'},
];

/* ---- one pair ---- */

/* An instruction: address, the functions it was inlined into, the calls that led to it. */
const siteCell = (of, number) => {
  if (number < 0) return element('em', {}, coldWord(late.model.profile));
  const [, module, address, path, column] = of.sites[number];
  const frames = framesOf(of, number);
  const source = module < 0 && address === '0' && frames[0].line > 0; /* a place in the source, not an instruction */
  const where = [...(source ? [] : ['0x' + address]), ...(column ? ['column ' + column] : [])];
  const made = element('div', {class: 'site'}, element('span', {class: 'mono'}, where.join(' · ')),
    dim(module >= 0 ? ' ' + lastPart(of.modules[module].path) : source ? ' in the source' : ' made at run time'));
  const chain = element('ol', {class: 'calls'});
  const add = (frame, how) => chain.append(element('li', {}, dim(how + ' '), ...frameText(frame)));
  if (frames.length > 1) frames.forEach((frame, index) => add(frame, index ? 'inlined into' : 'code of'));
  for (const call of pathSites(of, path))
    framesOf(of, call).forEach((frame, index) => add(frame, index ? 'inlined into' : 'called from'));
  if (chain.children.length) made.append(chain);
  return made;
};

const memberTable = (pair) => {
  const {of} = late.model;
  const rows = pair.members.map((number) => {
    const misses = new Misses(of.edges);
    misses.add(of.pairs[number], 2);
    return {use: of.pairs[number][0], reuse: of.pairs[number][1], misses, value: lateMisses(misses)};
  }).sort((a, b) => b.value - a.value);
  const titles = [['Instruction that used it last', 'left'], ['Instruction that uses it again', 'left'], 'Misses', 'Re-uses'];
  const holder = element('div', {});
  const draw = (shown) => {
    const body = element('tbody', {});
    for (const row of rows.slice(0, shown))
      body.append(tr(td('left', siteCell(of, row.use)), td('left', siteCell(of, row.reuse)),
        td('', approximately(row.value)), td('', count(row.misses.count))));
    holder.replaceChildren(smallTable('', titles, body), moreButton(shown, rows.length, 'pairs of instructions', draw));
  };
  draw(12);
  return holder;
};

/* The objects that a line misses on, at the chosen size. */
const lineObjects = (line) => [...line.objects].map(([object, misses]) => ({object, value: lateMisses(misses)}))
  .filter((entry) => entry.value > 0).sort((a, b) => b.value - a.value);
const objectLink = (object) => textButton(cutMiddle(object.text, LONG_NAME), () => showObject(object), {class: 'link', title: object.text});

const pairObjects = (line) => {
  const objects = lineObjects(line), {lateFrom} = late.model.of;
  if (!objects.length) return '';
  const items = objects.slice(0, 8).map(({object, value}) => [objectLink(object), dim(' ' + approximately(value) + ' misses')]);
  if (objects.length > 8) items.push(dim('and ' + count(objects.length - 8) + ' more'));
  const least = blocksText(lateFrom, late.model.profile.granularity);
  const from = late.size.blocks < lateFrom ? ', counted from ' + least + ' of distance on' : '';
  return element('div', {}, element('h4', {}, 'Data that ' + line.title + ' misses on'),
    element('p', {class: 'quiet'}, 'In all its pairs' + from + '.'), plainList(items));
};

const pairDetail = (pair) => {
  const title = pair.members.length === 1 ? 'Instructions' : count(pair.members.length) + ' pairs of instructions';
  return element('div', {class: 'detail'},
    element('div', {}, element('h4', {}, 'Distances of this pair'), fullHistogram(pair.misses, late.model.edges)),
    pairObjects(pair.reuse),
    element('div', {class: 'whole'}, element('h4', {}, title), memberTable(pair)));
};

/* ---- which pairs ---- */

/* What the filter looks into. */
const lineWords = (line) => {
  if (!line) return coldWord(late.model.profile);
  const names = [...line.functions.keys()];
  return [line.title, line.file >= 0 ? files[line.file].path : '', ...names, ...line.callers.keys(),
    ...names.flatMap((name) => [...(fullNames.get(name) || [])])].join(' ');
};
const pairWords = (pair) => {
  const objects = [...pair.reuse.objects.keys()].map((object) => object.text);
  if (pair.words == null) pair.words = [lineWords(pair.use), lineWords(pair.reuse), ...objects].join(' ').toLowerCase();
  return pair.words;
};

const pairValue = {
  misses: (pair) => pair.now,
  count: (pair) => pair.misses.count - (late.cold === 'with' ? 0 : pair.misses.cold),
  missed: (pair) => (pair.misses.count ? pair.now / pair.misses.count : 0),
  use: (pair) => (pair.use ? pair.use.title : ''),
  reuse: (pair) => pair.reuse.title,
};

const chosenPairs = () => {
  const words = pairsView.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [];
  pairsView.quiet = 0;
  for (const pair of late.model.pairs) {
    pair.now = lateMisses(pair.misses);
    if (words.length && !words.every((word) => pairWords(pair).includes(word))) continue;
    if (pair.now > 0 || pairsView.all) rows.push(pair);
    else pairsView.quiet++;
  }
  return rows.sort(comparing(pairValue[pairsView.key], pairsView.down, pairValue.misses));
};

/* ---- the table ---- */

const pairRows = (pair) => {
  const open = pairsView.open.has(pair.key);
  const what = (pair.use ? pair.use.title : coldWord(late.model.profile)) + ' to ' + pair.reuse.title;
  const objects = lineObjects(pair.reuse);
  /* Of what was never used again, the last use is not known. */
  const ended = !pair.use && isSampled(late.model.profile);
  const again = ended ? element('span', {class: 'where'}, element('em', {}, 'never')) : pair.use === pair.reuse ? element('span', {class: 'where dim'}, '↻ the same line') :
    lineCell(pair.reuse, () => showPair(pair, pair.reuse));
  const row = tr(td('narrow', toggleButton(pairsView.open, pair.key, what, () => pairRows(pair))),
    missesCell(pair.now, late.total, pair.use ? 'missed' : 'cold', pair.use ? pair.sure.text : ''),
    td('left place', ended ? lineCell(pair.reuse, () => showPair(pair, pair.reuse)) : lineCell(pair.use, () => showPair(pair, pair.use))),
    td('left place', again),
    td('', count(pairValue.count(pair))),
    td('', shareOf(pair.now, pair.misses.count)),
    td('left', sparkline(pair.misses, late.model.edges)),
    td('left data', objects.length ? objectLink(objects[0].object) : '–', objects.length > 1 ? dim(' +' + (objects.length - 1)) : ''));
  row.className = 'pair' + (open ? ' open' : '');
  labelCells(row, PAIR_COLUMNS);
  if (!open) return [row];
  return [row, element('tr', {class: 'detail-row'}, element('td', {colspan: PAIR_COLUMNS.length}, pairDetail(pair)))];
};

const lateSummary = () => {
  const {all, profile, pairs} = late.model;
  const missed = all.missesAt(late.size), reused = missed - all.cold;
  const said = element('p', {class: 'lead'}, 'In a cache of ', strong(late.size.text),
    ' (' + count(late.size.blocks) + (late.size.blocks === 1 ? ' block' : ' blocks') + '), ', strong(approximately(missed)),
    ' of ' + count(profile.references) + ' references miss (' + shareOf(missed, profile.references) + '): ' +
    count(all.cold) + ' ' + coldWords(profile) + ' and ', strong(approximately(reused) + ' late re-uses'), '.');
  if (reused > 0) {
    const top = pairs.map((pair) => pair.misses.missesAt(late.size) - pair.misses.cold).sort((a, b) => b - a).slice(0, 3);
    const share = shareOf(top.reduce((a, b) => a + b, 0), reused);
    said.append(top.length === 1 ? ' The first pair makes ' : ' The first ' + top.length + ' pairs make ', strong(share), ' of those.');
  } else {
    said.append(' Everything that is used again is still there: a smaller size may tell more.');
  }
  if (!late.size.exact) said.append(' This size is not one that the profile was cut at: numbers are interpolated (≈).');
  return said;
};

const leftOutText = () => {
  const {left, lateFrom} = late.model.of, said = [];
  if (left.pairs) {
    const misses = lateMisses(late.model.rest), from = blocksText(Math.max(1, lateFrom), late.model.profile.granularity);
    said.push('To keep this page small, ' + count(left.pairs) + ' pairs of instructions with few misses are not on it.',
      'Those shown make at least ' + percent(left.covered) + ' of the misses at every size from ' + from + ' on;',
      'here the others have ' + approximately(misses) + ' misses (' + shareOf(misses, late.total) + ').');
  }
  if (left.places)
    said.push(count(left.places) + ' source lines and instructions without one, with ' + count(left.placeReferences) +
      ' references and no pair shown, are left out of the source view.');
  return said.join(' ');
};

const quietPairs = () => {
  if (!pairsView.quiet && !pairsView.all) return '';
  const what = pairsView.all ? 'All line pairs are listed, also those without misses at this size. ' :
    count(pairsView.quiet) + (pairsView.quiet === 1 ? ' line pair misses' : ' line pairs miss') + ' nothing at this size. ';
  return element('p', {class: 'more'}, what, textButton(pairsView.all ? 'Only those that miss' : 'List them too', () => {
    pairsView.all = !pairsView.all;
    drawPairs();
  }, {class: 'plain', id: 'pairs-all'}));
};

const foundText = (rows) => {
  if (!pairsView.filter) return '';
  const misses = rows.reduce((sum, pair) => sum + pair.now, 0);
  return count(rows.length) + (rows.length === 1 ? ' pair, ' : ' pairs, ') + shareOf(misses, late.total) + ' of the misses';
};

const MOST_PAIRS_AT_FIRST = 20;

/* focus: the heading that was just clicked. */
const drawPairs = (focus) => {
  const rows = chosenPairs(), body = element('tbody', {});
  const shown = rowsShown(pairsView, rows.map((pair) => pair.now), late.total, MOST_PAIRS_AT_FIRST, pairsView.filter || pairsView.all);
  for (const pair of rows.slice(0, shown)) body.append(...pairRows(pair));
  const nothing = pairsView.filter ? 'No pair that misses has all of these words.' : 'Nothing misses at this size.';
  if (!rows.length) body.append(tr(element('td', {colspan: PAIR_COLUMNS.length, class: 'left dim'}, nothing)));
  byId('pairs-summary').replaceChildren(lateSummary());
  byId('pairs').replaceChildren(element('table', {class: 'pairs'}, sortHeadings(PAIR_COLUMNS, pairsView, drawPairs), body));
  const rest = rows.slice(shown).reduce((sum, pair) => sum + pair.now, 0);
  byId('pairs-more').replaceChildren(moreButton(shown, rows.length, 'line pairs', (more) => {
    pairsView.shown = more;
    drawPairs();
  }, late.total > 0 ? rest / late.total : null), quietPairs());
  byId('pairs-left').textContent = leftOutText();
  byId('pairs-found').textContent = foundText(rows);
  if (focus) byId('pairs').querySelector('.sort[data-key=' + focus + ']').focus();
};

const startPairs = () => {
  const filter = byId('pairs-filter');
  let waiting = 0;
  filter.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      pairsView.filter = filter.value;
      pairsView.shown = 0;
      drawPairs();
    }, 120);
  });
  onLate(() => drawPairs());
};
