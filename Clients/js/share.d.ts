import { Connection, ConnectOptions, Dialect, URLLike } from './client.js';

/** What is the same for all lists. */
export interface ShareOptions extends Pick<ConnectOptions, 'token' | 'transport'> {}

/** What a list has to itself. */
export type SharedOptions<D extends Dialect = 'keyed', Item = any, Header = any, List = any> =
  Omit<ConnectOptions<D, Item, Header, List>, 'token' | 'transport'>;

/** Lists of one server that are followed over one stream; the adapters take it in place of an address. */
export interface Shared {
  /**
   * Follows a session as `connect` of `diffserver-client` does, over one stream with all others of the same dialect and
   * `content`, up to 64 of them. With a view or a window it is followed over a stream of its own.
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
 * Has lists share a stream, and what goes with it: one request when lists come and go, one back-off where the server is
 * out of reach, and one poll where streams do not get through. What concerns one list alone, as that its session does
 * not exist or may not be read, is told to that one.
 *
 * @param url where the server is; '' is the origin of the page
 */
export function share(url: URLLike, options?: ShareOptions): Shared;
