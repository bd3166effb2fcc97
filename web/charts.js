/* SPDX-License-Identifier: Apache-2.0 */
/*
 * charts.js - the miss-ratio curve and the histograms, drawn by uPlot.
 *
 * A chart is a function from the state of its switches to uPlot's options and data. It is made anew
 * when a switch, the window's width or the colour scheme changes.
 */
/* A chart is a function from its switches' state to { options, data }; this keeps it drawn. */
const charts = [];
const keepDrawn = (id, label, state, build) => {
  const holder = byId(id);
  holder.tabIndex = 0;
  holder.setAttribute('role', 'group');
  holder.setAttribute('aria-label', label + '. Arrow keys read values.');
  let plot = null, nudge = 0;
  const hidden = new Set();
  const draw = () => {
    const built = build(state);
    const width = Math.max(280, Math.floor(holder.clientWidth));
    holder.dataset.x = state.x;
    holder.dataset.y = state.y;
    holder.dataset.unit = state.unit || '';
    nudge = built.nudge;
    if (plot) plot.destroy();
    built.options.width = width;
    built.options.height = width < 600 ? 300 : 380;
    built.options.series.forEach((series, i) => {
      if (i) series.show = !hidden.has(built.shown[i - 1]);
    });
    built.options.hooks = Object.assign({}, built.options.hooks, {
      setSeries: [(u, index, options) => {
        if (index == null || options.show == null) return;
        if (options.show) hidden.delete(built.shown[index - 1]);
        else hidden.add(built.shown[index - 1]);
      }],
    });
    plot = new uPlot(built.options, built.data, holder);
    for (const name of plot.root.querySelectorAll('.u-legend .u-series:not(:first-child) th')) {
      name.tabIndex = 0;
      name.setAttribute('role', 'button');
      name.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        name.click();
      });
    }
  };
  holder.addEventListener('keydown', (event) => {
    if (event.target !== holder || !plot) return;
    const last = plot.data[0].length - 1;
    const now = plot.cursor.idx == null ? -1 : plot.cursor.idx;
    const stride = event.shiftKey ? 16 : 1;
    const target = {ArrowRight: now + stride, ArrowLeft: now - stride, Home: 0, End: last}[event.key];
    if (target === undefined) return;
    event.preventDefault();
    let index = Math.min(last, Math.max(0, target));
    /* Outlines have pairs of points at one place (see steps): go on to the next place. */
    const same = (at) => Math.abs(plot.data[0][at] - plot.data[0][Math.max(now, 0)]) < (plot.data[0][last] - plot.data[0][0]) * 1e-6;
    while (now >= 0 && index > now && index < last && same(index)) index++;
    while (index < now && index > 0 && same(index)) index--;
    const ys = plot.data.slice(1).map((column) => column[index]).find((value) => value != null);
    plot.setCursor({left: plot.valToPos(plot.data[0][index], 'x') + nudge, top: ys == null ? 0 : plot.valToPos(ys, 'y')});
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

const axis = (more) => Object.assign({
  stroke: style('--quiet'),
  grid: {stroke: style('--grid'), width: 1},
  ticks: {stroke: style('--rule'), width: 1, size: 6},
  border: {show: true, stroke: style('--rule'), width: 1},
  font: '12px system-ui, "DejaVu Sans", sans-serif',
  labelFont: '12px system-ui, "DejaVu Sans", sans-serif',
  labelSize: 20,
  labelGap: 2,
  size: 34,
}, more);

/* Powers of two that leave each label some room. */
const powersOfTwo = (room) => (u, index, least, most) => {
  const low = Math.ceil(Math.log2(Math.max(least, 1))), high = Math.floor(Math.log2(Math.max(most, 1)));
  const width = u.bbox.width / devicePixelRatio;
  const step = Math.max(1, Math.ceil(((high - low + 1) * room) / width));
  const splits = [];
  for (let i = Math.ceil(low / step) * step; i <= high; i += step) splits.push(2 ** i);
  return splits;
};
const evenly = (room) => (u, index, least, most) => {
  const width = u.bbox.width / devicePixelRatio;
  const rough = (most - least) / Math.max(2, Math.floor(width / room));
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(rough)));
  const splits = [];
  for (let at = Math.ceil(least / step) * step; at <= most; at += step) splits.push(at);
  return splits;
};

const INCREMENTS = [];
for (let power = -9; power < 18; power++)
  for (const digit of [1, 2, 5])
    if (power > -9) INCREMENTS.push(Number(digit + 'e' + power));

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
    if (value == null) return '';
    if (!asShare) return compact(value);
    const hundredths = Number((value * 100).toPrecision(3));
    return (hundredths !== 0 && Math.abs(hundredths) < 1e-3 ? hundredths.toExponential(0) : String(hundredths)) + ' %';
  };
  let range;
  if (log) {
    const bottom = 10 ** Math.floor(Math.log10(least === Infinity ? (asShare ? 1e-6 : 1) : least));
    const top = 10 ** Math.ceil(Math.log10(most || 1));
    range = [Math.max(bottom, top * 1e-12), top > bottom ? top : bottom * 10];
  } else {
    range = [0, most ? most * 1.05 : 1];
  }
  return {
    floor: range[0],
    scale: {distr: log ? 3 : 1, log: 10, range},
    axis: axis({size: 68, incrs: log ? undefined : INCREMENTS, values: (u, splits) => splits.map((value) =>
      tick(log && value != null && Math.abs(Math.log10(value) - Math.round(Math.log10(value))) > 1e-9 ? null : value))}),
  };
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

