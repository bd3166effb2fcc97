/* SPDX-License-Identifier: Apache-2.0 */
/*
 * charts.js - the miss-ratio curve and the histograms, drawn by plot.js.
 *
 * A chart is a function from the state of its switches to what makePlot() wants. It is made anew when a switch, the
 * window's width or the colour scheme changes.
 */
const charts = [];
const keepDrawn = (id, label, state, build) => {
  const holder = byId(id);
  holder.tabIndex = 0;
  holder.setAttribute('role', 'group');
  holder.setAttribute('aria-label', label + '. Arrow keys read values.');
  let plot = null;
  const hidden = new Set();
  const draw = () => {
    const built = build(state);
    holder.dataset.x = state.x;
    holder.dataset.y = state.y;
    holder.dataset.unit = state.unit || '';
    built.width = Math.max(280, Math.floor(holder.clientWidth));
    built.height = built.width < 600 ? 300 : 380;
    built.series.forEach((series) => {
      series.shown = !hidden.has(series.profile);
    });
    built.toggled = (index) => {
      const {profile, shown} = built.series[index];
      if (shown) hidden.delete(profile);
      else hidden.add(profile);
    };
    if (plot) plot.root.remove();
    plot = makePlot(holder, built);
  };
  holder.addEventListener('keydown', (event) => {
    if (event.target !== holder || !plot) return;
    const {places} = plot.chart, last = places.length - 1;
    const now = plot.index == null ? -1 : plot.index;
    const stride = event.shiftKey ? 16 : 1;
    const target = {ArrowRight: now + stride, ArrowLeft: now - stride, Home: 0, End: last}[event.key];
    if (target === undefined || last < 0) return;
    event.preventDefault();
    let index = Math.min(last, Math.max(0, target));
    /* Outlines have pairs of points at one place (see steps): go on to the next place. */
    const same = (at) => Math.abs(places[at] - places[Math.max(now, 0)]) < (places[last] - places[0]) * 1e-6;
    while (now >= 0 && index > now && index < last && same(index)) index++;
    while (index < now && index > 0 && same(index)) index--;
    plot.showCursor(index);
  });
  charts.push({draw, holder, width: () => (plot ? plot.width : 0)});
  draw();
  return draw;
};

const addSwitch = (holder, name, legend, choices, state, key, redraw) => {
  const box = element('span', {class: 'choices'});
  for (const [value, text] of choices) {
    const input = element('input', {type: 'radio', name, value});
    input.checked = state[key] === value;
    input.addEventListener('change', () => {
      state[key] = value;
      redraw();
    });
    box.append(element('label', {}, input, text));
  }
  holder.append(element('fieldset', {}, element('legend', {}, legend), box));
};
const AXES = [['linear', 'linear'], ['log', 'log']];

/* Powers of two that leave each label some room; where a chart was zoomed so far that there are not two, any values. */
const powersOfTwo = (room) => (axis, pixels) => {
  const low = Math.ceil(Math.log2(Math.max(axis.from, 1))), high = Math.floor(Math.log2(Math.max(axis.to, 1)));
  if (high - low < 1) return evenly(room)(axis, pixels);
  const step = Math.max(1, Math.ceil(((high - low + 1) * room) / pixels));
  const ticks = [];
  for (let i = Math.ceil(low / step) * step; i <= high; i += step) ticks.push(2 ** i);
  return ticks;
};
const evenly = (room) => (axis, pixels) => {
  const rough = (axis.to - axis.from) / Math.max(2, Math.floor(pixels / room));
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(rough)));
  const ticks = [];
  for (let at = Math.ceil(axis.from / step) * step; at <= axis.to; at += step) ticks.push(at);
  return ticks;
};

