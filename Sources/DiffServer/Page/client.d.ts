/** A string, or an integer up to 2^53. `1` and `"1"` are the same id. */
export type ID = string | number;
/** Which rows of which state; opaque, compared for equality. */
export type Revision = string;
/**
 * `keyed` is applied here; the changes of any other are handed on as they came. `counts` are never adopted: each answer
 * says how far the head is from `since`.
 */
export type Dialect = 'keyed' | 'indexed' | 'staged' | 'diffable' | 'sequential' | 'counts' | 'json-patch' | (string & {});

/** A visible item. What is the default is left out. */
export interface Row<Content = any> {
  id: ID;
  content?: Content;
  /** The cell type. */
  kind?: string;
  /** How deep it is nested; default 0. */
  level?: number;
  parent?: ID;
  /** Default true. */
  expanded?: boolean;
  /** How many direct children it has, hidden ones included; default 0. */
  children?: number;
}

export interface Section<Content = any, SectionContent = any> {
  id: ID;
  content?: SectionContent;
  /** Default true. */
  expanded?: boolean;
  /** Its rows, depth first, never nested. */
  items: Row<Content>[];
}

/** The visible rows. */
export interface State<Content = any, SectionContent = any> {
  /** What the list shows besides its rows, such as a title or the next page's cursor. */
  content?: any;
  sections: Section<Content, SectionContent>[];
}

/** One step of a `keyed` changeset. `before: null` is the end. */
export type Operation =
  | { op: 'insert'; section: Omit<Section, 'items'> & { items?: Row[] }; before: ID | null }
  | { op: 'move'; section: ID; before: ID | null }
  | { op: 'remove'; section: ID }
  | { op: 'update'; section: Omit<Section, 'items'> & { patch?: unknown }; as: Manner }
  | { op: 'insert'; items: Row[]; in: ID; before: ID | null }
  | { op: 'move'; item: ID; in: ID; before: ID | null }
  | { op: 'remove'; items: ID[] }
  | { op: 'update'; items: (Omit<Row, 'parent'> & { parent?: ID | null; patch?: unknown })[]; as: Manner };

export type Manner = 'reconfigure' | 'reload';

export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };

/** A test of an item, at a pointer into it such as `/id`, `/kind` or `/content/price`. */
export type Test = { at: string } & (
  | { is: JSONValue }
  | { not: JSONValue }
  | { in: JSONValue[] }
  | { below: number | string }
  | { above: number | string }
  | { atMost: number | string }
  | { atLeast: number | string }
  | { has: string }
  | { exists: boolean });

/** What is followed of a session, applied in this order. */
export interface View {
  /** These sections only. */
  sections?: ID[];
  /** Items for which all tests hold. */
  where?: Test[];
  /** How siblings are sorted. */
  order?: { at: string; descending?: boolean }[];
  /** The first items of the top level. */
  limit?: number;
  /** Contents of items, with these members only. */
  fields?: string[];
  sectionFields?: string[];
  listFields?: string[];
}

/** Rows around one of them, the anchor, over all sections in order. At most 1,000 on either side. */
export type ListWindow = {
  /** Rows before the anchor; default 0, with `end` 50. */
  before?: number;
  /** Rows behind the anchor; default 50, with `end` 0. */
  after?: number;
} & (
  /** Always the first row, the last, or the one of this number. */
  | { at: 'start' | 'end' | number }
  /** The row with this id, wherever it goes. */
  | { around: ID });

/** One edit; `docs/api.md` tells what each does. */
export type Edit =
  | { op: 'insert'; items: (Item | ID)[] } & Placed<{ into: ID | { section: ID } | { item: ID }; at?: 'start' | 'end' }>
  | { op: 'insert'; sections: (Omit<Section, 'items'> & { items?: (Item | ID)[] })[] } & Placed<never>
  | { op: 'move'; items: ID[] } & Placed<{ into: ID | { section: ID } | { item: ID }; at?: 'start' | 'end' }>
  | { op: 'move'; sections: ID[] } & Placed<never>
  | { op: 'update'; items: { id: ID; content?: unknown; kind?: string; expanded?: boolean }[] }
  | { op: 'update'; sections: { id: ID; content?: unknown; expanded?: boolean }[] }
  | { op: 'delete' | 'reload' | 'reconfigure' | 'expand' | 'collapse' | 'clear'; items: ID[] }
  | { op: 'delete' | 'reload' | 'reconfigure' | 'expand' | 'collapse' | 'clear'; sections: ID[] }
  | { op: 'clear' };

/** Where an edit puts things: by a sibling, into a parent, at an end, or at the end of all. */
type Placed<Into> = { before: ID } | { after: ID } | Into | { at?: 'start' | 'end' };

export interface Item {
  id: ID;
  content?: unknown;
  kind?: string;
  expanded?: boolean;
  items?: (Item | ID)[];
}

