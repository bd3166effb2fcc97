// SPDX-License-Identifier: Apache-2.0
// Builds profiles with an attribution (docs/PROFILE.md), by hand, for the browser tests.
'use strict';
const crypto = require('crypto');
const fs = require('fs');

// Caches of the machine that the tests pretend to be: 48 KiB, 1 MiB, 32 MiB in blocks of 64 bytes.
const CACHES = [768, 16384, 524288];
const EDGES = [...new Set([0, ...Array.from({length: 31}, (_, i) => 2 ** i), ...CACHES])].sort((a, b) => a - b);
const rangeOf = (distance) => EDGES.filter((edge) => edge <= distance).length - 1;

class Builder {
  constructor(lateFrom) {
    Object.assign(this, {
      lateFrom: lateFrom == null ? 768 : lateFrom,
      strings: [],
      modules: [],
      sites: [],
      paths: [],
      pairs: [],
      objects: [],
      uses: [],
      latencies: [],
      pairErrors: [],
      sources: new Map(),
    });
  }
  string(text) {
    if (text == null) return null;
    const at = this.strings.indexOf(text);
    return at >= 0 ? at : this.strings.push(text) - 1;
  }
  module(path, more) {
    return this.modules.push(Object.assign({path, bias: 0}, more)) - 1;
  }
  // frames: [function, file, line, column], innermost first.
  site(module, address, frames, more) {
    const {path = null, symbol = null, offset = 0} = more || {};
    return (
      this.sites.push([
        module,
        address,
        path,
        this.string(symbol),
        offset,
        (frames || []).flatMap(([name, file, line, column]) => [this.string(name), this.string(file), line, column || 0]),
      ]) - 1
    );
  }
  // What the profile knows of a source file; `more` is text, newer or another sha256. Without `content`: the file as it is.
  source(file, content, more) {
    const bytes = content == null ? fs.readFileSync(file) : Buffer.from(content);
    const sha256 = crypto.createHash('sha256').update(bytes).digest('hex');
    this.sources.set(file, Object.assign({path: file, sha256, size: bytes.length}, more));
  }
  path(parent, call) {
    return this.paths.push([parent, call]) - 1;
  }
  // distances: {distance: count}; a distance counts in the range that it falls into.
  static counts(distances, cold, beyond) {
    const ranges = new Map();
    for (const [distance, count] of Object.entries(distances)) {
      const range = rangeOf(Number(distance));
      ranges.set(range, (ranges.get(range) || 0) + count);
    }
    const flat = [...ranges].sort((a, b) => a[0] - b[0]).flat();
    const sum = [...ranges.values()].reduce((a, b) => a + b, 0);
    return [sum + cold + beyond, cold, beyond, flat];
  }
  pair(use, reuse, distances, cold) {
    this.pairs.push([use, reuse, ...Builder.counts(distances, cold || 0, 0)]);
  }
  object(object) {
    return this.objects.push(object) - 1;
  }
  use(object, site, distances, cold) {
    this.uses.push([object, site, ...Builder.counts(distances, cold || 0, 0)]);
  }
  // levels: {number: samples}, as docs/PROFILE.md numbers them.
  latency(site, timed, cycles, levels) {
    const all = Array.from({length: 9}, (_, level) => levels[level] || 0);
    this.latencies.push([site, all.reduce((a, b) => a + b, 0), timed, cycles, all]);
  }
  attribution() {
    return {
      late_from: this.lateFrom,
      edges: EDGES,
      strings: this.strings,
      modules: this.modules,
      sites: this.sites,
      paths: this.paths,
      pairs: this.pairs.slice().sort((a, b) => b[2] - a[2]),
      objects: this.objects,
      object_uses: this.uses,
      ...(this.latencies.length ? {latencies: this.latencies.slice().sort((a, b) => a[0] - b[0])} : {}),
      ...(this.pairErrors.length ? {pair_errors: this.pairErrors} : {}),
      ...(this.sources.size ? {sources: [...this.sources.values()]} : {}),
    };
  }
  // A whole profile, whose histogram has every distance at the lower edge of its range.
  profile(name, more) {
    const sums = new Array(EDGES.length).fill(0);
    let cold = 0;
    for (const [, , , first, , flat] of this.pairs) {
      cold += first;
      for (let i = 0; i < flat.length; i += 2) sums[flat[i]] += flat[i + 1];
    }
    const histogram = sums.map((sum, i) => [EDGES[i], EDGES[i], sum]).filter((bin) => bin[2]);
    return Object.assign(
      {
        schema: 'fathom-profile-1',
        name,
        engine: 'exact',
        exact: true,
        granularity: 64,
        references: cold + sums.reduce((a, b) => a + b, 0),
        distinct: cold + sums.reduce((a, b) => a + b, 0), // as of a phase: distances may be of any size
        cold,
        complete: true,
        lost: 0,
        histogram,
        bins: 'exact',
        attribution: this.attribution(),
      },
      more
    );
  }
}

module.exports = {Builder, CACHES, EDGES, rangeOf};
