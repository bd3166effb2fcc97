/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.js - the data that late references go to: global variables, heap blocks by where they were
 * allocated, stacks. Objects are counted from a distance on (lateFrom); for smaller sizes the page says so.
 */
const objectsView = {key: 'misses', down: true, shown: 0, /* 0: those that make 99 % */ open: new Set()};
const MOST_OBJECTS_AT_FIRST = 12;
const OBJECT_COLUMNS = [
  {text: '', class: 'narrow'},
  {key: 'misses', text: 'Misses'},
  {key: 'name', text: 'Data', number: false, class: 'left'},
  {key: 'kind', text: 'Kind', number: false, class: 'left'},
  {key: 'size', text: 'Size'},
  {key: 'cold', text: ''}, /* what these are depends on the profile */
  {text: 'Most misses at', class: 'left'},
];
const KINDS = {global: 'variable', heap: 'heap', stack: 'stack', module: 'program data', other: 'other'};
const kindText = (object) => KINDS[object.kind] || object.kind;

/* Misses on objects are known from lateFrom on only. */
const objectMisses = (misses) => {
  const {of, edges} = late.model;
  const size = late.size.blocks < of.lateFrom ? sizeOf(edges, of.lateFrom) : late.size;
  return misses.missesAt(size) - (late.cold === 'with' ? 0 : misses.cold);
};

const objectLines = (entry) => [...entry.lines].map(([line, misses]) => ({line, value: objectMisses(misses), cold: misses.cold}))
  .filter((one) => one.value > 0).sort((a, b) => b.value - a.value);

const sizeText = (object) => {
  if (object.kind !== 'heap') return object.size ? bytes(object.size) : '–';
  return object.blocks ? bytes(object.size) + ' in ' + count(object.blocks) + (object.blocks === 1 ? ' block' : ' blocks') : '–';
};

const showOnlyLine = (line) => {
  sourceView.pair = null;
  showLine(line);
};

/* ---- one object ---- */

const allocationList = (of, path) => {
  const chain = element('ol', {class: 'calls'});
  for (const site of pathSites(of, path))
    for (const frame of framesOf(of, site)) chain.append(element('li', {}, ...frameText(frame)));
  return element('div', {}, element('h4', {}, 'Allocated at'), chain);
};

const objectDetail = (entry) => {
  const {object} = entry, whole = objectMisses(entry.misses), lines = objectLines(entry), shown = lines.slice(0, 20);
  const body = element('tbody', {});
  for (const {line, value, cold} of shown)
    body.append(tr(td('left place', lineCell(line, () => showOnlyLine(line))),
      td('', approximately(value)), td('', shareOf(value, whole)), td('', count(cold))));
  const rest = whole - shown.reduce((sum, one) => sum + one.value, 0);
  if (rest > 0.5) {
    const who = lines.length > 20 ? count(lines.length - 20) + ' further lines' : 'Other code, not on this page';
    body.append(tr(element('td', {class: 'left dim', colspan: 4}, who + ': ' + count(rest) + ' misses')));
  }
  const table = smallTable('', [['Line', 'left'], 'Misses', 'Share', coldTitle(late.model.profile)], body);
  return element('div', {class: 'detail'},
    element('div', {class: object.path >= 0 ? '' : 'whole'}, element('h4', {}, 'Lines that miss on it'), table),
    object.path >= 0 ? allocationList(late.model.of, object.path) : '');
};

const objectRows = (entry) => {
  const {object} = entry, open = objectsView.open.has(entry.number), lines = objectLines(entry);
  const module = object.kind === 'global' && object.name && object.module >= 0 ? late.model.of.modules[object.module] : null;
  const row = tr(td('narrow', toggleButton(objectsView.open, entry.number, entry.text, () => objectRows(entry))),
    missesCell(objectMisses(entry.misses), objectsView.total, 'missed', sureText(entry.late, object.error, object.samples)),
    element('th', {scope: 'row', class: 'left object', title: entry.text}, cutMiddle(entry.text, LONG_NAME), module ? dim(' ' + lastPart(module.path)) : ''),
    td('left', kindText(object)),
    td('', sizeText(object)),
    td('', count(entry.misses.cold)),
    td('left place', lines.length ? lineCell(lines[0].line, () => showOnlyLine(lines[0].line)) : '–'));
  row.className = 'object-row' + (open ? ' open' : '');
  labelCells(row, OBJECT_COLUMNS);
  row.dataset.object = entry.number;
  if (!open) return [row];
  return [row, element('tr', {class: 'detail-row'}, element('td', {colspan: OBJECT_COLUMNS.length}, objectDetail(entry)))];
};

