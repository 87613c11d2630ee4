import { AnswerBase, Connection, ConnectOptions, ListWindow, Pending, Problem, Row, State } from './client.js';

export type ListOptions<Item = any, Header = any, List = any> =
  Omit<ConnectOptions<'keyed', Item, Header, List>, 'dialect' | 'signal' | 'onChange' | 'onStatus' | 'onPending'>;

/** A list as shown; a new object whenever anything changes. Unchanged rows are the same objects. */
export interface FollowedList<Item = any, Header = any, List = any> {
  /** Null before the first answer. */
  readonly state: State<Item, Header, List> | null;
  /** The rows of all sections. */
  readonly rows: readonly Row<Item>[];
  readonly status: 'connecting' | 'live' | 'waiting' | 'stopped';
  /** Why it waits, or has stopped. */
  readonly problem: Problem | null;
  /** The seconds of silence, if the list's source or the server's store is silent: what is shown may be old. */
  readonly stale?: number;
  /** Writes that wait for the server. */
  readonly pending: Pending;
  /** The place of the window's rows. */
  readonly window: AnswerBase['window'];
  readonly edit: Connection<'keyed', Item, Header, List>['edit'];
  readonly post: Connection<'keyed', Item, Header, List>['post'];
  readonly reconnect: () => void;
  /** Follows another window, or all rows. */
  readonly show: (window?: ListWindow | null) => void;
}