const drawMarkers = (u) => {
  const context = u.ctx, ratio = devicePixelRatio;
  const {left, top, width, height} = u.bbox;
  context.save();
  context.font = 600 + ' ' + 11 * ratio + 'px system-ui, "DejaVu Sans", sans-serif';
  context.fillStyle = context.strokeStyle = style('--marker');
  context.lineWidth = ratio;
  context.textBaseline = 'top';
  context.textAlign = 'left';
  const taken = []; /* [from, to, row] of labels so far */
  for (const cache of markers) {
    if (cache.bytes < u.scales.x.min || cache.bytes > u.scales.x.max) continue;
    const x = Math.round(u.valToPos(cache.bytes, 'x', true)) + 0.5;
    const label = cacheText(cache);
    const wide = context.measureText(label).width;
    const onLeft = x + wide + 8 * ratio > left + width;
    const from = onLeft ? x - wide - 6 * ratio : x + 6 * ratio;
    let row = 0;
    while (taken.some(([a, b, r]) => r === row && from < b + 8 * ratio && from + wide > a - 8 * ratio)) row++;
    taken.push([from, from + wide, row]);
    context.setLineDash([4 * ratio, 4 * ratio]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.stroke();
    context.fillText(label, from, top + (5 + row * 16) * ratio);
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
  const x = [...sizes].sort((a, b) => a - b);
  const shown = shownCurves();
  const columns = shown.map(({profile}) => x.map((at) => {
    const blocks = Math.floor(at / unitOf(profile));
    const ratio = blocks < 1 ? null : missRatio(profile, blocks);
    return state.y === 'log' && ratio === 0 ? null : ratio;
  }));
  const tops = shown.map(({profile}) => x.map((at) => (bandAt(profile, Math.floor(at / unitOf(profile))) || [])[1]));
  const y = shareAxis(state.y === 'log', columns.concat(tops));
  if (state.y !== 'log') y.scale.range = [0, Math.min(1.04, y.scale.range[1])];
  return {
    nudge: 0,
    shown: shown.map((one) => one.profile),
    data: [x, ...columns],
    options: {
      scales: {
        x: {time: false, distr: logX ? 3 : 1, log: 2,
            range: (u, from, to) => (from == null ? [least, most] : [from, to])},
        y: y.scale,
      },
      axes: [
        axis({splits: (logX ? powersOfTwo : evenly)(76), values: (u, splits) => splits.map((at) => (keysOnly ? binary(at) : bytes(at))),
              label: keysOnly ? 'cache size, keys' : 'cache size, bytes', filter: (u, splits) => splits}),
        Object.assign(y.axis, {label: 'miss ratio'}),
      ],
      series: [
        {label: 'cache size', value: (u, at) => (at == null ? '–' : size(at))},
        ...shown.map(({name, index, profile}) => ({
          label: name, stroke: colour(index), width: 2, dash: dash(index), points: {show: false},
          fill: shown.length === 1 && !profile.band ? colour(index) + '1f' : undefined,
          value: (u, ratio, series, at) => {
            if (ratio == null) return '–';
            const band = at == null ? '' : bandText(profile, Math.floor(x[at] / unitOf(profile)));
            return percent(ratio) + (band ? ' (' + band + ')' : '');
          },
        })),
      ],
      cursor: {points: {size: 7}},
      hooks: {drawAxes: [drawBands(shown)], draw: [drawMarkers]},
    },
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
  let x, columns, label, splits, values, range;
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
    splits = (u) => {
      const width = u.bbox.width / devicePixelRatio / places.length;
      const step = Math.max(1, Math.ceil(42 / width));
      return places.filter((place) => place.tick && (place.at > last || place.at % step === 0)).map((place) => place.at);
    };
    values = (u, at) => at.map((place) => places[place] ? places[place].tick : '');
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
    splits = evenly(70);
    values = (u, at) => at.map(binary);
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
    ({x, read, drawn} = steps(x, columns, logX ? 0.5 : 0, y.floor));
  }
  const paths = bars ? uPlot.paths.bars({size: [0.86, 90], radius: 0.08}) : uPlot.paths.stepped({align: 1});
  const format = (number) => (number == null ? '–' : state.unit === 'count' ? count(number) : percent(number));
  return {
    nudge: bars ? 0 : 0.5, /* into the step that begins here */
    shown: shownProfiles,
    data: [x, ...drawn],
    options: {
      scales: {
        x: {time: false, range: (u, from, to) => (from == null || (from === x[0] && to === x[x.length - 1]) ? range : [from, to])},
        y: y.scale,
      },
      axes: [
        axis({splits, values, label: xLabel, grid: {show: !logX, stroke: style('--grid'), width: 1}}),
        Object.assign(y.axis, {label: state.unit === 'count' ? 'references' : extras ? 'share of references' : 'share of reuses'}),
      ],
      series: [
        {label: 'distance', value: (u, at) => (at == null ? '–' : label(at) || '–')},
        ...chosen.map(({name, index}, p) => ({
          label: name, stroke: colour(index), width: bars ? 0 : 1.5, dash: dash(index), paths, points: {show: false},
          fill: colour(index) + (single ? 'd0' : '26'), value: (u, number, series, at) => format(at == null ? null : read[p][at]),
        })),
      ],
      cursor: {
        points: {show: false},
        /* A step holds from its point on; a bar stands around it. */
        dataIdx: bars ? undefined : (u, series, closest, at) => (closest > 0 && x[closest] > at ? closest - 1 : closest),
      },
    },
  };
};
