// SPDX-License-Identifier: Apache-2.0
// A page of Chromium as the cases handle it: locators that wait for what they name, a mouse, a keyboard, pictures. All
// by the DevTools protocol.
'use strict';
const {callBrowser, listeners, tellHost} = require('browser');

const LOOKS = 3000; // for what does not come: a minute, and longer on a machine that has other work
const KEYS = {Enter: ['Enter', 13, '\r'], ' ': ['Space', 32, ' '], Tab: ['Tab', 9], Escape: ['Escape', 27], Home: ['Home', 36],
  End: ['End', 35], ArrowLeft: ['ArrowLeft', 37], ArrowUp: ['ArrowUp', 38], ArrowRight: ['ArrowRight', 39],
  ArrowDown: ['ArrowDown', 40]};

// Runs in the page under test: the elements that the steps of a locator lead to.
const findAll = (steps) => {
  const text = (one) => one.textContent.replace(/\s+/g, ' ').toLowerCase();
  let found = [document];
  for (const {css, hasText, nth} of steps) {
    if (css !== undefined) found = [...new Set(found.flatMap((one) => [...one.querySelectorAll(css)]))];
    if (hasText !== undefined) found = found.filter((one) => text(one).includes(hasText.replace(/\s+/g, ' ').toLowerCase()));
    if (nth !== undefined) found = found.slice(nth, nth + 1);
  }
  return found;
};

class Locator {
  constructor(page, steps) {
    Object.assign(this, {page, steps});
  }
  locator(css, {hasText} = {}) {
    return new Locator(this.page, [...this.steps, {css}, ...(hasText === undefined ? [] : [{hasText}])]);
  }
  filter({hasText}) {
    return new Locator(this.page, [...this.steps, {hasText}]);
  }
  nth(index) {
    return new Locator(this.page, [...this.steps, {nth: index}]);
  }
  first() {
    return this.nth(0);
  }
  async all() {
    return Array.from({length: await this.count()}, (_, i) => this.nth(i));
  }
  evaluateAll(what, value) {
    return this.page.evaluate(`(${what})((${findAll})(${JSON.stringify(this.steps)}), ${JSON.stringify(value)})`);
  }
  count() {
    return this.evaluateAll((all) => all.length);
  }
  // The first element, as soon as there is one.
  async evaluate(what, value) {
    const has = `(${findAll})(${JSON.stringify(this.steps)}).length > 0`;
    await this.page.waitFor(has, 'an element ' + JSON.stringify(this.steps));
    return this.page.evaluate(`(${what})((${findAll})(${JSON.stringify(this.steps)})[0], ${JSON.stringify(value)})`);
  }
  textContent() {
    return this.evaluate((one) => one.textContent);
  }
  innerText() {
    return this.evaluate((one) => one.innerText);
  }
  getAttribute(name) {
    return this.evaluate((one, key) => one.getAttribute(key), name);
  }
  allTextContents() {
    return this.evaluateAll((all) => all.map((one) => one.textContent));
  }
  isVisible() {
    return this.evaluateAll((all) => all.length > 0 && all[0].checkVisibility({visibilityProperty: true}));
  }
  async isHidden() {
    return !(await this.isVisible());
  }
  focus() {
    return this.evaluate((one) => one.focus());
  }
  scrollIntoViewIfNeeded() {
    return this.evaluate((one) => one.scrollIntoViewIfNeeded());
  }
  boundingBox() {
    return this.evaluate((one) => {
      const {x, y, width, height} = one.getBoundingClientRect();
      return {x, y, width, height};
    });
  }
  // Where a mouse would go: the middle of its first box, on the screen, when nothing lies over it.
  async place() {
    const steps = JSON.stringify(this.steps);
    await this.page.waitFor(`(${findAll})(${steps}).some((one) => one.getClientRects().length)`, 'an element in sight ' + steps);
    return this.evaluate((one) => {
      const found = () => {
        const {left, top, width, height} = one.getClientRects()[0];
        const x = left + width / 2, y = top + height / 2, hit = document.elementFromPoint(x, y);
        return {x, y, hit, free: hit && (one.contains(hit) || hit.contains(one))};
      };
      one.scrollIntoViewIfNeeded();
      if (!found().free) one.scrollIntoView({block: 'center'}); // from below a bar that stays
      const {x, y, hit, free} = found();
      if (!free) throw new Error((hit ? hit.outerHTML.slice(0, 100) : 'nothing') + ' lies over ' + one.outerHTML.slice(0, 100));
      return {x, y};
    });
  }
  async hover({position} = {}) {
    if (position) await this.scrollIntoViewIfNeeded();
    const {x, y} = position ? await this.boundingBox() : await this.place();
    await this.page.mouse.move(x + (position ? position.x : 0), y + (position ? position.y : 0));
  }
  async click() {
    const {x, y} = await this.place();
    await this.page.mouse.click(x, y);
  }
  async check() {
    if (!(await this.evaluate((box) => box.checked))) await this.click();
    if (!(await this.evaluate((box) => box.checked))) throw new Error('a click did not check ' + JSON.stringify(this.steps));
  }
  async uncheck() {
    if (await this.evaluate((box) => box.checked)) await this.click();
  }
  fill(text) {
    return this.evaluate((field, value) => {
      field.focus();
      field.value = value;
      field.dispatchEvent(new Event('input', {bubbles: true}));
    }, text);
  }
  async press(key) {
    await this.focus();
    await this.page.keyboard.press(key);
  }
}

