/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.js - one chart on a canvas: two axes, linear or logarithmic; lines, steps or bars; a legend that reads values
 * out under a cursor; zooming. It knows nothing of profiles, and does not keep itself drawn (charts.js does).
 *
 * makePlot(holder, chart) draws into `holder` and returns the plot. A chart has
 *   width, height   in CSS pixels, without the legend
 *   x, y            axes: {log, from, to, label, ticks(axis, pixels), text(tick, all), grid}; `ticks` gives the values
 *                   to mark between axis.from and axis.to, where zooming has them at the moment
 *   places          ascending values on x; each series has one value, or null for a gap, for each of them
 *   series          [{label, values, read(index), colour, width, dash, fill, shape: 'line', 'steps' or 'bars', shown}]
 *   lead            {label, read(index)}: the first entry of the legend, which says where the cursor is
 *   holds           a place stands for what is behind it up to the next one (steps); else for what is nearest to it
 *   points          marks on the curves under the cursor
 *   under, over     functions of the plot that draw below and above the series
 *   toggled         called with a series' index after it was hidden or shown
 *
 * Mouse: dragging zooms x, a double click shows all. Touch: one finger reads values, up and down still scrolls the
 * page; two fingers zoom, a double tap shows all.
 */
const PLOT_MARGIN = {right: 18, top: 10, bottom: 52};
const TICK_LENGTH = 6;

/* ---- axes: values to pixels and back ---- */

const onScale = (axis, value) => (axis.log ? Math.log2(Math.max(value, Number.MIN_VALUE)) : value);
const offScale = (axis, at) => (axis.log ? 2 ** at : at);
const axisShare = (axis, value) => {
  const from = onScale(axis, axis.from), to = onScale(axis, axis.to);
  return (onScale(axis, value) - from) / (to - from);
};
const valueAt = (axis, share) => {
  const from = onScale(axis, axis.from), to = onScale(axis, axis.to);
  return offScale(axis, from + share * (to - from));
};

/* Ticks of 1, 2 or 5 times a power of ten, for values that are not counted in powers of two. */
const decimalTicks = (axis, pixels) => {
  const ticks = [];
  if (axis.log) {
    const low = Math.floor(Math.log10(axis.from) + 1e-9), high = Math.ceil(Math.log10(axis.to) - 1e-9);
    const stride = Math.max(1, Math.ceil((high - low) / Math.max(1, Math.floor(pixels / 30))));
    for (let power = low; power <= high; power += stride)
      for (let digit = 1; digit < (stride === 1 ? 10 : 2); digit++) ticks.push(Number(digit + 'e' + power));
    return ticks.filter((value) => value >= axis.from * (1 - 1e-9) && value <= axis.to * (1 + 1e-9));
  }
  const rough = (axis.to - axis.from) / Math.max(1, Math.floor(pixels / 30));
  const power = Math.max(-9, Math.floor(Math.log10(rough)));
  const digit = [1, 2, 5, 10].find((one) => one * 10 ** power >= rough * (1 - 1e-9)) || 10;
  const step = Number(digit + 'e' + power);
  for (let i = Math.ceil(axis.from / step - 1e-9); i * step <= axis.to * (1 + 1e-9); i++)
    ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
};

/* ---- what is drawn ---- */

const plotFont = (weight) => weight + ' 12px system-ui, "DejaVu Sans", sans-serif';
const crisp = (at) => Math.round(at) + 0.5;

const strokeLine = (context, x0, y0, x1, y1) => {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
};

const drawAxis = (plot, axis, across) => {
  const {context, area} = plot, {left, top, width, height} = area;
  const ticks = axis.ticks(axis, across ? width : height);
  const edge = across ? top + height : left;
  context.font = plotFont(400);
  context.lineWidth = 1;
  context.fillStyle = style('--quiet');
  context.textAlign = across ? 'center' : 'right';
  context.textBaseline = across ? 'top' : 'middle';
  for (const tick of ticks) {
    const at = crisp(across ? plot.placeX(tick) : plot.placeY(tick));
    const text = axis.text(tick, ticks);
    if (axis.grid !== false) {
      context.strokeStyle = style('--grid');
      if (across) strokeLine(context, at, top, at, edge);
      else strokeLine(context, edge, at, left + width, at);
    }
    if (!text) continue;
    context.strokeStyle = style('--rule');
    if (across) {
      strokeLine(context, at, edge, at, edge + TICK_LENGTH);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(at, plot.width - half - 1), edge + TICK_LENGTH + 4);
    } else {
      strokeLine(context, edge - TICK_LENGTH, at, edge, at);
      context.fillText(text, edge - TICK_LENGTH - 4, at);
    }
  }
  context.strokeStyle = style('--rule');
  if (across) strokeLine(context, left, crisp(edge), left + width, crisp(edge));
  else strokeLine(context, crisp(edge), top, crisp(edge), top + height);
  context.save();
  context.textAlign = 'center';
  if (across) {
    context.textBaseline = 'bottom';
    context.fillText(axis.label, left + width / 2, plot.height - 2);
  } else {
    context.translate(2, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = 'top';
    context.fillText(axis.label, 0, 0);
  }
  context.restore();
};

