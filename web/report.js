/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.js - fills the report page: summary, warnings, tables, and the charts with their switches.
 *
 * Everything that comes from a profile is put into the page as text, never as markup. The page
 * fetches nothing.
 */
/* ---- page furniture ---- */

const fillSummary = () => {
  byId('title').textContent = data.title;
  document.title = data.title;
  const parts = [profiles.length === 1 ? '1 profile' : profiles.length + ' profiles'];
  if (data.caches.length)
    parts.push((ofMachine ? 'caches: ' : 'cache sizes: ') + data.caches.map(cacheText).join(', '));
  byId('summary').textContent = parts.join(' · ');
  byId('made-by').textContent =
    'Made by fathom ' + data.version + '. This file is self-contained: it loads nothing from anywhere.';
};

const warn = (word, text) =>
  byId('warnings').append(element('p', {class: 'warning'}, element('strong', {}, word), ' ' + text));

const fillWarnings = () => {
  profiles.forEach((profile, i) => {
    if (!profile.complete)
      warn('INCOMPLETE', shortNames[i] + ': ' +
        (profile.lost ? count(profile.lost) + ' references are known to be missing' : 'an unknown number of references is missing') +
        (profile.whatMissing ? ': ' + profile.whatMissing : ''));
    if (!profile.exact)
      warn('APPROXIMATE', shortNames[i] + ': ' + (profile.accuracy || 'how far it may be from the truth is not known'));
    if (!profile.coldKnown)
      warn('UNKNOWN', shortNames[i] + ': memory ran out for telling first touches from returns beyond the bound; ' +
        'cold and distinct are lower bounds');
  });
};

const headings = (names) => element('thead', {}, element('tr', {}, ...names.map((name) => element('th', {scope: 'col'}, name))));

const chip = (index) => {
  const made = element('span', {class: 'chip'});
  made.style.background = 'var(--s' + (index % 8) + ')';
  return made;
};

const fillProfiles = () => {
  const rows = profiles.map((profile, i) => {
    const least = profile.coldKnown ? '' : '≥ ';
    const state = profile.complete ? element('td', {}, 'yes') : element('td', {class: 'bad'}, 'INCOMPLETE');
    return element('tr', {},
      element('th', {scope: 'row'}, chip(i), profile.name || '(unnamed)'),
      element('td', {}, count(profile.references)),
      element('td', {}, profile.granularity > 1 ? bytes(profile.granularity) : profile.elements ? 'one element' : 'one key'),
      element('td', {}, least + count(profile.distinct)),
      element('td', {}, profile.granularity > 1 ? least + bytes(profile.distinct * profile.granularity) : '–'),
      element('td', {}, least + (profile.references ? percent(profile.cold / profile.references) : '–')),
      element('td', {}, profile.engine + (profile.exact ? '' : ' (approximate)')),
      state);
  });
  byId('profiles').append(element('table', {},
    headings(['Profile of', 'References', 'Block', 'Distinct blocks', 'Footprint', 'Cold', 'Engine', 'Complete']),
    element('tbody', {}, ...rows)));
};

/* ---- numbers ---- */

const bandCell = (profile, blocks) => {
  const band = bandText(profile, blocks);
  return band ? element('span', {class: 'estimate'}, '(' + band + ')') : '';
};

const fillNumbers = () => {
  const rows = [];
  const last = 2 ** Math.ceil(Math.log2(Math.max(2, curveExtent.most)));
  for (let at = 2 ** Math.floor(Math.log2(curveExtent.least)); at <= last; at *= 2) rows.push({at});
  markers.forEach((cache, index) => rows.push({at: cache.bytes, cache, index}));
  rows.sort((a, b) => a.at - b.at || (a.cache ? 1 : -1));
  const body = element('tbody', {});
  for (const row of rows) {
    const cells = profiles.map((profile) => {
      if (!row.cache) {
        const blocks = Math.floor(row.at / unitOf(profile));
        const ratio = blocks < 1 ? null : missRatio(profile, blocks);
        return element('td', {}, ratio == null ? '–' : percent(ratio), ratio == null ? '' : bandCell(profile, blocks));
      }
      const fit = profile.caches[row.index];
      const cell = element('td', {}, fit.known ? percent(fit.ratio) : '–');
      if (fit.known) cell.append(bandCell(profile, fit.blocks));
      if (fit.estimate != null) cell.append(element('span', {class: 'estimate'}, 'est. ' + percent(fit.estimate)));
      return cell;
    });
    const ways = row.cache && row.cache.ways ? ', ' + row.cache.ways + ' ways' : '';
    body.append(element('tr', row.cache ? {class: 'cache'} : {},
      element('th', {scope: 'row'}, row.cache && row.cache.sharedBy > 0 ? row.cache.name + ' (' + size(row.at) + ways + ')' : size(row.at)),
      ...cells));
  }
  byId('numbers').append(element('table', {},
    element('thead', {}, element('tr', {}, element('th', {scope: 'col'}, 'Cache size'),
      ...profiles.map((profile, i) => element('th', {scope: 'col'}, chip(i), shortNames[i])))), body));
  byId('numbers-note').textContent = 'Fully associative LRU, all references counted, ' + (profiles.every(isSampled) ? 'those of blocks never used again' : 'first touches') + ' included.' +
    (anyBand() ? ' In brackets: the band of ' + confidenceText(profiles.find((profile) => profile.band)) + ' confidence.' : '') +
    (!markers.length ? '' : ofMachine ? ' Caches in colour; est.: with their sets, estimated.' :
      ' Sizes that were asked for in colour.');
};

