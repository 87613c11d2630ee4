// A readable store by Svelte's contract: `$list` follows the list while a component shows it.

import { listStore } from './store.js';

export function list(url, options) {
  const { subscribe, get } = listStore(url, options);
  return {
    subscribe(run) {
      run(get());
      return subscribe(() => run(get()));
    },
  };
}
