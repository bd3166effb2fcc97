/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled.js - what is different where a profile was estimated from samples: the band of its curve, how sure
 * pairs, lines and data are, how it was sampled, and that nobody saw first touches, but what was never used again.
 */

/* ---- words ---- */

const isSampled = (profile) => !!(profile && profile.sampling);
const coldWord = (profile) => (isSampled(profile) ? 'never used again' : 'first touch');
const coldTitle = (profile) => (isSampled(profile) ? 'Never used again' : 'First touches');
const coldWords = (profile) => (isSampled(profile) ? 'never used again' : 'first touches');

/* Fewer than that, and one more would move the first digit of a share: no verdict. As terminal_verdict.c has it. */
const tooFew = (profile) => isSampled(profile) && profile.sampling.missSamples < data.fewestSamples;
const fewBlocks = (profile) => isSampled(profile) && profile.sampling.blockSamples < data.fewestSamples;
const fewText = (profile) => 'Too few samples for a verdict: ' + count(profile.sampling.missSamples) + ' of misses (' + data.fewestSamples +
  ' are the least). A longer run, or more samples a second (--rate), has more.';

/* ± 12 %, from 41 samples: the standard error; '' where nothing is estimated. */
const sureText = (estimate, error, samples) => (!samples || !(estimate > 0) ? '' :
  '± ' + wholePercent(Math.min(error / estimate, 9.99)) + ', from ' + count(samples) + (samples === 1 ? ' sample' : ' samples'));
const SURE_TITLE = 'Standard error of the late uses, and the bursts and watches that they rest on';
const sureNote = (text) => (text ? element('span', {class: 'sure', title: SURE_TITLE}, text) : '');

/* Of pairs, which may be wrong together: the sum of their errors is never too small. */
class Sure {
  constructor() {
    this.late = this.error = this.samples = 0;
  }
  add(late, row) {
    this.late += late;
    if (!row) return;
    this.error += row[1];
    this.samples = Math.max(this.samples, row[2]);
  }
  get text() { return sureText(this.late, this.error, this.samples); }
}

/* ---- the band ---- */

/* [least, most] of the miss ratio in a cache of so many blocks; null: not known. As fm_profile_band has it. */
const bandAt = (profile, blocks) => {
  const {band} = profile;
  if (!band || blocks < band[0][0]) return null;
  let low = 0, high = band.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (band[middle][0] <= blocks) low = middle;
    else high = middle - 1;
  }
  const between = low + 1 < band.length && band[low][0] < blocks ? 1 : 0;
  return [band[low + between][1], band[low][2]];
};
const bandText = (profile, blocks) => {
  const found = bandAt(profile, blocks);
  return found ? percent(found[0]) + ' to ' + percent(found[1]) : '';
};
const confidenceText = (profile) => Number((profile.confidence * 100).toPrecision(3)) + ' %';
const anyBand = () => profiles.some((profile) => profile.band);

/* Below the curves. */
const drawBands = (shown) => ({context, chart, placeX, placeY}) => {
  shown.forEach(({profile, index}, i) => {
    if (!profile.band || !chart.series[i].shown) return;
    const at = (value) => placeY(Math.max(value, chart.y.from));
    const ends = chart.places.map((bytes) => [placeX(bytes), bandAt(profile, Math.floor(bytes / unitOf(profile)))])
      .filter(([, found]) => found);
    context.beginPath();
    for (const [x, [, most]] of ends) context.lineTo(x, at(most));
    for (const [x, [least]] of ends.reverse()) context.lineTo(x, at(least));
    context.closePath();
    context.fillStyle = colour(index) + '33';
    context.fill();
  });
};

const bandNote = () => {
  const banded = profiles.filter((profile) => profile.band);
  return banded.length ? ' Shaded: where it lies with ' + confidenceText(banded[0]) + ' confidence, at each size by itself.' : '';
};

/* ---- the run ---- */

const METHODS = {software: 'by a clock, in bursts', pmu: 'by performance counters', simulated: 'simulated, of a stored trace'};
const samplingFacts = (profile, add) => {
  const {sampling} = profile, unit = profile.granularity;
  const watches = sampling.used + sampling.replaced + sampling.never;
  const taken = [];
  if (sampling.bursts) taken.push(count(sampling.bursts) + ' bursts');
  if (watches) taken.push(count(watches) + ' watches');
  if (sampling.notArmed) taken.push(count(sampling.notArmed) + ' uses that were not watched');
  add('Sampled', (METHODS[sampling.method] || sampling.method) + ': ' + taken.join(', ') +
    '; estimator ' + sampling.estimator + ', distances by ' + sampling.conversion);
  if (sampling.burstTime) add('Exact', 'in bursts, up to time distances of ' + count(sampling.burstTime) + ' references');
  add('Measured', 'up to time distances of ' + count(sampling.measuredTime) + ' references, some ' +
    blocksText(Math.max(1, sampling.measured), unit) + ' of other data; inferred beyond');
};
