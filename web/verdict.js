/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.js - the first screen: what is wrong at every cache, and the lines that do it. Sentences and numbers are those
 * of `fathom run` (src/view/verdict.c); here they are laid out, and lines lead to their source.
 */
const levelTable = ({verdict}) => {
  const heads = ['Cache', 'Size', 'Misses', 'Of refs', ...(verdict.band ? [verdict.band] : ['Late', 'First'])];
  const body = element('tbody', {});
  for (const level of verdict.levels) {
    const cells = level.numbers ? [...level.numbers.map((text) => td('', text)), td('left code', level.places || '')]
      : [element('td', {colspan: heads.length - 1, class: 'left'}, 'unknown: larger than the profile’s bound')];
    body.append(tr(element('th', {scope: 'row'}, level.name), td('', level.size), ...cells));
  }
  return element('div', {class: 'scroll'}, element('table', {class: 'levels'}, element('thead', {}, tr(
    ...heads.map((text) => element('th', {scope: 'col'}, text)),
    element('th', {scope: 'col', class: 'left'}, verdict.list ? 'Most of them at' : ''))), body));
};

const lineRow = (of, row) => {
  const line = late.model && late.model.of === of && row.file != null ? late.model.lines.get(row.file + ':' + row.line) : null;
  const title = line ? textButton(row.title, () => showLine(line), {class: 'link', title: files[row.file].path + ':' + row.line}) :
    element('span', {title: row.title}, cutMiddle(row.title, LONG_NAME));
  const text = row.file != null ? codeAt(row.file, row.line) : null;
  return tr(element('th', {scope: 'row', class: 'code'}, title), td('', row.misses), td('', row.share),
    td('left', text ? element('code', {title: text.trim()}, text.trim()) : '', row.detail ? element('span', {class: 'dim', title: row.detail}, ' ' + cutMiddle(row.detail, 2 * LONG_NAME)) : '',
      sureNote(row.sure)));
};

const lineTable = (of, list) => {
  const heads = smallHeads([['Line', ''], ['Misses', ''], ['Of ' + list.cache, ''], ['Source, function', 'left']]);
  return element('div', {}, element('h3', {}, list.heading), element('div', {class: 'scroll'},
    element('table', {class: 'worst'}, heads, element('tbody', {}, ...list.rows.map((row) => lineRow(of, row))))));
};

/* 80 %, 85.93 % */
const plainPercent = (share) => (Number.isInteger(Math.round(share * 1e6) / 1e4) ? Math.round(share * 100) + ' %' : percent(share));
const hitTable = (rows) => element('div', {class: 'scroll'}, element('table', {class: 'hits'},
  element('thead', {}, tr(...['Cache', keyWords[0].toUpperCase() + keyWords.slice(1), 'Of all ' + keyWords, 'Hit ratio'].map((text) => element('th', {scope: 'col'}, text)))),
  element('tbody', {}, ...rows.map((row) => tr(
    element('th', {scope: 'row'}, row.wanted ? 'for ' + plainPercent(row.wanted) + ' hits' : plainPercent(row.share) + ' of the ' + keyWords),
    td('', row.blocks ? count(row.blocks) : 'no size'), td('', row.blocks ? plainPercent(row.share) : '–'),
    td('', !row.blocks ? '–' : row.hits < 0 ? 'unknown' : plainPercent(row.hits)))))));

const fillVerdict = () => {
  profiles.slice(0, 8).forEach((profile, index) => {
    const {verdict} = profile, {answer} = verdict;
    byId(data.diff ? 'each' : 'verdict').append(element('div', {class: 'verdict'}, answer ? element('p', {class: 'answer'}, profiles.length > 1 ? chip(index) : '', answer) : '',
      element('p', {class: 'lead'}, profiles.length > 1 && !answer ? chip(index) : '', verdict.covers),
      verdict.levels ? levelTable(profile) : '', verdict.list ? lineTable(profile.attribution, verdict.list) : '',
      verdict.keys ? hitTable(verdict.keys) : ''));
  });
};