const shareAxis = (log, columns, unit) => {
  let most = 0, least = Infinity;
  for (const column of columns)
    for (const value of column)
      if (value != null) {
        if (value > most) most = value;
        if (value > 0 && value < least) least = value;
      }
  const asShare = unit !== 'count';
  const compact = (value) => (value >= 1e15 ? value.toExponential(0) : value >= 1e12 ? value / 1e12 + ' T' :
    value >= 1e9 ? value / 1e9 + ' G' : value >= 1e6 ? value / 1e6 + ' M' : value >= 1e4 ? value / 1e3 + ' k' : String(value));
  const tick = (value) => {
    if (!asShare) return compact(value);
    const hundredths = Number((value * 100).toPrecision(3));
    return (hundredths !== 0 && Math.abs(hundredths) < 1e-3 ? hundredths.toExponential(0) : String(hundredths)) + ' %';
  };
  let from = 0, to = most ? most * 1.05 : 1;
  if (log) {
    const bottom = 10 ** Math.floor(Math.log10(least === Infinity ? (asShare ? 1e-6 : 1) : least));
    const top = 10 ** Math.ceil(Math.log10(most || 1));
    from = Math.max(bottom, top * 1e-12);
    to = top > bottom ? top : bottom * 10;
  }
  const whole = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
  return {log, from, to, ticks: decimalTicks, text: (value) => (log && !whole(value) ? '' : tick(value))};
};

/* ---- miss-ratio curve ---- */

const unitOf = (profile) => (keysOnly ? 1 : profile.granularity);
const curveExtent = (() => {
  let least = Infinity, most = 1;
  for (const profile of profiles) {
    const unit = unitOf(profile);
    const bins = profile.histogram;
    const reach = bins.length ? bins[bins.length - 1][0] + 1 : 1;
    least = Math.min(least, unit);
    most = Math.max(most, unit * Math.max(2, profile.bound && profile.beyond ? profile.bound : Math.max(profile.distinct, reach)));
  }
  return {least, most};
})();
const markers = data.caches;

const drawMarkers = ({context, chart, area, placeX}) => {
  const {left, top, width, height} = area;
  context.save();
  context.font = '600 11px system-ui, "DejaVu Sans", sans-serif';
  context.fillStyle = style('--marker');
  context.lineJoin = 'round';
  context.textBaseline = 'top';
  context.textAlign = 'left';
  const taken = []; /* [from, to, row] of labels so far */
  for (const cache of markers) {
    if (cache.bytes < chart.x.from || cache.bytes > chart.x.to) continue;
    const x = crisp(placeX(cache.bytes));
    const label = cacheText(cache);
    const wide = context.measureText(label).width;
    const from = x + wide + 8 > left + width ? x - wide - 6 : x + 6;
    let row = 0;
    while (taken.some(([a, b, r]) => r === row && from < b + 8 && from + wide > a - 8)) row++;
    taken.push([from, from + wide, row]);
    context.strokeStyle = style('--marker');
    context.lineWidth = 1;
    context.setLineDash([4, 4]);
    strokeLine(context, x, top, x, top + height);
    context.setLineDash([]);
    context.strokeStyle = style('--card'); /* a rim, so that it can be read above a curve */
    context.lineWidth = 3;
    context.strokeText(label, from, top + 5 + row * 16);
    context.fillText(label, from, top + 5 + row * 16);
  }
  context.restore();
};