/* Runs of values without a gap, as points on the canvas. */
const pointRuns = (plot, one) => {
  const runs = [];
  let run = null;
  one.values.forEach((value, index) => {
    if (value == null) {
      run = null;
      return;
    }
    if (!run) runs.push((run = []));
    const x = plot.placeX(plot.chart.places[index]), y = plot.placeY(value);
    if (one.shape === 'steps' && run.length) run.push([x, run[run.length - 1][1]]);
    run.push([x, y]);
  });
  return runs;
};

const drawCurves = (plot, one) => {
  const {context} = plot, floor = plot.placeY(plot.chart.y.from);
  for (const run of pointRuns(plot, one)) {
    const line = () => {
      context.beginPath();
      for (const [x, y] of run) context.lineTo(x, y);
    };
    if (one.fill) {
      line();
      context.lineTo(run[run.length - 1][0], floor);
      context.lineTo(run[0][0], floor);
      context.closePath();
      context.fillStyle = one.fill;
      context.fill();
    }
    line();
    context.strokeStyle = one.colour;
    context.lineWidth = one.width;
    context.lineJoin = 'round';
    context.setLineDash(one.dash || []);
    context.stroke();
    context.setLineDash([]);
  }
};

const drawBars = (plot, one) => {
  const {context, chart} = plot, {places} = chart;
  const spacing = places.length > 1 ? plot.placeX(places[1]) - plot.placeX(places[0]) : plot.area.width;
  const wide = Math.min(90, spacing * 0.86), floor = plot.placeY(chart.y.from);
  context.fillStyle = one.fill;
  one.values.forEach((value, index) => {
    if (value == null) return;
    const top = plot.placeY(value), left = plot.placeX(places[index]) - wide / 2, radius = Math.min(wide * 0.08, floor - top);
    context.beginPath();
    if (context.roundRect && radius > 0) context.roundRect(left, top, wide, floor - top, [radius, radius, 0, 0]);
    else context.rect(left, top, wide, floor - top);
    context.fill();
  });
};

const drawPlot = (plot) => {
  const {context, chart, area} = plot;
  context.clearRect(0, 0, plot.width, plot.height);
  drawAxis(plot, chart.y, false);
  drawAxis(plot, chart.x, true);
  context.save();
  context.beginPath();
  context.rect(area.left, area.top - 2, area.width, area.height + 3);
  context.clip();
  if (chart.under) chart.under(plot);
  for (const one of chart.series) if (one.shown) (one.shape === 'bars' ? drawBars : drawCurves)(plot, one);
  context.restore();
  if (chart.over) chart.over(plot);
};

/* ---- the legend and the cursor ---- */

const legendEntry = (label, value, more) => element('span', {class: 'plot-entry'}, ...more, label, value);

const addLegend = (plot) => {
  const {chart} = plot;
  const legend = element('div', {class: 'plot-legend'});
  const texts = [];
  const add = (label, read, more) => {
    const value = element('span', {class: 'plot-value'});
    texts.push({value, read});
    const entry = legendEntry(label, value, more);
    legend.append(entry);
    return entry;
  };
  add(element('span', {class: 'plot-label'}, chart.lead.label), chart.lead.read, []);
  chart.series.forEach((one, index) => {
    const chipOf = element('span', {class: 'plot-chip'});
    chipOf.style.background = one.colour;
    const name = element('button', {type: 'button', class: 'plot-label', 'aria-pressed': one.shown}, one.label);
    name.prepend(chipOf);
    const entry = add(name, one.read, []);
    entry.classList.toggle('off', !one.shown);
    name.addEventListener('click', () => {
      one.shown = !one.shown;
      name.setAttribute('aria-pressed', one.shown);
      entry.classList.toggle('off', !one.shown);
      chart.toggled(index);
      drawPlot(plot);
      plot.showCursor(plot.index);
    });
  });
  plot.root.append(legend);
  return (index) => texts.forEach(({value, read}) => {
    value.textContent = index == null ? '–' : read(index);
  });
};

/* The place that a value on x belongs to. */
const nearestPlace = ({places, holds, x}, value) => {
  let low = 0, high = places.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (places[middle] <= value) low = middle;
    else high = middle - 1;
  }
  if (holds || low + 1 >= places.length) return low;
  const at = onScale(x, value);
  return onScale(x, places[low + 1]) - at < at - onScale(x, places[low]) ? low + 1 : low;
};

