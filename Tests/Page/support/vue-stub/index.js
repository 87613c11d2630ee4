// A stand-in for Vue 3, which Debian lacks: the parts that the adapter uses, and a component mounted by hand. It shows
// that the adapter keeps to these few functions, not that it works in Vue.

let hooks;

export const shallowRef = (value) => ({ value });
export const onMounted = (hook) => hooks.mounted.push(hook);
export const onUnmounted = (hook) => hooks.unmounted.push(hook);

/** Runs a component's set-up; returns its result, and how to mount and unmount. */
export function component(setup) {
  const own = hooks = { mounted: [], unmounted: [] };
  const given = setup();
  hooks = undefined;
  const run = (name) => () => { for (const hook of own[name]) hook(); };
  return { given, mount: run('mounted'), unmount: run('unmounted') };
}
