/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.js - what a reader chose to see of late re-use: which profile, at which cache size, with or without first
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

/* The first cache at which re-uses are lost, one in a thousand references or more; `fathom run` shows the same. */
const defaultSize = (model, sizes) => {
  const caches = sizes.filter((one) => one.cache);
  const among = caches.length ? caches : sizes;
  const missing = among.filter((one) => model.all.missesAt(one) - model.all.cold >= model.profile.references / 1000);
  return missing.length ? missing[0] : among[0];
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
  if (!late.size) late.size = defaultSize(late.model, late.sizes);
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
