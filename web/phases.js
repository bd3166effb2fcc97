/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.js - the phases of a trace: the distances at which a watched block came back, over time (figure 5 of
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