/* ---- the table ---- */

const objectValue = {
  misses: (entry) => objectMisses(entry.misses),
  name: (entry) => entry.text,
  kind: (entry) => kindText(entry.object),
  size: (entry) => entry.object.size,
  cold: (entry) => entry.misses.cold,
};

const objectsNote = () => {
  const {of, otherObjects, profile} = late.model, said = [];
  if (late.size.blocks < of.lateFrom)
    said.push('Objects are known for distances from ' + blocksText(of.lateFrom, profile.granularity) +
      ' on, so these are the misses at that size, not at ' + late.size.text + '.');
  else said.push('Misses in ' + late.size.text + ' by what the address belonged to.');
  if (of.left.objects)
    said.push(count(of.left.objects) + ' objects with ' + count(objectMisses(otherObjects)) + ' misses are not on this page.');
  if (of.left.uses)
    said.push('Of the lines that miss on an object, those with at least ' + percent(of.left.usesCovered) + ' of the misses are listed.');
  return said.join(' ');
};

const drawObjects = (focus) => {
  const {of, objects, otherObjects} = late.model;
  byId('objects-section').hidden = !objects.length;
  if (!objects.length) return;
  objectsView.total = objects.reduce((sum, entry) => sum + objectMisses(entry.misses), objectMisses(otherObjects));
  const rows = objects.filter((entry) => objectMisses(entry.misses) > 0);
  rows.sort(comparing(objectValue[objectsView.key], objectsView.down, objectValue.misses));
  const body = element('tbody', {});
  const shown = rowsShown(objectsView, rows.map((entry) => objectMisses(entry.misses)), objectsView.total, MOST_OBJECTS_AT_FIRST);
  for (const entry of rows.slice(0, shown)) body.append(...objectRows(entry));
  const nothing = 'No data is missed on at this size.';
  if (!rows.length) body.append(tr(element('td', {colspan: OBJECT_COLUMNS.length, class: 'left dim'}, nothing)));
  OBJECT_COLUMNS.find((column) => column.key === 'cold').text = coldTitle(late.model.profile);
  byId('objects').replaceChildren(element('table', {class: 'objects'}, sortHeadings(OBJECT_COLUMNS, objectsView, drawObjects), body));
  const rest = rows.slice(shown).reduce((sum, entry) => sum + objectMisses(entry.misses), 0);
  byId('objects-more').replaceChildren(moreButton(shown, rows.length, 'objects', (more) => {
    objectsView.shown = more;
    drawObjects();
  }, objectsView.total > 0 ? rest / objectsView.total : null));
  byId('objects-note').textContent = objectsNote();
  byId('objects-note').classList.toggle('attention', late.size.blocks < of.lateFrom);
  if (focus) byId('objects').querySelector('.sort[data-key=' + focus + ']').focus();
};

/* Opens the row of an object, and goes there. */
const showObject = (entry) => {
  objectsView.open.add(entry.number);
  const place = late.model.objects.slice().sort((a, b) => objectMisses(b.misses) - objectMisses(a.misses)).indexOf(entry);
  Object.assign(objectsView, {key: 'misses', down: true, shown: Math.max(objectsView.shown, MOST_OBJECTS_AT_FIRST, place + 1)});
  drawObjects();
  const row = byId('objects').querySelector('[data-object="' + entry.number + '"]');
  if (!row) return;
  row.scrollIntoView({block: 'center'});
  row.querySelector('button').focus({preventScroll: true});
};

const startObjects = () => onLate(() => drawObjects());

/*
 * ======== latencies ========
 * How long sampled accesses took, and which cache or memory their data came from, by line: what the
 * processor's counters told. It does not depend on the cache size that is chosen.
 */
