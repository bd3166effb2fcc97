/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.js - the files that re-use data late, by misses, and the text of one of them;
 * jumps from a pair or an object to their lines.
 *
 * Long files are put into the page by pieces of PIECE lines, when they come into sight.
 */

/*
 * ======== source lines ========
 * One line of the source with what it does: references, misses as the one that re-uses, and as the
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

/* ======== source ======== */
const MOST_FILES_AT_FIRST = 10;
const PIECE = 200;
const LINE_HIGH = 21;

/* ---- files ---- */

/* Files of the chosen model with their lines, and what has no lines at all as the file -1. */
const filesOfModel = () => {
  const found = new Map();
  for (const line of late.model.lines.values()) {
    if (!line.counted) continue;
    let file = found.get(line.file);
    if (!file) found.set(line.file, file = {number: line.file, lines: [], reuse: 0, use: 0, references: 0});
    file.lines.push(line);
    file.reuse += lateMisses(line.asReuse);
    file.use += lateMisses(line.asUse);
    file.references += line.asReuse.count;
  }
  return [...found.values()].sort((a, b) => b.reuse - a.reuse || b.use - a.use || b.references - a.references);
};
const openedFile = () => sourceView.files.find((file) => file.number === sourceView.file);

const fileButton = (file) => {
  const known = file.number >= 0;
  const made = textButton('', () => {
    sourceView.pair = null;
    openFile(file.number);
    drawFiles();
  }, {'aria-pressed': file.number === sourceView.file, title: known ? files[file.number].path : ''});
  made.append(element('span', {class: 'file-name' + (known ? '' : ' dim')}, known ? files[file.number].name : 'code without source lines'),
    element('span', {class: 'file-misses'}, shareOf(file.reuse, late.total)), meter(late.total > 0 ? file.reuse / late.total : 0, 'missed'));
  return made;
};

const drawFiles = () => {
  const all = sourceView.files, matter = rowsThatMatter(all.map((file) => file.reuse), late.total, MOST_FILES_AT_FIRST);
  const shown = all.filter((file, at) => at < (sourceView.shownFiles || matter) || file.number === sourceView.file);
  byId('source-files').replaceChildren(element('ul', {class: 'files'}, ...shown.map((file) => element('li', {}, fileButton(file)))),
    moreButton(shown.length, all.length, 'files', (more) => {
      sourceView.shownFiles = more;
      drawFiles();
    }));
};

/* What a reader must know about the text: null when nothing. */
const staleText = (number) => {
  const file = files[number];
  if (!file.text) return 'The source is not here: ' + file.why + '. Counts of the lines are shown without their text.';
  if (file.newer) return 'This file had been changed after the program was built, when it was run: lines may have moved.';
  return null;
};

const worstFirst = (file) => file.lines.map((line) => ({line, value: lateMisses(line.asReuse)})).filter((one) => one.value > 0)
  .sort((a, b) => b.value - a.value);
const hottestLines = (file) => {
  const lines = worstFirst(file).slice(0, 8);
  if (!lines.length) return '';
  const links = lines.map(({line, value}) =>
    textButton('line ' + line.number, () => showLine(line), {class: 'plain', title: approximately(value) + ' misses'}));
  return element('p', {class: 'hottest'}, dim('Most misses: '), ...links);
};

const drawSourceHead = () => {
  const head = byId('source-head'), file = openedFile();
  if (file.number < 0) {
    head.replaceChildren(element('p', {class: 'path'}, 'Instructions of which no source line is known'),
      element('p', {class: 'quiet'}, 'Compile with -g to see lines here, or install debug symbols of the libraries.'));
    return;
  }
  const {path, found, embedded, cut} = files[file.number], stale = staleText(file.number);
  head.replaceChildren(element('p', {class: 'path'}, path, embedded ? dim(' (text from the profile)') : found ? dim(' (text from ' + found + ')') : ''),
    stale ? element('p', {class: 'notice', id: 'source-stale'}, stale) : '',
    cut ? element('p', {class: 'notice'}, 'The page had no room for all of this file.') : '', hottestLines(file));
};

/* ---- text ---- */

/* The lines of a file that there are, in order: text, counts, gaps. */
const entriesOf = (file) => {
  if (file.number < 0) {
    return file.lines.map((line) => ({line, number: 0, text: line.bare, value: lateMisses(line.asReuse)}))
      .sort((a, b) => b.value - a.value || b.line.asReuse.count - a.line.asReuse.count);
  }
  const source = files[file.number], entries = [];
  const counted = new Map(file.lines.map((line) => [line.number, line]));
  let next = 1;
  for (const [first, lines] of source.text || []) {
    if (first > next) entries.push({gap: first - next, number: next});
    lines.forEach((text, i) => {
      entries.push({number: first + i, text, line: counted.get(first + i)});
      counted.delete(first + i);
    });
    next = first + lines.length;
  }
  if (source.text && source.lines >= next) entries.push({gap: source.lines - next + 1, number: next});
  /* Lines that the page has no text of. */
  for (const [number, line] of counted) {
    const gone = source.text && number > source.lines;
    entries.push({number, line, text: gone ? '(the file has no such line)' : null});
  }
  return counted.size ? entries.sort((a, b) => a.number - b.number) : entries;
};