const addCursor = (plot, readOut) => {
  const {chart, area} = plot;
  const line = element('div', {class: 'plot-cursor', hidden: ''});
  const marks = chart.points ? chart.series.map((one) => {
    const mark = element('div', {class: 'plot-point', hidden: ''});
    mark.style.background = one.colour;
    return mark;
  }) : [];
  plot.over.append(line, ...marks);
  plot.showCursor = (index, pixel) => {
    plot.index = index;
    const known = index != null && chart.places.length > 0;
    const x = known ? plot.placeX(chart.places[index]) - area.left : 0;
    line.hidden = !known;
    line.style.left = (pixel == null ? x : pixel) + 'px';
    marks.forEach((mark, i) => {
      const value = known && chart.series[i].shown ? chart.series[i].values[index] : null;
      mark.hidden = value == null || x < 0 || x > area.width;
      if (!mark.hidden) mark.style.translate = x + 'px ' + (plot.placeY(value) - area.top) + 'px';
    });
    readOut(known ? index : null);
  };
  plot.showCursor(null);
};

/* ---- zooming ---- */

const zoomTo = (plot, from, to) => {
  const {x} = plot.chart, {from: least, to: most} = plot.whole;
  x.from = Math.max(least, from);
  x.to = Math.min(most, to);
  if (!(x.to > x.from)) Object.assign(x, plot.whole);
  drawPlot(plot);
  plot.showCursor(null);
};

const listenToPointers = (plot) => {
  const {over, area, chart} = plot;
  const band = element('div', {class: 'plot-band', hidden: ''});
  over.append(band);
  const fingers = new Map(); /* pointers that are down: [pixel now, value below it at first] */
  let begun = null;
  const pixelOf = (event) => Math.max(0, Math.min(area.width, event.clientX - over.getBoundingClientRect().left));
  const read = (pixel) => {
    if (chart.places.length) plot.showCursor(nearestPlace(chart, valueAt(chart.x, pixel / area.width)), pixel);
  };
  const pinch = () => { /* what was below each of two fingers stays there */
    const [[p, a], [q, b]] = [...fingers.values()].sort((one, other) => one[0] - other[0]);
    const {x} = chart, scaleA = onScale(x, a), scaleB = onScale(x, b);
    if (q - p < 10 || scaleA === scaleB) return;
    const perPixel = (scaleB - scaleA) / (q - p), from = scaleA - p * perPixel;
    zoomTo(plot, offScale(x, from), offScale(x, from + area.width * perPixel));
  };
  over.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const pixel = pixelOf(event);
    if (event.pointerType === 'touch') {
      fingers.set(event.pointerId, [pixel, 0]);
      for (const finger of fingers.values()) finger[1] = valueAt(chart.x, finger[0] / area.width);
      read(pixel);
    } else {
      begun = pixel;
      over.setPointerCapture(event.pointerId);
    }
  });
  over.addEventListener('pointermove', (event) => {
    const pixel = pixelOf(event);
    if (fingers.has(event.pointerId)) fingers.get(event.pointerId)[0] = pixel;
    if (fingers.size === 2) {
      pinch();
      return;
    }
    read(pixel);
    if (begun == null) return;
    band.hidden = Math.abs(pixel - begun) < 4;
    band.style.left = Math.min(begun, pixel) + 'px';
    band.style.width = Math.abs(pixel - begun) + 'px';
  });
  const end = (event) => {
    fingers.delete(event.pointerId);
    if (begun == null) return;
    const from = Math.min(begun, pixelOf(event)), to = Math.max(begun, pixelOf(event));
    const drawn = !band.hidden && event.type === 'pointerup';
    begun = null;
    band.hidden = true;
    if (drawn) zoomTo(plot, valueAt(chart.x, from / area.width), valueAt(chart.x, to / area.width));
  };
  over.addEventListener('pointerup', end);
  over.addEventListener('pointercancel', end);
  over.addEventListener('pointerleave', (event) => {
    if (event.pointerType !== 'touch' && begun == null) plot.showCursor(null);
  });
  over.addEventListener('dblclick', () => zoomTo(plot, plot.whole.from, plot.whole.to));
};

/* ---- all of it ---- */

const makePlot = (holder, chart) => {
  const {width, height} = chart, ratio = devicePixelRatio || 1;
  const canvas = element('canvas', {width: Math.round(width * ratio), height: Math.round(height * ratio)});
  const over = element('div', {class: 'plot-area'});
  const root = element('div', {class: 'plot'}, element('div', {class: 'plot-picture'}, canvas, over));
  const {right, top, bottom} = PLOT_MARGIN, left = width < 600 ? 74 : 88;
  const area = {left, top, width: width - left - right, height: height - top - bottom};
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  for (const side of ['left', 'top', 'width', 'height']) over.style[side] = area[side] + 'px';
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const plot = {chart, root, over, context, area, width, height, whole: {from: chart.x.from, to: chart.x.to}};
  plot.placeX = (value) => area.left + axisShare(chart.x, value) * area.width;
  plot.placeY = (value) => area.top + (1 - axisShare(chart.y, Math.max(value, chart.y.log ? chart.y.from : -Infinity))) * area.height;
  addCursor(plot, addLegend(plot));
  listenToPointers(plot);
  drawPlot(plot);
  holder.append(root);
  return plot;
};
