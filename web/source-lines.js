/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source-lines.js - one line of the source with what it does: references, misses as the one that re-uses, and as the
 * one that used the data before (the misses then happen elsewhere). A line opens and lists its partners. A pair that
 * was chosen is marked at both of its lines, here and in the bar above the text.
 */
const sourceView = {file: null, pair: null, open: null, most: 0, pieces: [], shownFiles: 0 /* 0: those that make 99 % */};

/* What a line is found by within its file: its number, or the key of an instruction without one. */
const lineKey = (line) => (line.file < 0 ? line.key : line.number);

const heat = (cell, value, kind) => {
  if (!(value > 0)) return;
  cell.classList.add(kind);
  cell.style.setProperty('--heat', Math.round(12 + 68 * Math.sqrt(value / Math.max(sourceView.most, 1))) + '%');
};

/* ---- partners ---- */

const partnerList = (title, pairs, lineOf) => {
  if (!pairs.length) return '';
  const items = pairs.slice(0, 10).map((pair) => {
    const line = lineOf(pair);
    if (!line) return [strong(approximately(pair.now)), ' ', element('em', {}, coldWord(late.model.profile))];
    const about = line.file < 0 ? '' : [line.functionText, line.callerText].filter(Boolean).join(' ');
    return [strong(approximately(pair.now)), ' ', textButton(line.title, () => showPair(pair, line), {class: 'link'}), ' ', dim(about), ' ',
      line.code ? element('code', {}, line.code.trim()) : ''];
  });
  if (pairs.length > 10) items.push(dim('and ' + count(pairs.length - 10) + ' more: filter the table above'));
  return element('div', {}, element('h4', {}, title), plainList(items));
};

/* The row below a line that is open. */
const partnersRow = (line) => {
  const pairs = line.pairs.filter((pair) => {
    pair.now = lateMisses(pair.misses);
    return pair.now > 0;
  }).sort((a, b) => b.now - a.now);
  const made = element('div', {class: 'detail'},
    partnerList('Misses here on what was last used at', pairs.filter((pair) => pair.reuse.line === line), (pair) => pair.use),
    partnerList('What is used here is missed later at', pairs.filter((pair) => pair.use && pair.use.line === line), (pair) => pair.reuse));
  made.style.setProperty('--pane', byId('source-text').clientWidth + 'px');
  const objects = lineObjects(line).slice(0, 10);
  if (objects.length)
    made.append(element('div', {}, element('h4', {}, 'Data it misses on'),
      plainList(objects.map(({object, value}) => [strong(approximately(value)), ' ', objectLink(object)]))));
  if (!made.textContent) made.append(element('p', {class: 'quiet'}, 'Nothing that this line touches misses at this size.'));
  return element('tr', {class: 'partners'}, element('td', {colspan: 6}, made));
};

const toggleLine = (key) => {
  const before = sourceView.open;
  sourceView.open = before === key ? null : key;
  for (const at of [before, key]) if (at != null) refreshLine(at);
  const row = byId('source-text').querySelector('[data-line="' + key + '"]');
  if (!row) return;
  row.querySelector('button').focus({preventScroll: true});
  if (sourceView.open === key) row.nextElementSibling.scrollIntoView({block: 'nearest'});
};

/* ---- the chosen pair ---- */

/* What a line of the open file is to the chosen pair: one of its ends, or between them. */
const pairMark = (number) => {
  const {pair, file} = sourceView;
  if (!pair) return {};
  const numberOf = (line) => (line && line.file === file && file >= 0 ? line.number : null);
  const use = numberOf(pair.use), reuse = numberOf(pair.reuse);
  const both = use != null && reuse != null && use !== reuse;
  const low = Math.min(use, reuse), high = Math.max(use, reuse);
  return {use: number === use, reuse: number === reuse, from: both && number === low, to: both && number === high,
    between: both && number > low && number < high};
};
const markClasses = (mark) => Object.keys(mark).filter((name) => mark[name]).map((name) => 'is-' + name).join(' ');