const fillPiece = (piece) => {
  if (piece.filled) return;
  piece.filled = true;
  const rows = [];
  for (const entry of piece.entries) {
    rows.push(sourceRow(entry));
    if (entry.line && sourceView.open === lineKey(entry.line)) rows.push(partnersRow(entry.line));
  }
  piece.body.replaceChildren(...rows);
};
const pieceOf = (key) => sourceView.pieces.find((piece) =>
  piece.entries.some((entry) => !entry.gap && (entry.line ? lineKey(entry.line) : entry.number) === key));
const refreshLine = (key) => {
  const piece = pieceOf(key);
  if (!piece) return;
  piece.filled = false;
  fillPiece(piece);
};

/* A piece, which keeps its place free until it comes into sight. */
const addPiece = (entries) => {
  const room = tr(element('td', {colspan: 6}));
  room.style.height = entries.length * LINE_HIGH + 'px';
  const body = element('tbody', {}, room);
  body.piece = {entries, body, filled: false};
  sourceView.pieces.push(body.piece);
  return body;
};

let sight = null;
const drawText = () => {
  const holder = byId('source-text'), top = holder.scrollTop, file = openedFile(), known = file.number >= 0;
  const largest = (lines) => lines.reduce((most, line) => Math.max(most, lateMisses(line.asReuse), lateMisses(line.asUse)), 0);
  sourceView.most = Math.max(...sourceView.files.map((one) => largest(one.lines)));
  sourceView.pieces = [];
  const heading = (text, title, kind) => element('th', {scope: 'col', title: title || '', class: kind || ''}, text);
  const table = element('table', {class: 'source' + (known ? '' : ' bare')}, element('thead', {}, tr(element('td', {}), heading(known ? 'Line' : ''),
    heading('References', 'How often this line touched a block'), heading('Misses here', 'Misses of this line'),
    heading('Missed later', 'Misses elsewhere, on data that this line used last'), heading(known ? 'Source' : 'Instruction', '', 'left'))));
  const entries = entriesOf(file);
  for (let at = 0; at < entries.length; at += PIECE) table.append(addPiece(entries.slice(at, at + PIECE)));
  if (sourceView.pieces.length) fillPiece(sourceView.pieces[0]);
  holder.replaceChildren(table);
  if (sight) sight.disconnect();
  sight = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) fillPiece(one.target.piece);
  }, {root: holder, rootMargin: '600px'});
  for (const piece of sourceView.pieces) sight.observe(piece.body);
  holder.scrollTop = top;
};

/* A file that was not open before opens at its worst line. */
const openFile = (number) => {
  const other = sourceView.file !== number;
  if (other) {
    sourceView.file = number;
    sourceView.open = null;
    byId('source-text').scrollTop = 0;
  }
  drawSourceHead();
  drawPairBar();
  drawText();
  if (other) scrollToWorst();
};

/* ---- jumps ---- */

const scrollToWorst = () => {
  const [worst] = worstFirst(openedFile());
  const row = worst ? rowOf(lineKey(worst.line)) : null;
  if (row) scrollToRow(row, null);
};

/* A line's address within the page: #blur.c:25. Code without lines has none. */
const lineAddress = (line) => (line.file < 0 ? '' : '#' + encodeURIComponent(files[line.file].name) + ':' + line.number);
const followAddress = () => {
  const found = /^#(.+):(\d+)$/.exec(location.hash);
  if (!found) return;
  let name = found[1];
  try {
    name = decodeURIComponent(name);
  } catch {
    return; /* not an address of ours */
  }
  for (const line of late.model.lines.values())
    if (line.counted && line.file >= 0 && line.number === Number(found[2]) && files[line.file].name === name) showOnlyLine(line);
};

const rowOf = (key) => {
  const piece = pieceOf(key);
  if (piece) fillPiece(piece);
  return byId('source-text').querySelector('[data-line="' + key + '"]');
};

/* In the middle of the text; together with its partner, where both have room. */
const scrollToRow = (row, partner) => {
  const holder = byId('source-text');
  const middle = (one) => one.offsetTop + one.offsetHeight / 2;
  let target = middle(row);
  if (partner && Math.abs(middle(partner) - target) < holder.clientHeight - 120) target = (target + middle(partner)) / 2;
  holder.scrollTop = target - holder.clientHeight / 2;
};

/* Shows a line of the source; where it belongs to the chosen pair, the other end too. */
const showLine = (spot) => {
  const {line} = spot, {pair} = sourceView;
  openFile(line.file);
  drawFiles();
  byId('source-section').scrollIntoView({block: 'start'});
  const other = pair && (pair.use && pair.use.line === line ? pair.reuse : pair.reuse.line === line ? pair.use : null);
  const row = rowOf(lineKey(line)), partner = other && other.file === line.file ? rowOf(lineKey(other.line)) : null;
  if (!row) return;
  scrollToRow(row, partner);
  const button = row.querySelector('button');
  if (button) button.focus({preventScroll: true});
  if (line.file >= 0) history.replaceState(null, '', lineAddress(line));
};

/* Shows a pair at one of its lines. */
const showPair = (pair, line) => {
  sourceView.pair = pair;
  sourceView.open = null;
  showLine(line);
};

const startSource = () => onLate(() => {
  sourceView.files = filesOfModel();
  byId('source-section').hidden = !sourceView.files.length;
  if (!sourceView.files.length) return;
  if (sourceView.pair) sourceView.pair = late.model.pairs.find((pair) => pair.key === sourceView.pair.key) || null;
  openFile((openedFile() || sourceView.files[0]).number);
  drawFiles();
});
