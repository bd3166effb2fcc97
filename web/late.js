/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.js - which code re-uses data too late: the model behind the tables and the source view. and what a reader has
 * chosen; pairs.js, source.js and objects.js show it.
 *
 * Distances are known by range (between two edges). A histogram is kept as misses: `at[i]` is how many
 * references miss in a cache of edges[i] blocks, cold ones included, so that any size is one look-up.
 */
/* ---- files and lines ---- */

const files = [];
for (const file of data.files || []) files[file.number] = file;

/* The shortest ends of paths that tell files apart. */
const nameFiles = () => {
  const taken = new Map();
  for (const file of files) {
    file.parts = file.path.split('/').filter(Boolean);
    file.depth = 1;
  }
  const nameOf = (file) => file.parts.slice(-file.depth).join('/') || file.path;
  for (let again = true; again;) {
    again = false;
    taken.clear();
    for (const file of files) taken.set(nameOf(file), (taken.get(nameOf(file)) || []).concat(file));
    for (const alike of taken.values())
      if (alike.length > 1)
        for (const file of alike)
          if (file.depth < file.parts.length) {
            file.depth++;
            again = true;
          }
  }
  for (const file of files) file.name = nameOf(file);
};
nameFiles();

/* The text of a line, or null. */
const codeAt = (number, line) => {
  const file = files[number];
  if (!file || !file.text) return null;
  for (const [first, lines] of file.text)
    if (line >= first && line < first + lines.length) return lines[line - first];
  return null;
};
const lastPart = (path) => (path || '').split('/').pop() || path || '';

/* ---- histograms ---- */

class Misses {
  constructor(edges) {
    this.cold = this.beyond = 0;
    this.ranges = new Float64Array(edges.length);
    this.sums = null;
  }
  /* Adds [cold, beyond, range, count, range, count, …], which begins at `from`. */
  add(flat, from) {
    this.cold += flat[from];
    this.beyond += flat[from + 1];
    for (let i = from + 2; i < flat.length; i += 2) this.ranges[flat[i]] += flat[i + 1];
    this.sums = null;
  }
  get at() {
    if (!this.sums) {
      this.sums = new Float64Array(this.ranges.length);
      let above = this.cold + this.beyond;
      for (let i = this.ranges.length - 1; i >= 0; i--) this.sums[i] = above += this.ranges[i];
    }
    return this.sums;
  }
  get count() {
    return this.at[0];
  }
  /* Of distances in a range. */
  inRange(range) {
    return this.ranges[range];
  }
  /* At a size: see sizeOf. As fm_pair_misses computes them. */
  missesAt(size) {
    return this.at[size.range] - (size.inside ? this.ranges[size.range] * size.inside : 0);
  }
}
const countOf = (flat) => flat.reduce((sum, value, i) => (i < 2 || i % 2 ? sum + value : sum), 0);

/* A cache size as the range that it falls into, and how far into it (0: at its edge, where misses are exact). */
const sizeOf = (edges, blocks) => {
  let range = 0;
  while (range + 1 < edges.length && edges[range + 1] <= blocks) range++;
  const wide = (range + 1 < edges.length ? edges[range + 1] : 2 ** 64) - edges[range];
  return {blocks, range, inside: (blocks - edges[range]) / wide, exact: blocks === edges[range]};
};

/* ---- the model of one attribution ---- */

/* A line of the source, or an instruction of which no line is known. */
class Line {
  constructor(model, key, file, number) {
    Object.assign(this, {model, key, file, number, line: this, functions: new Map(), callers: new Map(), asReuse: new Misses(model.edges),
      asUse: new Misses(model.edges), pairs: [], objects: new Map(), sure: new Sure()});
  }
  /*
   * The same line as part of pairs: code that was inlined into two functions is two spots. Has its own functions,
   * callers and objects; everything else is the line's.
   */
  spot(key) {
    return Object.assign(Object.create(this), {key, functions: new Map(), callers: new Map(), objects: new Map()});
  }
  get title() {
    if (this.file >= 0) return files[this.file].name + ':' + this.number;
    return this.bare;
  }
  /* Names with how many references they have; the first has most. */
  get functionText() {
    const all = [...this.functions.keys()];
    return all.length > 2 ? all[0] + ' and ' + (all.length - 1) + ' other functions' : all.join(', ');
  }
  get callerText() {
    const [first] = this.callers.keys();
    if (!first) return '';
    return 'inlined into ' + first + (this.callers.size > 1 ? ' and ' + (this.callers.size - 1) + ' more' : '');
  }
  /* Lines that only call have no counts. */
  get counted() {
    return this.asReuse.count > 0 || this.asUse.count > 0;
  }
  get code() {
    return this.file >= 0 ? codeAt(this.file, this.number) : null;
  }
}

