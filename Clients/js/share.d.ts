import { Connection, ConnectOptions, Dialect, URLLike } from './client.js';

/** Options common to all lists. */
export interface ShareOptions extends Pick<ConnectOptions, 'token' | 'transport' | 'poll'> {}

/** Options of a single list. */
export type SharedOptions<D extends Dialect = 'keyed', Item = any, Header = any, List = any> =
  Omit<ConnectOptions<D, Item, Header, List>, 'token' | 'transport' | 'poll'>;

/** Lists of one server followed over one stream; the adapters take it instead of an address. */
export interface Shared {
  /**
   * Follows a session as `connect` of `diffserver-client` does, over one stream with all others of the same dialect and
   * `content`, up to 64 of them. With a view or a window it has its own stream.
   */
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'keyed', Item, Header, List> & { dialect?: 'keyed' },
  ): Connection<'keyed', Item, Header, List>;
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'indexed', Item, Header, List> & { dialect: 'indexed' },
  ): Connection<'indexed', Item, Header, List>;
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'staged', Item, Header, List> & { dialect: 'staged' },
  ): Connection<'staged', Item, Header, List>;
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'diffable', Item, Header, List> & { dialect: 'diffable' },
  ): Connection<'diffable', Item, Header, List>;
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'sequential', Item, Header, List> & { dialect: 'sequential' },
  ): Connection<'sequential', Item, Header, List>;
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'counts', Item, Header, List> & { dialect: 'counts' },
  ): Connection<'counts', Item, Header, List>;
  connect<Item = any, Header = any, List = any>(
    options: SharedOptions<'json-patch', Item, Header, List> & { dialect: 'json-patch' },
  ): Connection<'json-patch', Item, Header, List>;
}

/**
 * Makes lists share a stream and everything that goes with it: one request when lists come and go, one back-off when
 * the server is out of reach, and one poll where streams do not get through. What concerns only one list, such as a
 * missing session or one that may not be read, is reported to that list.
 *
 * @param url where the server is; '' is the origin of the page
 */
export function share(url: URLLike, options?: ShareOptions): Shared;
