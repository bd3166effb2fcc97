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