const addTo = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
const byValue = (map) => (map.size > 1 ? new Map([...map].sort((a, b) => b[1] - a[1])) : map);

/* What an instruction without a line is called. */
const bareText = (of, place) => {
  if (place.module < 0 && place.name >= 0 && of.names[place.name] === 'unknown' && !place.offset) return 'unknown code';
  const where = place.module >= 0 ? ' in ' + lastPart(of.modules[place.module].path) : ', made at run time';
  if (place.name < 0) return '0x' + place.address + where;
  /* A function without a name is called by its module: gawk+0x6dd58. */
  const named = place.module >= 0 && of.names[place.name].startsWith(lastPart(of.modules[place.module].path) + '+0x');
  const offset = place.offset == null ? ' 0x' + place.address : '+0x' + place.offset.toString(16);
  return of.names[place.name] + offset + (named ? '' : where);
};

/* Short names of functions to the whole ones, for those that have parameters and template arguments. */
const fullNames = new Map();

/*
 * Which frame of a place stands for it. Inlined code counts at its 'own' line, or at the line of its 'caller', the
 * function that it was inlined into; or, 'user', at the innermost line outside of system headers (where there is one).
 */
const frameFor = (of, number, inlined) => {
  const place = of.places[number], at = inlined === 'caller' ? place.length - 3 : inlined === 'user' ? 3 * of.own[number] : 0;
  return place[at + 1] >= 0 && place[at + 2] ? at : 0;
};
const canBeMoved = (of, inlined) => of.places.some((place, number) => Array.isArray(place) && place.length > 3 && frameFor(of, number, inlined) > 0);

const makeModel = (profile, inlined) => {
  const of = profile.attribution;
  for (const [number, name] of of.fullNames) fullNames.set(of.names[number], new Set(fullNames.get(of.names[number])).add(name));
  const model = {profile, of, inlined, edges: of.edges, lines: new Map(), pairs: [], all: new Misses(of.edges), rest: new Misses(of.edges)};
  model.all.add(of.all, 0);
  model.rest.add(of.left.rest, 0);

  /* A place's line and spot, with its counts added to the line. */
  const spots = new Map();
  const spotOfPlace = (place, number) => {
    let at = 0, key = 'i' + number;
    if (Array.isArray(place)) {
      at = frameFor(of, number, inlined);
      key = place[at + 1] + ':' + place[at + 2];
    }
    let line = model.lines.get(key);
    if (!line) {
      line = Array.isArray(place) ? new Line(model, key, place[at + 1], place[at + 2]) : new Line(model, key, -1, 0);
      if (line.file < 0) line.bare = bareText(of, place);
      model.lines.set(key, line);
    }
    line.asReuse.add(of.reuse[number], 0);
    line.asUse.add(of.use[number], 0);
    const references = countOf(of.reuse[number]);
    if (!Array.isArray(place)) return line;
    if (at + 3 < place.length) key += '@' + place.slice(at).join(); /* inlined */
    let spot = spots.get(key);
    if (!spot) spots.set(key, spot = line.spot(key));
    for (const one of [line, spot]) {
      if (place[at] >= 0) addTo(one.functions, of.names[place[at]], references);
      if (at + 3 < place.length) {
        const outer = place.length - 3;
        const caller = [place[outer] >= 0 ? of.names[place[outer]] : '',
          place[outer + 1] >= 0 ? files[place[outer + 1]].name + ':' + place[outer + 2] : ''];
        addTo(one.callers, caller.filter(Boolean).join(' '), references);
      }
    }
    return spot;
  };
  const spotOf = of.places.map(spotOfPlace);
  for (const line of [...model.lines.values(), ...spots.values()]) {
    line.functions = byValue(line.functions);
    line.callers = byValue(line.callers);
  }
  model.spotOfPlace = spotOf;
  model.spotOfSite = of.sites.map((site) => spotOf[site[0]]);

  const byKeys = new Map(), errors = new Map((of.pairErrors || []).map((row) => [row[0], row]));
  const lateSize = sizeOf(of.edges, of.lateFrom);
  of.pairs.forEach((pair, number) => {
    const use = pair[0] < 0 ? null : model.spotOfSite[pair[0]], reuse = model.spotOfSite[pair[1]];
    const key = (use ? use.key : '') + '>' + reuse.key;
    let joined = byKeys.get(key);
    if (!joined) {
      joined = {key, use, reuse, misses: new Misses(of.edges), members: [], sure: new Sure()};
      byKeys.set(key, joined);
      model.pairs.push(joined);
      reuse.line.pairs.push(joined);
      if (use && use.line !== reuse.line) use.line.pairs.push(joined);
    }
    joined.misses.add(pair, 2);
    joined.members.push(number);
    if (errors.size) {
      const one = new Misses(of.edges);
      one.add(pair, 2);
      joined.sure.add(one.missesAt(lateSize), errors.get(number));
      reuse.line.sure.add(one.missesAt(lateSize), errors.get(number));
    }
  });

  model.objects = of.objects.map((object, number) => {
    const misses = new Misses(of.edges);
    misses.add(object.all, 0);
    return {number, object, misses, late: misses.missesAt(lateSize), lines: new Map(), text: objectText(model, object)};
  });
  /* Two allocations in one line: told apart by column, or by address. */
  const alike = new Map();
  for (const object of model.objects) alike.set(object.text, (alike.get(object.text) || []).concat(object));
  for (const same of alike.values())
    if (same.length > 1)
      same.forEach((one, i) => {
        const site = one.object.path >= 0 ? of.sites[of.paths[one.object.path][1]] : null;
        one.text += !site ? ' #' + (i + 1) : site[4] ? ', column ' + site[4] : ', call at 0x' + site[2];
      });
  model.otherObjects = new Misses(of.edges);
  model.otherObjects.add(of.otherObjects, 0);
  for (const use of of.uses) {
    const object = model.objects[use[0]], spot = model.spotOfSite[use[1]];
    const maps = [[object.lines, spot], [spot.objects, object]];
    if (spot.line !== spot) maps.push([spot.line.objects, object]);
    for (const [map, key] of maps) {
      let misses = map.get(key);
      if (!misses) map.set(key, misses = new Misses(of.edges));
      misses.add(use, 2);
    }
  }
  return model;
};

