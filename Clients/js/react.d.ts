import { URLLike } from './client.js';
import { Shared } from './share.js';
import { FollowedList, ListOptions } from './store.js';

export { FollowedList, ListOptions };

/**
 * Follows a list while the component is mounted. Another list is followed when the address or an option changes, except
 * for a `window`, which is moved, and functions, of which the newest is used.
 */
export function useList<Item = any, Header = any, List = any>(
  server: URLLike | Shared, options: ListOptions<Item, Header, List>): FollowedList<Item, Header, List>;
