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

/*
 * ======== phases ========
 * The phases of a trace: the distances at which a watched block came back, over time (figure 5 of
 * Ding & Zhong, PLDI 2003), on stripes that are coloured by the kind of phase; and a table of the kinds. Phases
 * may have phases inside: above the picture is a band for each level, and a choice of the level that picture and
 * table show.
 */
const kindName = (kind) => (kind < 26 ? String.fromCharCode(65 + kind) : String(kind + 1));
const phaseColumns = {begin: 0, end: 1, distinct: 2, cold: 3, kind: 4};
const phaseLevels = (phases) => [phases.phases, ...(phases.inner || [])];

const phasePicture = (profile, level) => {
  const {phases} = profile, levels = phaseLevels(phases), wide = 1000, left = 70, bottom = 30, band = 16;
  const top = levels.length > 1 ? levels.length * band + 6 : 0, high = 260 + top;
  const sample = phases.samples[0] || {times: []};
  const last = Math.max(1, profile.references);
  const most = Math.max(1, ...sample.times.map(([, distance]) => distance));
  const x = (time) => left + (wide - left) * time / last;
  const y = (distance) => high - (high - top - 10) * distance / most;
  const stripe = (phase, more) => svgElement('rect', Object.assign({
    x: x(phase[phaseColumns.begin]), width: Math.max(0.2, x(phase[phaseColumns.end]) - x(phase[phaseColumns.begin])),
    fill: 'var(--s' + (phase[phaseColumns.kind] % 8) + ')'}, more));
  const stripes = levels[level].map((phase) => stripe(phase, {y: top, height: high - top, 'fill-opacity': 0.13, class: 'phase'}));
  const stems = sample.times.map(([time, distance]) => 'M' + x(time) + ' ' + high + 'V' + y(distance)).join('');
  const label = (text, at, up, anchor) => {
    const made = svgElement('text', {x: at, y: up, 'text-anchor': anchor, 'font-size': 12, fill: 'var(--quiet)'});
    made.textContent = text;
    return made;
  };
  const bands = top ? levels.flatMap((rows, index) => [
    label('level ' + (index + 1), left - 6, index * band + 12, 'end'),
    ...rows.map((phase) => stripe(phase, {y: index * band, height: band - 3, 'fill-opacity': index === level ? 0.8 : 0.35,
      stroke: 'var(--card)', 'stroke-width': 0.5, class: 'phase-band'}))]) : [];
  return svgElement('svg', {viewBox: `0 0 ${wide} ${high + bottom}`, width: '100%', role: 'img', class: 'phase-picture',
    'aria-label': 'Distances at which block ' + count(sample.block || 0) + ' came back, over the references of the trace, on phases of level ' + (level + 1)},
  ...bands, ...stripes,
  svgElement('path', {d: stems, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.5, class: 'stems'}),
  svgElement('path', {d: `M${left} ${top}V${high}H${wide}`, fill: 'none', stroke: 'var(--rule)'}),
  label(count(most), left - 6, top + 14, 'end'), label('0', left - 6, high, 'end'),
  label('0', left, high + 18, 'start'), label(count(last) + ' references', wide, high + 18, 'end'));
};

const kindRows = (rows) => {
  const kinds = [];
  rows.forEach((phase, index) => {
    const kind = kinds[phase[phaseColumns.kind]] ||= {count: 0, references: 0, distinct: 0, which: []};
    kind.count++;
    kind.references += phase[phaseColumns.end] - phase[phaseColumns.begin];
    kind.distinct += phase[phaseColumns.distinct];
    if (kind.which.length < 12) kind.which.push(index + 1);
  });
  return kinds.map((kind, index) => tr(
    element('th', {scope: 'row'}, chip(index), kindName(index)), td('', count(kind.count)), td('', count(kind.references / kind.count)),
    td('', count(kind.distinct / kind.count)), td('left', kind.which.join(', ') + (kind.count > kind.which.length ? ', …' : ''))));
};

// What was watched, and what tells where phases begin.
const phaseText = ({samples, threshold, cut, phases, inner}) => {
  const one = phases.length === 1 && !(inner && inner.length);
  const watched = samples.length
    ? 'How far away block ' + count(samples[0].block) + ' was each time it came back from more than ' + count(threshold) + ' blocks away. '
    : 'No block came back from more than ' + count(threshold) + ' blocks away. ';
  if (one) return watched + 'The trace is one phase.';
  return watched + (cut === 'changes' ? 'Phases begin where the distances, or the data in use, change' : 'Phases end at its peaks') +
    '; stripes of one colour are phases of one kind.';
};

const phaseView = (profile) => {
  const levels = phaseLevels(profile.phases);
  const place = element('div', {});
  const show = (level) => {
    const rows = levels[level];
    const said = levels.length > 1
      ? 'Picture and table: level ' + (level + 1) + ' of ' + levels.length + ', ' + count(rows.length) + ' phases' +
        (level ? ' inside those of level ' + level : ' with phases inside') + '.'
      : 'Picture and table: level 1, the only one: no phase has phases inside.';
    place.replaceChildren(element('p', {class: 'quiet phase-level'}, said), phasePicture(profile, level),
      element('div', {class: 'scroll'}, element('table', {},
        headings(['Kind', 'Phases', 'References of each', 'Distinct blocks of each', 'Which']),
        element('tbody', {}, ...kindRows(rows)))));
  };
  show(0);
  if (levels.length < 2) return [place];
  const choice = element('select', {class: 'phase-choice', 'aria-label': 'Level of the phases'},
    ...levels.map((rows, index) => element('option', {value: index}, 'level ' + (index + 1) + ': ' + count(rows.length) + ' phases')));
  choice.addEventListener('change', () => show(Number(choice.value)));
  return [element('p', {}, element('label', {}, 'Show ', choice)), place];
};

const fillPhases = () => {
  profiles.forEach((profile, index) => {
    if (!profile.phases) return;
    const title = profiles.length > 1 ? element('h3', {}, chip(index), shortNames[index]) : '';
    byId('phases').append(title, element('p', {class: 'quiet'}, phaseText(profile.phases)), ...phaseView(profile));
  });
  byId('phases-section').hidden = !byId('phases').children.length;
};