/* A call path, innermost call first, as sites. */
const pathSites = (of, path) => {
  const sites = [];
  for (let at = path; at >= 0 && sites.length < 1000; at = of.paths[at][0]) sites.push(of.paths[at][1]);
  return sites;
};

/* Frames of a site, innermost first: [{name, file, line}], or one without a line. */
const framesOf = (of, site) => {
  const place = of.places[of.sites[site][0]];
  if (!Array.isArray(place)) return [{text: bareText(of, place), file: -1, line: 0}];
  const frames = [];
  for (let i = 0; i < place.length; i += 3) {
    const name = place[i] < 0 ? '' : of.names[place[i]];
    frames.push({name, file: place[i + 1], line: place[i + 2],
      text: place[i + 1] >= 0 && place[i + 2] ? files[place[i + 1]].name + ':' + place[i + 2] : ''});
  }
  return frames;
};

const objectText = (model, object) => {
  const of = model.of;
  const inModule = object.module >= 0 ? lastPart(of.modules[object.module].path) : '';
  if (object.kind === 'global') return object.name || 'data at 0x' + object.address + (inModule ? ' in ' + inModule : '');
  if (object.kind === 'stack') return object.thread ? 'stack of thread ' + object.thread : 'stacks of other threads';
  if (object.kind === 'thread-local')
    return object.name ? 'thread-local ' + object.name : 'thread-local storage of ' + (inModule || 'an unknown file');
  if (object.kind === 'array') return 'array ' + (object.name || '?');
  if (object.kind === 'module') return 'other data of ' + (inModule || 'an unknown file');
  if (object.kind === 'heap') {
    if (object.path < 0) return object.name || 'heap blocks';
    const frame = framesOf(of, of.paths[object.path][1])[0];
    return 'heap from ' + (frame.name ? frame.name + (frame.text ? ' (' + frame.text + ')' : '') : frame.text);
  }
  return object.name || 'mapped and unknown memory';
};

/*
 * ======== choice ========
 * What a reader chose to see of late re-use: which profile, at which cache size, with or without first
 * touches, and where inlined code is counted. The bar above the tables changes it; whoever shows it listens.
 */
/* Every profile, thread or process that has an attribution, and enough samples for it. */
const lateProfiles = everyProfile.filter((entry) => entry.profile.attribution && entry.profile.references && !tooFew(entry.profile));