const latenciesView = {key: 'time', down: true, shown: 12};
const LATENCY_COLUMNS = [
  {key: 'time', text: 'Of the time', title: 'Sort by how much of the time of all sampled accesses these took'},
  {key: 'mean', text: 'Mean latency'},
  {key: 'samples', text: 'Samples'},
  {key: 'name', text: 'Line', number: false, class: 'left'},
  {text: 'Data came from', class: 'left'},
];
/* As fm_memory_level. */
const MEMORY_LEVELS = ['not told', 'L1', 'on its way', 'L2', 'L3', 'another’s cache', 'memory', 'far memory', 'uncached'];

/* Of a row [place, samples, timed, cycles, levels…]. */
const addLatency = (into, row) => row.slice(1).forEach((value, i) => (into.sums[i] += value));

const latencyOf = (line) => ({line, sums: new Array(3 + MEMORY_LEVELS.length).fill(0),
  get samples() { return this.sums[0]; },
  get timed() { return this.sums[1]; },
  get cycles() { return this.sums[2]; },
  get levels() { return this.sums.slice(3); }});

const latencyLines = (model) => {
  const lines = new Map(), rest = latencyOf(null);
  for (const row of model.of.latencies || []) {
    if (row[0] < 0) {
      addLatency(rest, row);
      continue;
    }
    const {line} = model.spotOfPlace[row[0]];
    if (!lines.has(line)) lines.set(line, latencyOf(line));
    addLatency(lines.get(line), row);
  }
  return {lines: [...lines.values()], rest};
};

const levelsCell = (entry) => {
  const told = entry.levels.map((samples, level) => ({level, samples})).filter((one) => one.samples > 0);
  told.sort((a, b) => b.samples - a.samples);
  const bar = element('span', {class: 'served', 'aria-hidden': 'true'});
  for (const {level, samples} of told.slice().sort((a, b) => a.level - b.level)) {
    const part = element('span', {class: 'level level' + level, title: MEMORY_LEVELS[level] + ' ' + wholePercent(samples / entry.samples)});
    part.style.width = (100 * samples) / entry.samples + '%';
    bar.append(part);
  }
  return td('left', bar, told.map((one) => MEMORY_LEVELS[one.level] + ' ' + wholePercent(one.samples / entry.samples)).join(', '));
};

const latencyRow = (entry, whole) => tr(
  td('misses', strong(whole > 0 ? wholePercent(entry.cycles / whole) : '–'), meter(whole > 0 ? entry.cycles / whole : 0, 'missed')),
  td('', entry.timed ? count(entry.cycles / entry.timed) + (Math.round(entry.cycles / entry.timed) === 1 ? ' cycle' : ' cycles') : '–'),
  td('', count(entry.samples)),
  td('left place', lineCell(entry.line, () => showOnlyLine(entry.line))),
  levelsCell(entry));

const latencyValue = {
  time: (entry) => entry.cycles,
  mean: (entry) => (entry.timed ? entry.cycles / entry.timed : 0),
  samples: (entry) => entry.samples,
  name: (entry) => entry.line.title,
};

const drawLatencies = (focus) => {
  const {lines, rest} = latencyLines(late.model);
  byId('latencies-section').hidden = !lines.length;
  if (!lines.length) return;
  const whole = lines.reduce((sum, entry) => sum + entry.cycles, rest.cycles);
  lines.sort(comparing(latencyValue[latenciesView.key], latenciesView.down, latencyValue.time));
  const body = element('tbody', {});
  for (const entry of lines.slice(0, latenciesView.shown)) body.append(latencyRow(entry, whole));
  byId('latencies').replaceChildren(element('table', {class: 'latencies objects'},
    sortHeadings(LATENCY_COLUMNS, latenciesView, drawLatencies), body));
  byId('latencies-more').replaceChildren(moreButton(Math.min(latenciesView.shown, lines.length), lines.length, 'lines', (shown) => {
    latenciesView.shown = shown;
    drawLatencies();
  }));
  byId('latencies-note').textContent = 'Sampled accesses as the processor timed them: how long they took in the mean, and where their ' +
    'data came from. Whatever cache size is chosen above.' +
    (rest.samples ? ' ' + count(rest.samples) + ' samples of code that is not on this page took ' +
      (whole > 0 ? wholePercent(rest.cycles / whole) : '–') + ' of the time.' : '');
  if (focus) byId('latencies').querySelector('.sort[data-key=' + focus + ']').focus();
};

const startLatencies = () => onLate(() => drawLatencies());
