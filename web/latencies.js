/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latencies.js - how long sampled accesses took, and which cache or memory their data came from, by line: what the
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
