/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.js - what the tables about late re-use are made of: cells, bars, lines of code, headings that sort, rows that
 * open, and pictures of distances.
 */

/* ---- elements ---- */

const tr = (...cells) => element('tr', {}, ...cells);
const td = (kind, ...content) => element('td', kind ? {class: kind} : {}, ...content);
const dim = (...content) => element('span', {class: 'dim'}, ...content);
const strong = (text) => element('strong', {}, text);
const plainList = (items) => element('ul', {class: 'plain-list'}, ...items.map((item) => element('li', {}, ...[item].flat())));

const textButton = (text, action, more) => {
  const made = element('button', Object.assign({type: 'button'}, more), text);
  made.addEventListener('click', action);
  return made;
};

/* titles: texts, or [text, class]. */
const smallHeads = (titles) => element('thead', {}, tr(...titles.map((title) => {
  const [text, place] = [title].flat();
  return element('th', {scope: 'col', class: place || ''}, text);
})));
const smallTable = (kind, titles, body) => element('table', {class: 'small ' + kind}, smallHeads(titles), body);

/* ---- numbers ---- */

const approximately = (value) => (late.size.exact ? '' : '≈ ') + count(value);
const shareOf = (part, whole) => (whole > 0 ? percent(part / whole) : '–');

/* A bar under a number. */
const meter = (share, kind) => {
  const fill = element('span', {class: 'fill ' + (kind || '')});
  fill.style.width = Math.max(share > 0 ? 1 : 0, Math.min(100, share * 100)) + '%';
  return element('span', {class: 'meter', 'aria-hidden': 'true'}, fill);
};

const missesCell = (value, whole, kind, sure) => td('misses', strong(approximately(value)),
  element('span', {class: 'share'}, shareOf(value, whole)), meter(whole > 0 ? value / whole : 0, kind), sureNote(sure));

/* ---- places ---- */

const LONG_NAME = 60;

/* A line as a button that shows it in the source; what it is called, its function and its text. */
const lineCell = (line, action) => {
  if (!line) return element('span', {class: 'where first-touch'}, element('em', {}, coldWord(late.model.profile)));
  const whole = line.file >= 0 ? files[line.file].path + ':' + line.number : line.bare;
  const made = element('span', {class: 'where'}, textButton(cutMiddle(line.title, LONG_NAME), action, {class: 'link', title: whole}));
  for (const about of [line.file >= 0 ? line.functionText : '', line.callerText]) {
    if (!about) continue;
    const names = [...(fullNames.get(about) || [about])].slice(0, 8).join('\n');
    made.append(' ', element('span', {class: 'dim', title: names}, cutMiddle(about, LONG_NAME)));
  }
  const text = line.code;
  if (text) made.append(element('code', {title: text.trim()}, text.trim() || ' '));
  return made;
};

/* "function file.c:12" of a frame. */
const frameText = (frame) => [frame.name || frame.text, frame.name && frame.text ? dim(' ' + frame.text) : ''];

/* ---- tables ---- */

/* Headings that sort: columns [{key, text, number}], state {key, down}. */
const sortHeading = (column, state, redraw) => {
  const made = element('th', {scope: 'col', class: column.class || ''});
  if (!column.key) {
    made.append(column.text);
    return made;
  }
  if (state.key === column.key) made.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
  made.append(textButton(column.text, () => {
    state.down = state.key === column.key ? !state.down : column.number !== false;
    state.key = column.key;
    redraw(column.key);
  }, {class: 'sort', 'data-key': column.key, title: column.title || 'Sort by ' + column.text.toLowerCase()}));
  return made;
};
const sortHeadings = (columns, state, redraw) =>
  element('thead', {}, tr(...columns.map((column) => sortHeading(column, state, redraw))));

/* By a value, numbers or texts; `again` decides where they are the same. */
const comparing = (value, down, again) => (a, b) => {
  const x = value(a), y = value(b), sign = down ? -1 : 1;
  return sign * (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x - y) || again(b) - again(a);
};

/* In a narrow window each row is a card, with the headings beside its cells. */
const labelCells = (row, columns) => columns.forEach((column, at) => {
  if (column.text) row.children[at].dataset.label = column.text;
});

/* A button that opens a row: `rows` makes the row, and its details where they are open. */
const toggleButton = (open, key, what, rows) => {
  const made = textButton('', () => {
    const row = made.closest('tr');
    if (open.has(key)) {
      open.delete(key);
      row.nextElementSibling.remove();
    } else {
      open.add(key);
    }
    const fresh = rows();
    row.replaceWith(...fresh);
    fresh[0].querySelector('button').focus();
  }, {class: 'toggle', 'aria-expanded': open.has(key), 'aria-label': 'Details of ' + what});
  return made;
};

/* How many of the rows, largest first, make 99 % of a whole: at least one, `most` at most. */
const rowsThatMatter = (values, whole, most) => {
  let shown = 0;
  for (let passed = 0; shown < Math.min(values.length, most) && (shown === 0 || passed < whole * 0.99); shown++) passed += values[shown];
  return shown;
};