const buildCurve = (state) => {
  const logX = state.x === 'log';
  let {least, most} = curveExtent;
  if (logX) { /* room for the caches, and a whole power of two at the end */
    for (const cache of markers) most = Math.max(most, cache.bytes * 1.2);
    most = 2 ** Math.ceil(Math.log2(most));
  }
  const sizes = new Set([least]);
  if (logX) {
    const steps = Math.ceil(Math.log2(most / least) * 64);
    for (let i = 0; i <= steps; i++) sizes.add(Math.min(most, Math.round((least * 2 ** (i / 64)) / least) * least));
  } else {
    for (let i = 0; i <= 2000; i++) sizes.add(Math.max(least, Math.round((most * i) / 2000 / least) * least));
  }
  for (const cache of markers) if (cache.bytes >= least && cache.bytes <= most) sizes.add(cache.bytes);
  const places = [...sizes].sort((a, b) => a - b);
  const shown = shownCurves();
  const columns = shown.map(({profile}) => places.map((at) => {
    const blocks = Math.floor(at / unitOf(profile));
    const ratio = blocks < 1 ? null : missRatio(profile, blocks);
    return state.y === 'log' && ratio === 0 ? null : ratio;
  }));
  const tops = shown.map(({profile}) => places.map((at) => (bandAt(profile, Math.floor(at / unitOf(profile))) || [])[1]));
  const y = shareAxis(state.y === 'log', columns.concat(tops));
  if (!y.log) y.to = Math.min(1.04, y.to);
  return {
    places, points: true, under: drawBands(shown), over: drawMarkers,
    lead: {label: 'cache size', read: (index) => size(places[index])},
    x: {log: logX, from: least, to: most, ticks: (logX ? powersOfTwo : evenly)(76),
        text: keysOnly ? binary : bytes, label: keysOnly ? 'cache size, ' + keyWords : 'cache size, bytes'},
    y: Object.assign(y, {label: 'miss ratio'}),
    series: shown.map(({name, index, profile}, p) => ({
      label: name, profile, values: columns[p], shape: 'line', colour: colour(index), width: 2, dash: dash(index),
      fill: shown.length === 1 && !profile.band ? colour(index) + '1f' : undefined,
      read: (at) => {
        if (columns[p][at] == null) return '–';
        const band = bandText(profile, Math.floor(places[at] / unitOf(profile)));
        return percent(columns[p][at]) + (band ? ' (' + band + ')' : '');
      },
    })),
  };
};

/* ---- histograms ---- */

/*
 * Bars as outlines, so that several profiles can lie over each other: each value holds from its place
 * minus `before` to the next one's. A run of bars begins and ends on the floor; null is a gap between
 * two runs. `read` has the true values, `drawn` what stands on the floor.
 */
const steps = (places, columns, before, floor) => {
  const gap = (index) => index < 0 || index >= places.length || columns.every((column) => column[index] == null);
  const wide = places.length > 1 ? places[1] - places[0] : 1;
  const made = {x: [], read: columns.map(() => []), drawn: columns.map(() => [])};
  const add = (x, valueOf, heightOf) => {
    made.x.push(x);
    columns.forEach((column, i) => {
      made.read[i].push(valueOf(column));
      made.drawn[i].push(heightOf(column));
    });
  };
  places.forEach((place, index) => {
    if (gap(index)) {
      add(place, () => null, () => null);
      return;
    }
    const from = place - before, sliver = wide * 1e-6;
    if (gap(index - 1)) add(from - sliver, (column) => column[index], () => floor);
    add(from, (column) => column[index], (column) => Math.max(column[index], floor));
    if (gap(index + 1)) add(from + wide, (column) => column[index], () => floor);
  });
  return made;
};