/* ---- all of it ---- */

fillSummary();
if (profiles.some(isSampled)) for (const part of [byId('reading-sampled'), byId('reading-sampled').nextElementSibling]) part.hidden = false;
fillWarnings();
fillProfiles();
fillRuns();
fillNumbers();

const coarsened = profiles.some((profile) => profile.coarsened);
byId('curve-note').textContent = 'Share of all references that miss in a fully associative LRU cache of each size.' + bandNote() +
  (!markers.length ? '' : ofMachine ? ' Dashed: the caches.' : ' Dashed: the sizes that were asked for.') +
  (keysOnly ? ' Sizes are numbers of ' + keyWords + '.' : '');
byId('histogram-note').textContent = 'How many distinct other blocks were touched between two references to the same block.' +
  (coarsened ? ' Long histograms are shown in at least 64 bins per power of two, to keep the page small.' : '');

const curveState = {x: 'log', y: 'linear'};
const drawCurve = keepDrawn('curve', 'Miss-ratio curve', curveState, buildCurve);
addSwitch(byId('curve-switches'), 'curve-x', 'size', AXES, curveState, 'x', drawCurve);
addSwitch(byId('curve-switches'), 'curve-y', 'ratio', AXES, curveState, 'y', drawCurve);

const addHistogram = (id, title, field, xLabel, extras) => {
  const state = {x: 'log', y: 'linear', unit: 'share'};
  const draw = keepDrawn(id, title, state, buildHistogram(field, xLabel, extras));
  const holder = byId(id + '-switches');
  addSwitch(holder, id + '-x', 'distance', AXES, state, 'x', draw);
  addSwitch(holder, id + '-y', 'height', AXES, state, 'y', draw);
  addSwitch(holder, id + '-unit', 'show', [['share', 'share'], ['count', 'count']], state, 'unit', draw);
};
addHistogram('histogram', 'Histogram of reuse distances', 'histogram', 'reuse distance, blocks', true);
if (profiles.some((profile) => profile.times)) {
  byId('times-section').hidden = false;
  byId('times-note').textContent = 'How many references lie between two references to the same block, the second one included.';
  addHistogram('times', 'Histogram of time distances', 'times', 'time distance, references', false);
}

fillPhases();
fillParts(() => charts.forEach((chart) => chart.draw()));

if (lateProfiles.length) {
  byId('late').hidden = false;
  chooseModel();
  fillLateBar();
  startPairs();
  startSource();
  startObjects();
  startLatencies();
  changed();
  followAddress();
  addEventListener('hashchange', followAddress);
  /* What is jumped to stops below the bar. */
  new ResizeObserver(() => byId('late').style.setProperty('--bar', byId('late-bar').offsetHeight + 'px')).observe(byId('late-bar'));
}

fillVerdict();
fillDiff();

/* Links to what is there. */
for (const section of document.querySelectorAll('main section[data-link]'))
  if (!section.closest('[hidden]')) byId('contents').append(element('a', {href: '#' + section.id}, section.dataset.link));

const drawAll = () => charts.forEach((chart) => chart.draw());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
matchMedia('print').addEventListener('change', drawAll);
let pending = 0;
addEventListener('resize', () => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(() => {
    for (const chart of charts)
      if (Math.floor(chart.holder.clientWidth) !== chart.width()) chart.draw();
  });
});
document.documentElement.dataset.ready = 'yes';
