/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.js - the run that a profile is of, and its parts: threads and processes with their miss ratios. A
 * part's curve can be laid over those of the whole.
 */

/* ---- the run ---- */

const secondsText = (value) => (value >= 100 ? count(value) + ' s' : value.toPrecision(3) + ' s');

const unseenText = (modules) => {
  const names = modules.slice(0, 8).map((module) => lastPart(module.path)).join(', ');
  return names + (modules.length > 8 ? ' and ' + (modules.length - 8) + ' more' : '') + ': their own accesses are not in this profile';
};

const runFacts = (profile) => {
  const {run} = profile, facts = element('dl', {class: 'facts'});
  const add = (term, ...text) => facts.append(element('dt', {}, term), element('dd', {}, ...text));
  if (run.command) add('Command', element('code', {}, run.command));
  if (run.ending) add('Ended', run.ending + (run.seconds > 0 ? ' after ' + secondsText(run.seconds) + ' under fathom' : ''));
  if (run.what) add('Watched', run.what);
  if (isSampled(profile)) samplingFacts(profile, add);
  if (run.collector) add('Collector', run.collector + (run.process ? ', process ' + run.process : ''));
  if (profile.complete) add('Complete', 'yes: everything that was watched is counted');
  else add('Complete', element('strong', {class: 'bad'}, 'INCOMPLETE'), ' ' + (profile.whatMissing || ''));
  const unseen = profile.attribution ? profile.attribution.modules.filter((module) => module.unseen) : [];
  if (unseen.length) add('Not seen', unseenText(unseen));
  const notes = (run.notes || '').split('\n').filter(Boolean);
  if (notes.length) add(notes.length === 1 ? 'Note' : 'Notes', plainList(notes));
  return facts;
};

const fillRuns = () => {
  const seen = new Set();
  profiles.forEach((profile, index) => {
    if (!profile.run) return;
    const facts = runFacts(profile);
    if (seen.has(facts.textContent)) return; /* the same run at another granularity */
    seen.add(facts.textContent);
    const title = profiles.length > 1 ? element('h3', {}, chip(index), shortNames[index]) : '';
    byId('runs').append(element('div', {class: 'run'}, title, facts));
  });
  byId('run-section').hidden = !byId('runs').children.length;
};

/* ---- threads and processes ---- */

const partsView = {shown: 64, marks: new Map()};

/* The colours of the curves that are shown. */
const colourParts = () => {
  const shown = shownCurves();
  for (const [entry, mark] of partsView.marks) {
    const curve = overlaid.includes(entry) ? shown.find((one) => one.profile === entry.profile) : null;
    mark.style.background = curve ? 'var(--s' + (curve.index % 8) + ')' : 'transparent';
  }
};

const curveCell = (entry, redraw) => {
  if (!entry.profile.histogram) return td('narrow');
  const box = element('input', {type: 'checkbox', 'aria-label': 'Curve of ' + entry.name}), mark = element('span', {class: 'chip'});
  box.checked = overlaid.includes(entry);
  box.addEventListener('change', () => {
    if (box.checked) overlaid.push(entry);
    else overlaid.splice(overlaid.indexOf(entry), 1);
    redraw();
    colourParts();
  });
  partsView.marks.set(entry, mark);
  return td('narrow', element('label', {class: 'curve'}, box, mark));
};

const partRow = (entry, caches, redraw) => {
  const {profile} = entry;
  const name = element('th', {scope: 'row', class: 'left part'}, entry.part);
  name.style.paddingLeft = 10 + 22 * (entry.depth - 1) + 'px';
  if (profile.run && profile.run.ending && !profile.run.thread) name.append(dim(' ' + profile.run.ending));
  if (!profile.complete) name.append(' ', element('span', {class: 'bad'}, 'INCOMPLETE'));
  const ratios = caches.map((_, index) => (profile.caches[index].known ? percent(profile.caches[index].ratio) : '–'));
  return tr(curveCell(entry, redraw), name, td('', count(profile.references)), td('', count(profile.distinct)),
    td('', profile.granularity > 1 ? bytes(profile.distinct * profile.granularity) : '–'), ...ratios.map((ratio) => td('', ratio)));
};

const partsNote = (parts) => {
  const said = ['Miss ratios of each part alone, as if it had a fully associative cache of its own.',
    'A tick lays its curve over those of the whole.'];
  if (parts.some((entry) => entry.profile.coarsened))
    said.push('Curves of parts are drawn from coarser bins; the ratios in the table are not.');
  if (parts.some((entry) => !entry.profile.histogram)) said.push('There are too many parts for a curve of each.');
  if (data.partsLeftOut) said.push(count(data.partsLeftOut) + ' further parts are not on this page.');
  return said.join(' ');
};

const fillParts = (redraw) => {
  const parts = everyProfile.filter((entry) => entry.depth > 0);
  byId('parts-section').hidden = !parts.length;
  if (!parts.length) return;
  const caches = keysOnly ? [] : data.caches;
  const owners = new Set(parts.map((entry) => entry.root));
  const titles = ['Curve', 'Part', 'References', 'Distinct blocks', 'Footprint', ...caches.map((cache) => cacheName(cache) + ' misses')];
  const draw = () => {
    const body = element('tbody', {});
    let owner = null;
    for (const entry of parts.slice(0, partsView.shown)) {
      if (owners.size > 1 && entry.root !== owner) {
        owner = entry.root;
        const name = everyProfile.find((one) => one.profile === owner).name;
        body.append(element('tr', {class: 'owner'}, element('th', {scope: 'rowgroup', colspan: titles.length, class: 'left'}, name)));
      }
      body.append(partRow(entry, caches, redraw));
    }
    colourParts();
    byId('parts').replaceChildren(element('table', {}, headings(titles), body));
    byId('parts-more').replaceChildren(moreButton(Math.min(partsView.shown, parts.length), parts.length, 'parts', (shown) => {
      partsView.shown = shown;
      draw();
    }));
  };
  draw();
  byId('parts-note').textContent = partsNote(parts);
};
