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

export interface GlideOptions {
  /** The duration of a glide in milliseconds; default 250. */
  duration?: number;
  /** With more rows than this, none glides; default 1,000. */
  limit?: number;
}

/**
 * Rows that move glide to their places, and new ones fade in, unless the user prefers reduced motion. Call it in the
 * component that renders the rows.
 *
 * @param rows what is rendered: nothing moves unless it is another object than before
 * @returns the `ref` of the element whose children the rows are
 */
export function useGlide(rows: readonly unknown[], options?: GlideOptions): { current: any };
