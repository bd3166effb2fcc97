/* SPDX-License-Identifier: Apache-2.0 */
/*
 * director.js - what scripts of this directory find when they run in the director, a page of Chromium (browser.py):
 * `require` of each other and of small stand-ins for node's fs, path and crypto; console.log; process.
 */
'use strict';
const files = new Map();
const addFile = (path, text) => files.set(path, text);
const tellHost = (order) => toHost(JSON.stringify(order));

/* ---- the DevTools protocol ---- */

const waiting = new Map();
const listeners = new Map(); /* session: function(method, parameters) */
let requests = 0;
const callBrowser = (method, params, session) => new Promise((resolve, reject) => {
  const id = ++requests;
  waiting.set(id, {resolve, reject, method});
  tellHost({do: 'call', id, method, params, session});
});
const fromBrowser = (message) => {
  if (message.id === undefined) {
    const listener = listeners.get(message.sessionId);
    if (listener) listener(message.method, message.params);
    return;
  }
  const {resolve, reject, method} = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.error) reject(new Error(method + ': ' + message.error.message));
  else resolve(message.result);
};

/* ---- stand-ins ---- */

const readFile = (path) => {
  const text = files.get(path);
  if (text === undefined) throw new Error('there is no file ' + path);
  return text;
};
const fs = {
  readFileSync: (path, encoding) => (encoding ? readFile(path) : new TextEncoder().encode(readFile(path))),
  statSync: (path) => ({size: new TextEncoder().encode(readFile(path)).length}),
  writeFileSync: (path, text) => {
    addFile(path, text);
    tellHost({do: 'write', path, data: text});
  },
};
const path = {
  join: (...parts) => parts.join('/').replace(/\/+/g, '/').replace(/\/\.\//g, '/'),
  resolve: (one) => one,
  dirname: (one) => one.replace(/\/[^/]*$/, ''),
  basename: (one) => one.replace(/.*\//, ''),
};

/* FIPS 180-4; the browser's own waits, and the scripts do not. */
const sha256 = (bytes) => {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) >>> 0;
  const constants = primes.map((prime) => fraction(Math.cbrt(prime)));
  const state = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64), view = new DataView(padded.buffer);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length * 8);
  const turn = (word, by) => (word >>> by) | (word << (32 - by));
  const words = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) {
        words[i] = view.getInt32(at + 4 * i);
        continue;
      }
      const a = words[i - 15], b = words[i - 2];
      words[i] = words[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + words[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + words[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => {
      state[i] = (state[i] + word) >>> 0;
    });
  }
  return state.map((word) => word.toString(16).padStart(8, '0')).join('');
};
const digests = {createHash: () => {
  let bytes;
  const hash = {update: (data) => {
    bytes = data;
    return hash;
  }, digest: () => sha256(bytes)};
  return hash;
}};
const Buffer = {from: (text) => new TextEncoder().encode(text)};

/* ---- scripts ---- */

const process = {argv: [], exit: (code) => tellHost({do: 'exit', code})};
const say = {log: (...parts) => tellHost({do: 'say', text: parts.join(' ')})};
const known = {fs, path, crypto: digests, browser: {callBrowser, listeners, tellHost}};
const loaded = new Map();
const load = (full) => {
  if (loaded.has(full)) return loaded.get(full).exports;
  const module = {exports: {}};
  loaded.set(full, module);
  const require = (name) => known[name] || load(path.join(path.dirname(full), name));
  new Function('module', 'exports', 'require', 'process', 'console', 'Buffer', readFile(full) + '\n//# sourceURL=' + full)(
    module, module.exports, require, process, say, Buffer);
  return module.exports;
};
const start = (script, argv) => {
  process.argv = ['browser', script, ...argv];
  Promise.resolve().then(() => load(script)).then((made) => made && made.done).then(
    (code) => process.exit(code || 0),
    (error) => {
      say.log('not ok browser\n  ' + (error.stack || error));
      process.exit(1);
    });
};
