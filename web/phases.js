/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.js - the phases of a trace: the distances at which a watched block came back, over time (figure 5 of
 * Ding & Zhong, PLDI 2003), on stripes that are coloured by the kind of phase; and a table of the kinds.
 */
const kindName = (kind) => (kind < 26 ? String.fromCharCode(65 + kind) : String(kind + 1));
const phaseColumns = {begin: 0, end: 1, distinct: 2, cold: 3, kind: 4};

const phasePicture = (profile) => {
  const {phases} = profile, wide = 1000, high = 260, left = 70, bottom = 30;
  const sample = phases.samples[0] || {times: []};
  const last = Math.max(1, profile.references);
  const most = Math.max(1, ...sample.times.map(([, distance]) => distance));
  const x = (time) => left + (wide - left) * time / last;
  const y = (distance) => high - (high - 10) * distance / most;
  const stripes = phases.phases.map((phase) => svgElement('rect', {
    x: x(phase[phaseColumns.begin]), y: 0, width: Math.max(0.2, x(phase[phaseColumns.end]) - x(phase[phaseColumns.begin])), height: high,
    fill: 'var(--s' + (phase[phaseColumns.kind] % 8) + ')', 'fill-opacity': 0.13, class: 'phase'}));
  const stems = sample.times.map(([time, distance]) => 'M' + x(time) + ' ' + high + 'V' + y(distance)).join('');
  const label = (text, at, up, anchor) => {
    const made = svgElement('text', {x: at, y: up, 'text-anchor': anchor, 'font-size': 12, fill: 'var(--quiet)'});
    made.textContent = text;
    return made;
  };
  return svgElement('svg', {viewBox: `0 0 ${wide} ${high + bottom}`, width: '100%', role: 'img', class: 'phase-picture',
    'aria-label': 'Distances at which block ' + count(sample.block || 0) + ' came back, over the references of the trace'},
  ...stripes,
  svgElement('path', {d: stems, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.5, class: 'stems'}),
  svgElement('path', {d: `M${left} 0V${high}H${wide}`, fill: 'none', stroke: 'var(--rule)'}),
  label(count(most), left - 6, 14, 'end'), label('0', left - 6, high, 'end'),
  label('0', left, high + 18, 'start'), label(count(last) + ' references', wide, high + 18, 'end'));
};

const kindRows = (phases) => {
  const kinds = [];
  phases.phases.forEach((phase, index) => {
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

const fillPhases = () => {
  profiles.forEach((profile, index) => {
    if (!profile.phases) return;
    const title = profiles.length > 1 ? element('h3', {}, chip(index), shortNames[index]) : '';
    const watched = profile.phases.samples.length
      ? 'How far away block ' + count(profile.phases.samples[0].block) + ' was each time it came back from more than ' +
        count(profile.phases.threshold) + ' blocks away. Phases end at its peaks; stripes of one colour are phases of one kind.'
      : 'No block came back from more than ' + count(profile.phases.threshold) + ' blocks away: the trace is one phase.';
    byId('phases').append(title, element('p', {class: 'quiet'}, watched), phasePicture(profile),
      element('div', {class: 'scroll'}, element('table', {},
        headings(['Kind', 'Phases', 'References of each', 'Distinct blocks of each', 'Which']),
        element('tbody', {}, ...kindRows(profile.phases)))));
  });
  byId('phases-section').hidden = !byId('phases').children.length;
};
