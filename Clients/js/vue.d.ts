import { ShallowRef } from 'vue';
import { URLLike } from './client.js';
import { Shared } from './share.js';
import { FollowedList, ListOptions } from './store.js';

export { FollowedList, ListOptions };

/** Follows a list while the component is mounted. Call it in the component's set-up. Options are read once. */
export function useList<Item = any, Header = any, List = any>(
  server: URLLike | Shared, options: ListOptions<Item, Header, List>,
): Readonly<ShallowRef<FollowedList<Item, Header, List>>>;