/* How many rows of a table: as many as were asked for; else, where they stand by their misses, those that matter. */
const rowsShown = (view, misses, whole, most, all) => {
  if (view.shown) return Math.min(view.shown, misses.length);
  return all || view.key !== 'misses' || !view.down ? Math.min(most, misses.length) : rowsThatMatter(misses, whole, most);
};

/* How many of the rows are shown, and a way to more of them; rest: the share that the others have, where it is known. */
const moreButton = (shown, all, what, show, rest) => {
  if (shown >= all) return '';
  const more = element('p', {class: 'more'}, count(shown) + ' of ' + count(all) + ' ' + what + ' shown' +
    (rest == null ? '. ' : '; the others have ' + percent(rest) + ' of the misses. '));
  for (const step of all - shown > 100 ? [100, 1000] : [100]) {
    const text = 'Show ' + count(Math.min(step, all - shown)) + ' more';
    more.append(textButton(text, () => show(shown + step), {class: 'plain'}), ' ');
  }
  return more;
};

/* ---- pictures of distances ---- */

const rangeText = (edges, range) => {
  const from = edges[range], to = range + 1 < edges.length ? edges[range + 1] : null;
  if (to === from + 1) return count(from);
  return to == null ? binary(from) + ' and over' : '[' + binary(from) + ', ' + binary(to) + ')';
};

const medianText = (misses, edges) => {
  const half = (misses.count - misses.cold - misses.beyond) / 2;
  let seen = 0;
  for (let range = 0; range < edges.length; range++) {
    seen += misses.inRange(range);
    if (seen > 0 && seen >= half) return rangeText(edges, range);
  }
  return 'none';
};

/* The share of a range's references that miss at the chosen size. */
const missedPart = (range) => (range > late.size.range ? 1 : range < late.size.range ? 0 : 1 - late.size.inside);

const svgElement = (tag, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

/* Bars by power of two, those that miss in colour; first touches stand apart, at the right. */
const sparkline = (misses, edges) => {
  let top = edges.length - 1;
  while (top > 0 && !(late.model.all.inRange(top) > 0)) top--;
  const last = Math.max(1, log2Index(edges[top]));
  const bins = Array.from({length: last + 1}, () => ({hit: 0, missed: 0}));
  for (let range = 0; range < edges.length; range++) {
    const number = misses.inRange(range), bin = bins[Math.min(last, log2Index(edges[range]))];
    bin.hit += number * (1 - missedPart(range));
    bin.missed += number * missedPart(range);
  }
  const never = misses.cold + misses.beyond;
  const wide = 124, high = 26, step = wide / (last + 3), bar = Math.max(1, step - 1).toFixed(1);
  const most = Math.max(never, ...bins.map((bin) => bin.hit + bin.missed));
  const height = (number) => (number > 0 ? Math.max(1.5, (high - 2) * Math.sqrt(number / most)) : 0);
  const box = (at, from, to) => `M${(at * step).toFixed(1)} ${from.toFixed(1)}h${bar}V${to.toFixed(1)}h-${bar}z`;
  let hits = '', missed = '';
  bins.forEach((bin, index) => {
    const all = bin.hit + bin.missed, whole = height(all), part = all > 0 ? (whole * bin.missed) / all : 0;
    if (part > 0) missed += box(index, high, high - part);
    if (whole > part) hits += box(index, high - part, high - whole);
  });
  const mark = (Math.min(last + 1, 1 + Math.log2(Math.max(1, late.size.blocks))) * step - 0.5).toFixed(1);
  return svgElement('svg', {viewBox: `0 0 ${wide} ${high + 1}`, width: wide, height: high + 1, class: 'spark', role: 'img',
    'aria-label': 'distances: median ' + medianText(misses, edges)},
  svgElement('path', {d: `M0 ${high + 0.5}H${wide}`, class: 'base'}),
  svgElement('path', {d: `M${mark} 0V${high}`, class: 'mark'}),
  svgElement('path', {d: hits, class: 'hits'}),
  svgElement('path', {d: missed, class: 'missed'}),
  svgElement('path', {d: never > 0 ? box(last + 2, high, high - height(never)) : '', class: 'cold'}));
};

/* Every range with its count, as rows of bars. */
const fullHistogram = (misses, edges) => {
  const rows = element('tbody', {});
  let most = misses.cold;
  for (let range = 0; range < edges.length; range++) most = Math.max(most, misses.inRange(range));
  const add = (text, size, number, kind) => rows.append(tr(element('th', {scope: 'row'}, text), td('dim', size),
    td('', count(number)), td('', shareOf(number, misses.count)), td('wide', meter(number / most, kind))));
  for (let range = 0; range < edges.length; range++) {
    const number = misses.inRange(range), part = missedPart(range);
    const size = 'from ' + blocksText(edges[range], late.model.profile.granularity);
    if (number > 0) add(rangeText(edges, range), size, number, part === 1 ? 'missed' : part > 0 ? 'partly' : 'hits');
  }
  if (misses.beyond) add('beyond the bound', '', misses.beyond, 'missed');
  if (misses.cold) add(coldWord(late.model.profile), '', misses.cold, 'cold');
  return smallTable('histogram', ['Distance, blocks', 'Data between', 'Count', 'Share', ''], rows);
};