/** What the server answers: either `changes`, or `reset` with `state`. */
export interface Answer {
  session: string;
  from: Revision | null;
  to: Revision;
  dialect: Dialect;
  /**
   * `Operation[]` in the dialect keyed: what leads from what is shown to what is to be shown. Where `from` and `to` are the
   * same, edits of one's own are shown, or taken back.
   */
  changes?: any;
  /** Only while edits are pending: the server's own changes, between the states without them. */
  told?: Operation[];
  /** The list's own content, where it is another than at `from`; `{}` where there is none any more. */
  list?: { content?: unknown; patch?: unknown };
  /** Why everything comes anew. The list is open. */
  reset?: 'initial' | 'expired' | 'unknown' | 'replaced' | 'reloaded' | 'large' | (string & {});
  state?: any;
  /** In place of `state`, in the dialect counts: how many rows there are. */
  rows?: number;
  /** In a window: the id of its anchor, and how many rows are outside of it. */
  window?: { anchor: ID | null; above: number; below: number };
  warnings?: { code: string; pointer?: string; id?: ID }[];
}

/** RFC 9457. */
export interface Problem {
  /** The path of a page about it, such as `/problems/invalid-edit`. */
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  instance?: string;
  errors?: { pointer: string; code: string; detail?: string }[];
}

export type Status =
  /** Something arrived, over a stream or by a poll. */
  | { status: 'live'; transport: 'stream' | 'poll' }
  /** It asks again in `delay` milliseconds; what is shown stays. */
  | { status: 'waiting'; problem: Problem; delay: number }
  /** Asking again cannot help: the token is refused, or the request is wrong. */
  | { status: 'stopped'; problem: Problem };

export interface ConnectOptions {
  session: string;
  /** A key or token. A function is asked before each request, so that a token can be renewed; then 401 is tried again. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Where an earlier connection ended; with `state`, it goes on from there. */
  since?: Revision | null;
  /** The rows at `since`. */
  state?: State | null;
  /** Default `keyed`, the only one in which the state is kept. */
  dialect?: Dialect;
  /** `patch` sends what changed of a content, where that is smaller. */
  content?: 'full' | 'patch';
  /** What is followed of the session; all of it, if there is none. */
  view?: View;
  /** Which rows are followed; all of them, if there is none. Not with `counts` and `json-patch`. */
  window?: ListWindow | null;
  /** `poll` where streams cannot be read at all. Otherwise a stream is tried, and polling is the fallback. */
  transport?: 'poll';
  /**
   * Called with each answer that brings news, and with what edits change at once; `state` is what is to be shown, null in
   * dialects other than keyed.
   */
  onChange?: (state: State, answer: Answer) => void;
  onStatus?: (status: Status) => void;
}

export interface Connection {
  /** The rows at `revision`, without edits that are pending; null before the first answer, and in dialects other than keyed. */
  readonly state: State | null;
  readonly revision: Revision | null;
  /** Where the rows of the window stand, as the last answer said. */
  readonly window?: Answer['window'];
  readonly status: 'connecting' | 'live' | 'waiting' | 'stopped' | 'closed';
  /**
   * Follows another window, or with null all rows. It is asked for at once, from `revision`: rows that stay are not sent
   * again. What is shown stays until the answer comes, to `onChange`. Without a window the same one is asked for anew.
   */
  show(window?: ListWindow | null): void;
  /**
   * Shows edits at once, and sends them when those before are done. They are done to every newer list that comes, until
   * that holds them; refused ones are taken back. Loads `edits.js` from beside this module when it is first called.
   *
   * Lost answers, 408, 425, 429 and 5xx are tried again, for `timeout` milliseconds (default 60,000), under one key, so that
   * nothing is done twice.
   *
   * @returns the revision that holds them
   * @throws an error with the `problem`, once they are taken back; or the signal's reason
   */
  edit(edits: Edit[], options?: { signal?: AbortSignal; timeout?: number }): Promise<Revision>;
  /** Ends it. No callback is called any more. */
  close(): void;
}

/**
 * Follows a session until it is closed: over an event stream, by long polls where streams do not get through. After 404,
 * 429, 503 and the end of a stream it keeps what is shown, waits as `Retry-After` says, and goes on from its revision.
 *
 * @param url where the server is; '' is the origin of the page
 */
export function connect(url: string | URL, options: ConnectOptions): Connection;

/** The rows after `keyed` changes. Pure: sections and rows that did not change are the same objects as before. */
export function apply<S extends State>(state: S, changes: Operation[], list?: Answer['list']): S;

export interface BindOptions<Content = any, SectionContent = any> {
  /**
   * Makes the element of a row, or renews the one that shows it. If it returns another element, that takes the place of
   * the old; `undefined` keeps the old.
   */
  render: (row: Row<Content>, element?: HTMLElement) => HTMLElement | void;
  /** The same for a section. Its rows go into the first `[data-rows]` inside it, else into the element itself, which must stay. */
  renderSection?: (section: Section<Content, SectionContent>, element?: HTMLElement) => HTMLElement | void;
  /** Of a glide in milliseconds; default 250. */
  duration?: number;
  /** With more rows than this nothing glides; default 1,000. */
  limit?: number;
}

export interface Binding {
  /**
   * Shows `state`. With the `changes` that led to it, exactly these are done; without, everything is set anew, with the
   * elements that are there. Elements carry the id in `data-id`.
   */
  show(state: State, changes?: Operation[]): void;
}

/** Shows rows as elements in `container`, by id. What moves glides, unless reduced motion is asked for; the focus stays. */
export function bind(container: Element, options: BindOptions): Binding;

/**
 * Reads server-sent events from pieces of text that may break anywhere. `retry`, and the `id` of an event without data,
 * come as events of that name.
 */
export function eventParser(emit: (type: string, data: string) => void): (text: string) => void;