const buildHistogram = (field, xLabel, extras) => (state) => {
  const chosen = shownCurves().filter((one) => one.profile[field]);
  const shownProfiles = chosen.map((one) => one.profile);
  const logX = state.x === 'log';
  const whole = shownProfiles.map((profile) => extras ? profile.references :
    profile[field].reduce((sum, bin) => sum + bin[2], 0));
  const value = (number, i) => (state.unit === 'count' ? number : whole[i] ? number / whole[i] : 0);
  let x, columns, label, ticks, text, range;
  if (logX) {
    let last = 0;
    for (const profile of shownProfiles)
      for (const bin of profile[field]) last = Math.max(last, log2Index(bin[0]));
    const places = [];
    for (let i = 0; i <= last; i++) places.push({at: i, label: log2Label(i), tick: i < 1 ? '0' : binary(log2Low(i))});
    columns = shownProfiles.map((profile, p) => {
      const sums = new Array(last + 1).fill(0);
      for (const bin of profile[field]) sums[log2Index(bin[0])] += bin[2];
      return sums.map((sum) => value(sum, p));
    });
    if (extras) { /* what has no distance stands apart, at the right */
      const add = (name, tick, key) => {
        const at = places[places.length - 1].at;
        places.push({at: at + 1, label: '', tick: ''}, {at: at + 2, label: name, tick});
        columns.forEach((column, p) => column.push(null, value(shownProfiles[p][key], p)));
      };
      if (shownProfiles.some((profile) => profile.bound)) add('beyond the bound', 'beyond', 'beyond');
      const words = new Set(shownProfiles.map(coldWords));
      add('cold (' + [...words].join(', or ') + ')', 'cold', 'cold');
    }
    x = places.map((place) => place.at);
    label = (at) => (places.find((place) => place.at === Math.floor(at + 0.5)) || {label: ''}).label;
    ticks = (axis, pixels) => {
      const step = Math.max(1, Math.ceil((42 * (axis.to - axis.from)) / pixels));
      return places.filter(({tick, at}) => tick && at >= axis.from && at <= axis.to && (at > last || at % step === 0))
        .map((place) => place.at);
    };
    text = (at) => places[at].tick;
    range = [-0.6, places[places.length - 1].at + 0.6];
  } else {
    let most = 0;
    for (const profile of shownProfiles)
      for (const bin of profile[field])
        most = Math.max(most, profile.bound && extras ? Math.min(bin[1], profile.bound - 1) : bin[1]);
    const wide = Math.max(1, Math.ceil((most + 1) / 128));
    const number = Math.max(1, Math.ceil((most + 1) / wide));
    x = Array.from({length: number}, (_, i) => i * wide);
    columns = shownProfiles.map((profile, p) => {
      const sums = new Array(number).fill(0);
      for (const [lo, end, n] of profile[field]) { /* spread over the bars that the bin reaches into */
        const hi = profile.bound && extras && end >= profile.bound ? profile.bound - 1 : end;
        for (let i = Math.floor(lo / wide); i <= Math.floor(hi / wide); i++) {
          const from = Math.max(lo, i * wide), to = Math.min(hi + 1, (i + 1) * wide);
          sums[i] += (n * (to - from)) / (hi - lo + 1);
        }
      }
      return sums.map((sum) => value(sum, p));
    });
    label = (at) => (at >= number * wide ? '' : wide === 1 ? count(at) : '[' + count(at) + ', ' + count(at + wide) + ')');
    ticks = evenly(70);
    text = binary;
    range = [0, number * wide];
  }
  const single = shownProfiles.length === 1;
  const bars = logX && single;
  const log = state.y === 'log';
  const y = shareAxis(log, columns, state.unit);
  let read = columns; /* what the legend reads out */
  let drawn = columns;
  if (bars) {
    drawn = log ? columns.map((column) => column.map((number) => number || null)) : columns;
  } else {
    ({x, read, drawn} = steps(x, columns, logX ? 0.5 : 0, y.from));
  }
  const format = (number) => (number == null ? '–' : state.unit === 'count' ? count(number) : percent(number));
  return {
    places: x,
    holds: !bars,
    lead: {label: 'distance', read: (index) => label(x[index]) || '–'},
    x: {log: false, from: range[0], to: range[1], ticks, text, label: xLabel, grid: !logX},
    y: Object.assign(y, {label: state.unit === 'count' ? 'references' : extras ? 'share of references' : 'share of reuses'}),
    series: chosen.map(({name, index, profile}, p) => ({
      label: name, profile, values: drawn[p], shape: bars ? 'bars' : 'steps', colour: colour(index), width: 1.5,
      dash: dash(index), fill: colour(index) + (single ? 'd0' : '26'), read: (at) => format(read[p][at]),
    })),
  };
};