class Page {
  constructor(target, session) {
    Object.assign(this, {target, session, handlers: {}, closed: false});
    listeners.set(session, (method, params) => this.heard(method, params));
    this.keyboard = {press: (key) => this.press(key)};
    const mouse = (type, x, y, more) => this.call('Input.dispatchMouseEvent', Object.assign({type, x, y}, more));
    const left = {button: 'left', buttons: 1};
    this.mouse = {
      move: (x, y, {down} = {}) => mouse('mouseMoved', x, y, down ? left : {}),
      down: (x, y, clickCount = 1) => mouse('mousePressed', x, y, Object.assign({clickCount}, left)),
      up: (x, y, clickCount = 1) => mouse('mouseReleased', x, y, Object.assign({clickCount}, left)),
      click: async (x, y) => {
        await this.mouse.move(x, y);
        await this.mouse.down(x, y);
        await this.mouse.up(x, y);
      },
      doubleClick: async (x, y) => {
        await this.mouse.click(x, y);
        await this.mouse.down(x, y, 2);
        await this.mouse.up(x, y, 2);
      },
    };
  }
  call(method, params) {
    return callBrowser(method, params, this.session);
  }
  on(what, handler) {
    this.handlers[what] = handler;
  }
  heard(method, params) {
    const tell = (what, value) => this.handlers[what] && this.handlers[what](value);
    if (method === 'Page.loadEventFired' && this.loaded) this.loaded();
    if (method === 'Inspector.targetCrashed' || method === 'Inspector.detached') this.closed = true;
    if (method === 'Runtime.exceptionThrown') {
      const {text, exception} = params.exceptionDetails;
      tell('pageerror', text + ' ' + ((exception && exception.description) || ''));
    }
    if (method === 'Runtime.consoleAPICalled')
      tell('console', {type: params.type, text: params.args.map((one) => one.value || one.description).join(' ')});
    if (method === 'Log.entryAdded') tell('console', {type: params.entry.level, text: params.entry.text});
    if (method === 'Network.requestWillBeSent') tell('request', params.request.url);
    if (method === 'Page.javascriptDialogOpening') {
      tell('dialog', params.message);
      this.call('Page.handleJavaScriptDialog', {accept: false});
    }
  }
  isClosed() {
    return this.closed;
  }
  async evaluate(what, value) {
    const expression = typeof what === 'string' ? what : `(${what})(${JSON.stringify(value)})`;
    const {result, exceptionDetails} = await this.call('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(((exceptionDetails.exception || {}).description || exceptionDetails.text).split('\n')[0]);
    return result.value;
  }
  // Looks again and again, in the page, whose clock is not slowed down.
  async waitFor(condition, what) {
    const met = await this.evaluate(`new Promise((done) => {
      let looks = ${LOOKS};
      const look = () => ((${condition}) ? done(true) : looks-- ? setTimeout(look, 20) : done(false));
      look();
    })`);
    if (!met) throw new Error(`looked ${LOOKS} times for ${what}`);
  }
  waitForFunction(what) {
    return this.waitFor(`(${what})()`, 'a condition');
  }
  waitForSelector(css) {
    return this.waitFor(`document.querySelector(${JSON.stringify(css)})`, css);
  }
  async goto(url) {
    const loaded = new Promise((done) => {
      this.loaded = done;
    });
    const {errorText} = await this.call('Page.navigate', {url});
    if (errorText) throw new Error(url + ': ' + errorText);
    await loaded;
  }
  locator(css, more) {
    return new Locator(this, []).locator(css, more);
  }
  title() {
    return this.evaluate(() => document.title);
  }
  async press(key) {
    const [code, number, text] = KEYS[key];
    const event = {key, code, windowsVirtualKeyCode: number};
    await this.call('Input.dispatchKeyEvent', Object.assign({type: text ? 'keyDown' : 'rawKeyDown'}, event, text ? {text} : {}));
    await this.call('Input.dispatchKeyEvent', Object.assign({type: 'keyUp'}, event));
  }
  // Fingers at [[x, y], ...]; none: they are lifted.
  touch(type, ...points) {
    return this.call('Input.dispatchTouchEvent', {type: 'touch' + type, touchPoints: points.map(([x, y], id) => ({x, y, id}))});
  }
  // By its value, or by {label}.
  async selectOption(css, choice) {
    await this.locator(css).evaluate((select, wanted) => {
      const fits = (one) => (wanted.label === undefined ? one.value === wanted : one.textContent === wanted.label);
      const option = [...select.options].find(fits);
      if (!option) throw new Error('no option ' + JSON.stringify(wanted));
      select.value = option.value;
      for (const type of ['input', 'change']) select.dispatchEvent(new Event(type, {bubbles: true}));
    }, choice);
  }
  setViewportSize({width, height}) {
    return this.call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  }
  emulateMedia({colorScheme}) {
    return this.call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: colorScheme}]});
  }
  // Its whole length.
  async screenshot({path}) {
    const {data} = await this.call('Page.captureScreenshot', {format: 'png', captureBeyondViewport: true,
      clip: Object.assign({x: 0, y: 0, scale: 1}, await this.evaluate(() =>
        ({width: innerWidth, height: document.documentElement.scrollHeight})))});
    tellHost({do: 'write', path, data, base64: true});
  }
  async close() {
    listeners.delete(this.session);
    await callBrowser('Target.closeTarget', {targetId: this.target});
  }
}

const newPage = async () => {
  const {targetId} = await callBrowser('Target.createTarget', {url: 'about:blank'});
  const {sessionId} = await callBrowser('Target.attachToTarget', {targetId, flatten: true});
  const page = new Page(targetId, sessionId);
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.call(domain + '.enable');
  await page.call('Emulation.setFocusEmulationEnabled', {enabled: true});
  await page.setViewportSize({width: 1200, height: 900});
  return page;
};

module.exports = {newPage};
