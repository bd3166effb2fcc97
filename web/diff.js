/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.js - before and after a change: what got better and worse, and the two sources side by side. All of it is said by
 * src/view/diff; here it is laid out. Below stands the report of both.
 */
const changeTable = (kind, heads, rows) => element('div', {class: 'scroll'}, element('table', {class: kind},
  smallHeads(heads), element('tbody', {}, ...rows)));

const diffVerdict = (diff) => {
  const kind = diff.verdict === 'not comparable' ? 'worse' : diff.verdict;
  const rows = diff.levels.map(([change, name, ...cells]) => element('tr', {class: change},
    element('th', {scope: 'row'}, name), ...cells.map((text) => td('', text))));
  return element('div', {class: 'verdict'}, element('p', {class: 'answer ' + kind}, diff.sentence), element('p', {class: 'lead'}, diff.references),
    ...diff.notes.map((text) => element('p', {class: 'lead'}, text)),
    ...diff.conditions.map(({text, found, holds}) => element('p', {class: holds ? 'worse' : 'better'}, strong(holds ? 'FAILED' : 'kept'), ': ' + text + ' (' + found + ')')),
    changeTable('changes', ['Cache', 'Size', 'Misses before', 'After', 'Change', 'Per reference'], rows),
    element('p', {class: 'lead'}, 'before: ' + diff.before + '; after: ' + diff.after));
};

const changedTable = ({title, head, rows}) => element('div', {}, element('h3', {}, title),
  changeTable('changes', [['', 'left'], [head, 'left'], 'Before', 'After'], rows.map(([change, place, before, after]) =>
    tr(td('left ' + change, change), td('left code', place), td('', before), td('', after)))));

/* Three cells of a side: [line, misses, text, changed], or []. */
const sideCells = ([line, misses, text, changed], kind) => (line == null ? [td('number'), td('misses'), td('text')] :
  [td('number', String(line)), td('misses', misses), text == null ? td('text dim', '(text not kept)') : td('text' + (changed ? ' ' + kind : ''), text)]);

const sideFile = ({before, after, why, rows}) => element('div', {class: 'side-file'},
  element('h3', {class: 'code'}, before === after ? before : before + ' → ' + after),
  why ? element('p', {class: 'quiet'}, 'The text of before is not there (' + why + '): lines that did not change are taken from after. A profile with embedded source keeps it.') : '',
  element('table', {class: 'sides'}, element('thead', {}, tr(...['', 'before', '', '', 'after', ''].map((text) => element('th', {scope: 'col'}, text)))),
    element('tbody', {}, ...rows.map((row) => (row ? tr(...sideCells(row[0], 'out'), ...sideCells(row[1], 'in')) :
      tr(td('number'), element('td', {colspan: 5, class: 'left dim'}, '…')))))));

const fillDiff = () => {
  const {diff} = data;
  if (!diff) return;
  const fill = (id, children) => {
    byId(id).append(...children);
    byId(id + '-section').hidden = !children.length;
  };
  byId('verdict').append(diffVerdict(diff));
  fill('changed', diff.tables.filter((table) => table.rows.length).map(changedTable));
  fill('sides', diff.files.map(sideFile));
  byId('each-section').hidden = false;
};
