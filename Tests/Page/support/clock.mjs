// Where tests in JavaScript wait, as Tests/EndToEnd/support/clock.py for those in Python; a script in a browser has these
// functions as well (browser.py). What can be seen is waited for, with a limit that only ends a hang. A time of its own has
// a reason: a clock of the product has to run, or somebody in the test keeps a pace, and each call says which. Nothing else
// sleeps (.ci/check-sleeps).

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const wordsOf = (what) => (typeof what === 'function' ? what() : what);

/** Waits until a claim holds, which may be asynchronous. `what` may be a function, called at the end. */
export async function waitFor(claim, what = () => claim, every = 4) {
  const end = performance.now() + 20_000;
  while (!await claim()) {
    if (performance.now() > end) throw new Error(`never came to be: ${wordsOf(what)}`);
    await sleep(every);
  }
}

/** What a promise gives, which is waited for in the same way. */
export const limited = (promise, what) => Promise.race([promise, new Promise((_, reject) => {
  setTimeout(() => reject(new Error(`never came to be: ${wordsOf(what)}`)), 8_000).unref();
})]);

/** Throws unless a claim holds now and for so long: what must not happen gets the time to happen. */
export async function stays(claim, what, ms) {
  const end = performance.now() + ms;
  for (let isLast = false; !isLast;) {
    isLast = performance.now() >= end;
    if (!await claim()) throw new Error(`did not stay so: ${wordsOf(what)}`);
    if (!isLast) await sleep(4);
  }
}

/** Lets a clock of the product run, of which nothing is to be seen until it has: `clock` names it. */
export const letPass = (ms, clock) => sleep(ms);

/** The pace of somebody in the test: a client between two requests, a server that is slow. */
export const pause = (ms, whose) => sleep(ms);

/** Draws when the next action comes, so that others are met at any point of their work. */
export const pauseAtRandom = (pick, most, least = 0) => sleep(least + pick(most - least));

/** `pause` beside what goes on: somebody acts later. */
export const later = (ms, whose, action) => { setTimeout(action, ms); };
