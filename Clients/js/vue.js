// `useList` for Vue 3: a list that is followed while a component shows it.

import { onMounted, onUnmounted, shallowRef } from 'vue';
import { listStore } from './store.js';

export function useList(url, options) {
  const store = listStore(url, options);
  const list = shallowRef(store.get());
  const take = () => { list.value = store.get(); };
  let stop;
  onMounted(() => { stop = store.subscribe(take); });
  onUnmounted(() => stop());
  return list;
}
