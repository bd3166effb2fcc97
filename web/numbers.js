/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.js - the report's data, what the profiles say at any cache size, and numbers as people read
 * them. First of the page's scripts, which report.html puts together in one block: names of one are
 * seen by the next.
 */
const data = JSON.parse(document.getElementById('data').textContent);
const profiles = data.profiles;
const byId = (id) => document.getElementById(id);

/* ---- numbers and elements ---- */

const element = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  for (const child of children) made.append(...(typeof child === 'string' ? withNumbers(child) : [child])); /* strings become text nodes */
  return made;
};
/* Characters that are not seen or that reorder others come as <U+202E> (visible.h): marked, so that they are not taken for text. */
const NUMBERED = /(<U\+[0-9A-F]{4,6}>)/;
const withNumbers = (text) => {
  if (!text.includes('<U+')) return [text];
  return text.split(NUMBERED).map((part, i) => (i % 2 ? element('span', {class: 'unseen', title: 'a character that is not shown as it is'}, document.createTextNode(part)) : part));
};
const count = (value) => Math.round(value).toLocaleString('en-US');
const scaled = (value, units, space) => {
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit++;
  }
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits) + (units[unit] ? space + units[unit] : '');
};
const bytes = (value) => scaled(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'], ' ');
const binary = (value) => scaled(value, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'], '');
const percent = (share) => {
  const value = share * 100;
  if (value > 0 && value < 0.005) return value.toPrecision(1) + ' %';
  if (value < 100 && value > 99.995) return '>99.99 %';
  return value.toFixed(2) + ' %';
};
/* 787, 9.16 M: three digits. */
const shortCount = (value) => {
  const units = ['', ' k', ' M', ' G', ' T', ' P', ' E'];
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit++;
  }
  return value.toFixed(unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + units[unit];
};
const wholePercent = (share) => {
  const value = share * 100;
  return value > 0 && value < 1 ? '<1 %' : value < 100 && value > 99 ? '>99 %' : value.toFixed(0) + ' %';
};
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (index) => style('--s' + (index % 8));
const dash = (index) => (index < 8 ? undefined : [6, 3]);

/* A long name loses its middle, not its end: C++ names that begin alike are told apart by how they end. */
const CHARACTERS = /<U\+[0-9A-F]{4,6}>|[^]/gu;
const cutMiddle = (text, most) => {
  const all = text.length > most ? text.match(CHARACTERS) : [];
  if (all.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.45);
  return all.slice(0, head).join('') + '…' + all.slice(all.length - (most - 1 - head)).join('');
};

/* Keys, and elements, live in no cache of this machine. Memory in blocks of one byte has a run or code sites; keys have neither. */
const hasKeys = (profile) => profile.elements || (profile.granularity === 1 && !profile.run && !profile.attribution);
const keysOnly = profiles.every(hasKeys);
const keyWord = profiles.every((profile) => profile.elements) ? 'element' : 'key', keyWords = keyWord + 's';
if (keysOnly && data.caches.every((cache) => cache.sharedBy > 0)) data.caches = [];

/* Caches of a machine have names; sizes that somebody asked for are only that, and count keys where keys have none. */
const ofMachine = data.caches.every((cache) => cache.sharedBy > 0);
const cacheName = (cache) => (cache.sharedBy > 0 ? cache.name : size(cache.bytes));
const cacheText = (cache) => (cache.sharedBy > 0 ? cache.name + ' ' + bytes(cache.bytes) : size(cache.bytes));

/* ---- what the profiles say ---- */

const size = keysOnly ? (value) => binary(value) + ' ' + (value === 1 ? keyWord : keyWords) : bytes;

/* Short names: the last part of a path (of several, where profiles were merged); where two are alike, with what tells
 * them apart. */
const shortNames = (() => {
  if (data.diff) return ['before', 'after'];
  const lastOf = (name) => name.split('/').filter(Boolean).pop() || '(unnamed)';
  const last = (name) => {
    const parts = [...new Set((name || '(unnamed)').split(' + ').map(lastOf))];
    return parts.length > 3 ? parts.slice(0, 2).join(' + ') + ' and ' + (parts.length - 2) + ' more' : parts.join(' + ');
  };
  const names = profiles.map((profile) => last(profile.name));
  return names.map((name, i) => {
    if (names.filter((other) => other === name).length === 1) return name;
    const same = profiles.filter((_, j) => names[j] === name);
    const unique = new Set(same.map((profile) => profile.granularity)).size === same.length;
    return name + (unique ? ' · ' + bytes(profiles[i].granularity) + ' blocks' : ' · #' + (i + 1));
  });
})();

/* Every profile and every part of one (a thread, a process), parts behind their whole. */
const everyProfile = [];
const partName = (profile) => {
  const {run} = profile;
  if (run && run.thread) return 'thread ' + run.thread;
  if (run && run.process) return 'process ' + run.process + (profile.name ? ', ' + profile.name : '');
  return profile.name || '(unnamed)';
};
const gatherProfiles = (profile, entry) => {
  everyProfile.push(entry);
  profile.passed = [0];
  for (const bin of profile.histogram || [])
    profile.passed.push(profile.passed[profile.passed.length - 1] + bin[2]);
  /* Processes that others started stand behind and under those; so do programs that a process became by exec. */
  const parts = profile.parts || [], placed = new Set();
  const above = ({run}) => (run.byExec ? run.process : run.parent);
  const place = (part, depth) => {
    placed.add(part);
    const name = partName(part);
    gatherProfiles(part, {profile: part, part: name, name: entry.name + ' · ' + name, depth, root: entry.root});
    if (part.run && part.run.process && !part.run.thread)
      for (const child of parts)
        if (!placed.has(child) && child.run && !child.run.thread && above(child) === part.run.process)
          place(child, depth + 1);
  };
  const known = new Set(parts.map((part) => part.run && part.run.process).filter(Boolean));
  const startedByOther = ({run}) => run && !run.thread && run.parent && run.parent !== run.process && known.has(run.parent);
  const underOther = (part) => startedByOther(part) || (part.run && !part.run.thread && part.run.byExec);
  for (const part of parts) if (!placed.has(part) && !underOther(part)) place(part, entry.depth + 1);
  for (const part of parts) if (!placed.has(part)) place(part, entry.depth + 1);
};
profiles.forEach((profile, i) => gatherProfiles(profile, {profile, name: shortNames[i], depth: 0, root: profile}));

/* What the charts draw: the profiles, and the parts that were ticked. */
const overlaid = [];
const shownCurves = () => profiles.map((profile, index) => ({profile, index, name: shortNames[index]}))
  .concat(overlaid.map((entry, i) => ({profile: entry.profile, index: profiles.length + i, name: profiles.length > 1 ? entry.name : entry.part})));

/* Expected misses of a fully associative LRU cache, as fm_profile_misses computes them; null where
 * the profile's bound hides the answer. */
const missRatio = (profile, blocks) => {
  if (!profile.references) return 0;
  if (profile.bound && blocks > profile.bound) {
    if (profile.beyond) return null;
    blocks = profile.bound;
  }
  const bins = profile.histogram;
  let low = 0, high = bins.length; /* first bin whose lower edge is not below the size */
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bins[middle][0] < blocks) low = middle + 1;
    else high = middle;
  }
  let hits = profile.passed[low];
  if (low) {
    const [lo, end, number] = bins[low - 1];
    const hi = profile.bound && end >= profile.bound ? profile.bound - 1 : end;
    if (hi >= blocks) hits -= number * (1 - (blocks - lo) / (hi - lo + 1));
  }
  return (profile.references - hits) / profile.references;
};

const log2Index = (distance) => (distance < 1 ? 0 : Math.floor(Math.log2(distance)) + 1);
const log2Low = (index) => (index === 0 ? 0 : 2 ** (index - 1));
const log2Label = (index) =>
  index < 2 ? String(index) : '[' + binary(log2Low(index)) + ', ' + binary(log2Low(index + 1)) + ')';

/*
 * ======== sampled ========
 * What is different where a profile was estimated from samples: the band of its curve, how sure
 * pairs, lines and data are, how it was sampled, and that nobody saw first touches, but what was never used again.
 */
/* ---- words ---- */

const isSampled = (profile) => !!(profile && profile.sampling);
const coldWord = (profile) => (isSampled(profile) ? 'never used again' : 'first touch');
const coldTitle = (profile) => (isSampled(profile) ? 'Never used again' : 'First touches');
const coldWords = (profile) => (isSampled(profile) ? 'never used again' : 'first touches');

/* Too few samples for a verdict, or for saying whose misses are whose. */
const tooFew = (profile) => isSampled(profile) && profile.sampling.few;

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
