import { URLLike } from './client.js';
import { Shared } from './share.js';
import { FollowedList, ListOptions } from './store.js';

export { FollowedList, ListOptions };

/** A readable store that follows a list while somebody subscribes to it. */
export interface ListStore<Item = any, Header = any, List = any> {
  subscribe(run: (list: FollowedList<Item, Header, List>) => void): () => void;
}

export function list<Item = any, Header = any, List = any>(
  server: URLLike | Shared, options: ListOptions<Item, Header, List>): ListStore<Item, Header, List>;