/* 1 and 2 in the gutter, and words behind the text. */
const endMark = (mark) => {
  if (!mark.use && !mark.reuse) return '';
  const text = mark.use && mark.reuse ? '↻' : mark.use ? '1' : '2';
  return element('span', {class: 'end-mark ' + (mark.reuse ? 'reuse' : 'use'), 'aria-hidden': 'true'}, text);
};
const badge = (kind, text) => element('span', {class: 'badge ' + kind}, text);
const markBadges = (mark) => {
  const {pair} = sourceView;
  const other = (text, line) => textButton(text, () => showLine(line), {class: 'badge'});
  if (mark.use && mark.reuse) return [badge('both', '↻ used and used again here')];
  if (mark.use) return [badge('use', 'last used here'), other('used again at ' + pair.reuse.title + ' →', pair.reuse)];
  if (mark.reuse && !pair.use) return [badge('reuse', isSampled(late.model.profile) ? 'never used again' : 'first touched here')];
  if (mark.reuse) return [badge('reuse', 'used again here'), other('← last used at ' + pair.use.title, pair.use)];
  return [];
};

const drawPairBar = () => {
  const bar = byId('source-pair'), {pair} = sourceView;
  bar.hidden = !pair;
  bar.replaceChildren();
  if (!pair) return;
  bar.append(
    element('div', {class: 'end use'}, pair.use ? badge('use', '1 last used') : '', lineCell(pair.use, () => showLine(pair.use))),
    element('div', {class: 'arrow'}, strong(approximately(lateMisses(pair.misses))), dim(' misses'),
      element('span', {'aria-hidden': 'true'}, ' →')),
    element('div', {class: 'end reuse'}, badge('reuse', pair.use ? '2 used again' : isSampled(late.model.profile) ? 'never used again' : 'first touched'),
      lineCell(pair.reuse, () => showLine(pair.reuse))),
    textButton('×', () => {
      sourceView.pair = null;
      drawPairBar();
      drawText();
    }, {class: 'close', 'aria-label': 'Forget this pair'}));
};

/* ---- rows ---- */

const countCells = (line) => {
  const reuse = lateMisses(line.asReuse), use = lateMisses(line.asUse);
  const cells = [line.asReuse.count ? count(line.asReuse.count) : '', reuse > 0 ? approximately(reuse) : '', use > 0 ? approximately(use) : ''];
  const made = cells.map((text) => td('count', text));
  heat(made[1], reuse, 'hot');
  heat(made[2], use, 'cool');
  return made;
};

/* What others are sent to show them this line. */
const lineLink = (line) => (line.file < 0 ? '' :
  element('a', {class: 'line-link', href: lineAddress(line), 'aria-label': 'Link to line ' + line.number, title: 'Link to this line'}, '#'));

/* entry: {number, text, line}, of which the line may be absent; or {gap: lines}. */
const sourceRow = (entry) => {
  const {line, number, text, gap} = entry;
  if (gap) {
    const said = '⋯ ' + count(gap) + (gap === 1 ? ' line' : ' lines') + ' not on this page';
    return element('tr', {class: 'gap'}, element('td', {colspan: 6}, said));
  }
  const mark = line && line.file < 0 ? {} : pairMark(number);
  const row = element('tr', {'data-line': line ? lineKey(line) : number, class: markClasses(mark)}, td('gutter', endMark(mark)));
  if (line) {
    const what = line.file < 0 ? line.bare : 'line ' + number;
    row.append(td('number', textButton(line.file < 0 ? '•' : String(number), () => toggleLine(lineKey(line)),
      {'aria-expanded': sourceView.open === lineKey(line), 'aria-label': what + ': partners'}), lineLink(line)), ...countCells(line));
  } else {
    row.append(td('number', String(number)), td(''), td(''), td(''));
  }
  row.append(td('code' + (text == null ? ' dim' : ''), element('span', {class: 'text'}, text == null ? '(no text)' : text), ...markBadges(mark)));
  return row;
};