const late = {which: 0, size: null, inlined: null, cold: 'with', model: null, models: new Map(), listeners: []};
const onLate = (listener) => late.listeners.push(listener);

/* ---- sizes ---- */

const blocksText = (blocks, unit) => (unit > 1 ? bytes(blocks * unit) : binary(blocks) + (blocks === 1 ? ' block' : ' blocks'));

/* Sizes to choose from: the caches, then every edge. */
const sizesOf = (model) => {
  const unit = model.profile.granularity, sizes = [];
  const add = (blocks, more) => {
    if (blocks > 0) sizes.push(Object.assign(sizeOf(model.edges, blocks), {index: sizes.length}, more));
  };
  const caches = unit > 1 ? data.caches.slice().sort((a, b) => a.bytes - b.bytes) : [];
  for (const cache of caches) add(Math.floor(cache.bytes / unit), {cache, text: cacheText(cache)});
  for (const blocks of model.edges) add(blocks, {text: blocksText(blocks, unit)});
  return sizes;
};

/* Misses of a histogram at the chosen size, with or without first touches. */
const lateMisses = (misses) => misses.missesAt(late.size) - (late.cold === 'with' ? 0 : misses.cold);

/* ---- choosing ---- */

const chooseModel = () => {
  const {profile} = lateProfiles[late.which];
  if (!late.inlined) late.inlined = canBeMoved(profile.attribution, 'user') ? 'user' : 'own';
  const key = late.which + late.inlined;
  if (!late.models.has(key)) late.models.set(key, makeModel(profile, late.inlined));
  late.model = late.models.get(key);
  late.sizes = sizesOf(late.model);
  const before = late.size;
  late.size = before && late.sizes.find((one) => one.text === before.text && one.blocks === before.blocks);
  if (!late.size) late.size = late.sizes.find((one) => one.blocks === profile.judged) || late.sizes[0]; /* the one of the verdict */
};

const changed = () => {
  late.total = lateMisses(late.model.all);
  for (const listener of late.listeners) listener();
};

/* ---- the bar ---- */

const addProfileChoice = (bar) => {
  const select = element('select', {id: 'late-profile'});
  lateProfiles.forEach((entry, index) => select.append(element('option', {value: index}, entry.name)));
  select.value = late.which;
  select.addEventListener('change', () => {
    late.which = Number(select.value);
    late.inlined = null;
    chooseModel();
    fillLateBar();
    changed();
  });
  bar.append(element('label', {class: 'field'}, element('span', {}, 'profile'), select));
};

const addSizeChoice = (bar) => {
  const caches = late.sizes.filter((one) => one.cache), others = late.sizes.filter((one) => !one.cache);
  const select = element('select', {id: 'late-size', 'aria-label': caches.length ? 'another cache size' : 'cache size'});
  const state = {size: String(late.size.index)};
  const show = () => {
    select.value = late.size.cache ? '' : String(late.size.index);
    for (const radio of bar.querySelectorAll('input[name=late-cache]')) radio.checked = radio.value === String(late.size.index);
  };
  const choose = (index) => {
    late.size = late.sizes[index];
    show();
    changed();
  };
  if (caches.length) {
    const choices = caches.map((one) => [String(one.index), one.text]);
    addSwitch(bar, 'late-cache', 'misses in', choices, state, 'size', () => choose(Number(state.size)));
    select.append(element('option', {value: ''}, 'another size …'));
  }
  for (const one of others) select.append(element('option', {value: one.index}, one.text));
  show();
  select.addEventListener('change', () => {
    if (select.value !== '') choose(Number(select.value));
  });
  bar.append(element('label', {class: 'field'}, caches.length ? '' : element('span', {}, 'misses in'), select));
};

const fillLateBar = () => {
  const bar = byId('late-bar');
  bar.replaceChildren();
  if (lateProfiles.length > 1) addProfileChoice(bar);
  addSizeChoice(bar);
  addSwitch(bar, 'late-cold', coldWords(late.model.profile), [['with', 'count'], ['without', 'leave out']], late, 'cold', changed);
  const places = [['own', 'its own line']];
  if (canBeMoved(late.model.of, 'user')) places.push(['user', 'outside system headers']);
  if (canBeMoved(late.model.of, 'caller')) places.push(['caller', 'its caller']);
  if (places.length > 1)
    addSwitch(bar, 'late-inlined', 'inlined code at', places, late, 'inlined', () => {
      chooseModel();
      changed();
    });
};
