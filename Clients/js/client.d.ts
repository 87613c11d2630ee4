// Types of diffserver-client 0.2.0. They need no DOM library: without one, elements are `any`.

/**
 * A string, or an integer up to 2^53 - 1; larger ones come as strings, and must be sent as strings. `1` and `"1"` are
 * the same id.
 */
export type ID = string | number;
/** Which rows of which state; opaque, compared for equality. */
export type Revision = string;
/**
 * `keyed` is applied here; the changes of any other are passed on unchanged. `counts` are never adopted: each answer
 * says how far the head is from `since`.
 */
export type Dialect = keyof Changes;

/** A visible item. Defaults are left out. */
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

/** A section without its rows. */
export interface SectionValue<Header = any> {
  id: ID;
  content?: Header;
  /** Default true. */
  expanded?: boolean;
}

export interface Section<Item = any, Header = any> extends SectionValue<Header> {
  /** Its rows, depth first, never nested. */
  items: Row<Item>[];
}

/** The visible rows. */
export interface State<Item = any, Header = any, List = any> {
  /** What the list shows besides its rows, such as a title or the next page's cursor. */
  content?: List;
  sections: Section<Item, Header>[];
}

/**
 * One step of a `keyed` changeset. `before: null` is the end. Sections and rows share the names of operations; each
 * declares the other's members as undefined, so `op` and then `section` tell them apart.
 */
export type Operation<Item = any, Header = any> = SectionOperation<Header, Item> | RowOperation<Item>;

/** A step about one section. */
export type SectionOperation<Header = any, Item = any> = { item?: undefined; items?: undefined; in?: undefined } & (
  | { op: 'insert'; section: SectionValue<Header> & { items?: Row<Item>[] }; before: ID | null; as?: undefined }
  | { op: 'move'; section: ID; before: ID | null; as?: undefined }
  | { op: 'remove'; section: ID; before?: undefined; as?: undefined }
  | { op: 'update'; section: ChangedSection<Header>; as: Manner; before?: undefined });

/** A step about rows. */
export type RowOperation<Item = any> = { section?: undefined } & (
  | { op: 'insert'; items: Row<Item>[]; in: ID; before: ID | null; item?: undefined; as?: undefined }
  | { op: 'move'; item: ID; in: ID; before: ID | null; items?: undefined; as?: undefined }
  | { op: 'remove'; items: ID[]; item?: undefined; in?: undefined; before?: undefined; as?: undefined }
  | { op: 'update'; items: ChangedRow<Item>[]; as: Manner; item?: undefined; in?: undefined; before?: undefined });

export type Manner = 'reconfigure' | 'reload';

export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };

/** A test of an item, at a pointer into it such as `/id`, `/kind` or `/content/price`; `any` holds where one of its tests does. */
export type Test = { any: Test[] } | ({ at: string; fold?: boolean } & (
  | { is: JSONValue }
  | { not: JSONValue }
  | { in: JSONValue[] }
  | { below: number | string }
  | { above: number | string }
  | { atMost: number | string }
  | { atLeast: number | string }
  | { has: string }
  | { exists: boolean }));

/** The part of a session to follow, applied in this order. */
export interface View {
  /** These sections only. */
  sections?: ID[];
  /** Items for which all tests hold. */
  where?: Test[];
  /** How siblings are sorted. */
  order?: { at: string; descending?: boolean }[];
  /** Sections by a value of the items, or by its first characters. */
  group?: { at: string; prefix?: number };
  /** How sections are sorted. */
  sectionOrder?: { at: string; descending?: boolean }[];
  /** `false`: no sections without items. */
  emptySections?: boolean;
  /** Collapsed for this reader alone. */
  collapsed?: { sections?: ID[]; items?: ID[] };
  /** The first items of the top level. */
  limit?: number;
  /** The members of items' contents to keep. */
  fields?: string[];
  sectionFields?: string[];
  listFields?: string[];
}

/** Rows around one of them, the anchor, over all sections in order. At most 1,000 on either side. */
export type ListWindow = {
  /** Rows before the anchor; default 0, with `end` 50. */
  before?: number;
  /** Rows after the anchor; default 50, with `end` 0. */
  after?: number;
} & (
  /** Always the first row, the last, or the one with this number. */
  | { at: 'start' | 'end' | number }
  /** The row with this id, wherever it goes. */
  | { around: ID });

/** One edit; `docs/api/edits.md` describes each. */
export type Edit<Item = any, Header = any> =
  | { op: 'insert'; items: (NewItem<Item> | ID)[] } & Placed<IntoParent>
  | { op: 'insert'; sections: NewSection<Item, Header>[] } & Placed<never>
  /** Elements of a document, or with `map` an object of them, which the shape reads. */
  | { op: 'insert'; elements: unknown[] | Record<string, unknown> } & Placed<IntoParent>
  | { op: 'move'; items: ID[] } & Placed<IntoParent>
  | { op: 'move'; sections: ID[] } & Placed<never>
  | { op: 'update'; items: ({ id: ID; kind?: string; expanded?: boolean } & NewContent<Item>)[] }
  | { op: 'update'; sections: ({ id: ID; expanded?: boolean } & NewContent<Header>)[] }
  | { op: 'delete' | 'reload' | 'reconfigure' | 'expand' | 'collapse' | 'clear'; items: ID[] }
  | { op: 'delete' | 'reload' | 'reconfigure' | 'expand' | 'collapse' | 'clear'; sections: ID[] }
  | { op: 'clear' };

/** Where an edit puts things: by a sibling, into a parent, at an end, or at the end of all. */
type Placed<Into> = { before: Siblings } | { after: Siblings } | Into | { at?: 'start' | 'end' };
type IntoParent = { into: ID | { section: ID } | { item: ID }; at?: 'start' | 'end' };

/** Null is the end for `before` and the start for `after`; the first that exists of a list counts. */
type Siblings = ID | null | [...ID[], ID | null];

/**
 * Replaced as a whole; or changed as it is by then, by a merge patch, by what is added to the numbers at JSON Pointers,
 * and by what is put behind the strings there.
 */
type NewContent<Content> =
  | { content?: Content; patch?: undefined; add?: undefined; append?: undefined }
  | { content?: undefined; patch?: Patch<Content>; add?: Record<string, number>; append?: Record<string, string> };

/** A merge patch (RFC 7396): null removes an optional member, and arrays are replaced as a whole. */
export type Patch<Content> = Content extends readonly unknown[] ? Content
  : Content extends object ? {
    [Name in keyof Content]?:
      Patch<Exclude<Content[Name], null | undefined>> | (undefined extends Content[Name] ? null : never);
  } : Content;

/** An item as written, with everything below it. */
export interface NewItem<Content = any> {
  id: ID;
  content?: Content;
  kind?: string;
  expanded?: boolean;
  items?: readonly (NewItem<Content> | ID)[] | null;
}

/** A section as written. */
export interface NewSection<Item = any, Header = any> extends SectionValue<Header> {
  items?: readonly (NewItem<Item> | ID)[] | null;
}

/** A state as written; a list of items alone is one section. */
export type NewState<Item = any, Header = any, List = any> =
  | readonly (NewItem<Item> | ID)[]
  | { content?: List; items: readonly (NewItem<Item> | ID)[] | null }
  | { content?: List; sections: readonly NewSection<Item, Header>[] | null };

/** What changed, by dialect; docs/api/dialects.md has an example of each. */
export interface Changes<Item = any, Header = any> {
  keyed: Operation<Item, Header>[];
  indexed: {
    sections?: Indexes<number, { section: SectionValue<Header> }, { from: number; section: ChangedSection<Header> }>;
    items?: Indexes<Path, { item: Row<Item> }, { from: Path; item: ChangedRow<Item> }>;
  };
  staged: Stage<Item, Header>[];
  diffable: {
    sections: { id: ID; items: ID[] }[];
    reload: ID[];
    reconfigure: ID[];
    reloadSections: ID[];
    reconfigureSections: ID[];
    /** The new or changed items. */
    items: ChangedRow<Item>[];
    sectionContents: ChangedSection<Header>[];
  };
  sequential: Splice<Item, Header>[];
  counts: { sections?: Counts; items?: Counts };
  'json-patch': PatchOperation[];
}

/** Section and row. */
export type Path = [section: number, row: number];
/**
 * What may stand instead of a content: a JSON merge patch (RFC 7396), with `content: 'delta'` also texts that come behind
 * the strings at JSON Pointers, after the patch.
 */
export interface ContentChange {
  patch?: unknown;
  append?: Record<string, string>;
}

/** All of a row again. */
export interface ChangedRow<Item = any> extends Omit<Row<Item>, 'parent'>, ContentChange {
  parent?: ID | null;
}

/** The same for a section, without its rows. */
export interface ChangedSection<Header = any> extends SectionValue<Header>, ContentChange {}

export interface Indexes<Place, Inserted, Updated> {
  deleted?: Place[];
  inserted?: (Inserted & { at: Place })[];
  moved?: { from: Place; to: Place }[];
  updated?: (Updated & { at: Place; as: Manner })[];
}

/** One `performBatchUpdates`. */
export interface Stage<Item = any, Header = any> {
  name: string;
  /** The rows of each section after it. */
  counts: number[];
  sections?: Indexes<number, { section: Section<Item, Header> }, { section: ChangedSection<Header> }>;
  items?: Indexes<Path, { item: Row<Item> }, { item: ChangedRow<Item> }>;
}

/** A row of the one flat list; a section with content is its header. */
export type FlatRow<Item = any, Header = any> =
  | { item: ChangedRow<Item>; in: ID }
  | { section: ChangedSection<Header> };

export type Splice<Item = any, Header = any> =
  | { op: 'remove'; at: number; count: number }
  | { op: 'insert'; at: number; rows: FlatRow<Item, Header>[] }
  | { op: 'move'; from: number; to: number; in?: ID }
  | { op: 'update'; at: number; rows: FlatRow<Item, Header>[]; as: Manner };

/** How many, without zeros. */
export interface Counts {
  deleted?: number;
  inserted?: number;
  moved?: number;
  updated?: number;
}

/** RFC 6902. */
export type PatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: JSONValue }
  | { op: 'remove'; path: string }
  | { op: 'move' | 'copy'; from: string; path: string };

/** The members of every answer. */
export interface AnswerBase<D extends Dialect = Dialect> {
  session: string;
  to: Revision;
  dialect: D;
  /** In a window: the id of its anchor, and how many rows are outside. */
  window?: { anchor: ID | null; above: number; below: number };
  warnings?: { code: string; pointer?: string; id?: ID }[];
}

/** The server's answer: either `changes`, or `reset` with `state`; for counts, with `rows`. */
export type Answer<D extends Dialect = 'keyed', Item = any, Header = any, List = any> =
  D extends Dialect ? ChangesAnswer<D, Item, Header, List> | ResetAnswer<D, Item, Header, List> : never;

export interface ChangesAnswer<D extends Dialect = 'keyed', Item = any, Header = any, List = any>
  extends AnswerBase<D> {
  from: Revision;
  /**
   * Leads from what is shown to what should be shown. If `from` and `to` are equal, this client's edits are shown or
   * taken back. Absent only for a loop that was too busy for some states.
   */
  changes?: Changes<Item, Header>[D];
  /** Only while edits are pending: the server's own changes, between the states without them. */
  told?: Changes<Item, Header>[D];
  /** The list's own content, if it differs from that at `from`; `{}` if there is none any more. */
  list?: { content?: List } & ContentChange;
  reset?: undefined;
  state?: undefined;
  rows?: undefined;
}

export type ResetAnswer<D extends Dialect = 'keyed', Item = any, Header = any, List = any> = AnswerBase<D> & {
  from: Revision | null;
  /** Why everything is sent again. A later server may give other reasons. */
  reset: 'initial' | 'expired' | 'unknown' | 'replaced' | 'reloaded' | 'large';
  changes?: undefined;
  told?: undefined;
  list?: undefined;
} & (D extends 'counts'
  ? { state?: undefined; /** How many rows there are. */ rows: number }
  : { state: D extends 'json-patch' ? NestedState<Item, Header, List> : State<Item, Header, List>; rows?: undefined });

/** The document that json-patch refers to: items hold items. */
export interface NestedState<Item = any, Header = any, List = any> {
  content?: List;
  sections: (SectionValue<Header> & { items: NestedItem<Item>[] })[];
}

export interface NestedItem<Item = any> extends Omit<Row<Item>, 'level' | 'parent' | 'children'> {
  items?: NestedItem<Item>[];
}

/** RFC 9457. */
export interface Problem {
  /** The path of a page about it, such as `/problems/invalid-edit`. */
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  instance?: string;
  /** Each place in the request's body that breaks a rule. */
  errors?: Violation[];
  /** With 412: the head. */
  current?: Revision | null;
}

/** One place in a body that breaks a rule. */
export interface Violation {
  /** A JSON Pointer (RFC 6901) into the body, such as `/edits/0/before`. */
  pointer: string;
  /** A short name for programs, such as `anchor-not-found`. */
  code: string;
  /** For people. */
  detail: string;
}

export type Status =
  /**
   * The list is followed, by a stream or by polls. With `stale`, what is shown may be old: its source, or the server's
   * store, has been silent for so many seconds. It is told again without, once that is over.
   */
  | { status: 'live'; transport: 'stream' | 'poll'; stale?: number; problem?: undefined; delay?: undefined }
  /**
   * It asks again in `delay` milliseconds; what is shown stays. A session that does not exist is reported once, with
   * the status 404, or 401 without a token; with a `delay` of 0 an open stream waits for it.
   */
  | { status: 'waiting'; problem: Problem; delay: number; stale?: undefined; transport?: undefined }
  /** Asking again cannot help: the token is refused, the request is wrong, or the server has no such path. */
  | { status: 'stopped'; problem: Problem; delay?: undefined; stale?: undefined; transport?: undefined };

/** The part of a state that is kept: rows in the dialect keyed, nothing in the others. */
export type Shown<D extends Dialect, Item = any, Header = any, List = any> =
  D extends 'keyed' ? State<Item, Header, List> : null;

/** The signal of an `AbortController`. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason?: any;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface ConnectOptions<D extends Dialect = 'keyed', Item = any, Header = any, List = any> {
  session: string;
  /**
   * A key or token. A function is called before each request, so that a token can be renewed; then 401 is tried again.
   */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Where an earlier connection ended; with `state`, it continues from there. */
  since?: Revision | null;
  /** The rows at `since`. */
  state?: State<Item, Header, List> | null;
  /** Default `keyed`, the only one in which the state is kept. */
  dialect?: D;
  /**
   * `patch` sends only what changed in a content, where that is smaller; `delta` of a text that grew, only the rest.
   * Default `delta` for `keyed`, of an older server `patch`; `full` for the other dialects.
   */
  content?: 'full' | 'patch' | 'delta';
  /** The part of the session to follow; by default, all of it. */
  view?: View;
  /** The rows to follow; by default, all of them. Not with `counts` and `json-patch`. */
  window?: ListWindow | null;
  /** `poll` if streams cannot be read at all. Otherwise a stream is tried, and polling is the fallback. */
  transport?: 'poll';
  /**
   * Asks about once in so many seconds (at most a day), in place of a stream: for a public session behind a cache, where
   * the requests of all readers that have the same are one.
   */
  poll?: number | null;
  /** Closes the connection when it is aborted. */
  signal?: Signal;
  /**
   * Called with each answer that brings news, and with what edits change at once; `state` is what to show, null in
   * dialects other than keyed.
   */
  onChange?: (state: Shown<D, Item, Header, List>, answer: Answer<D, Item, Header, List>) => void;
  onStatus?: (status: Status) => void;
  /** Called whenever other writes wait for the server than before. */
  onPending?: (pending: Pending) => void;
}

/** Writes that the server has not answered yet. */
export interface Pending {
  readonly count: number;
  /** Whether one of them names the row or the section; with `of`, only the one or the other. */
  has(id: ID, of?: 'items' | 'sections'): boolean;
}

export interface WriteOptions {
  /** The write is refused with 412 if the head is another one; then `problem.current` is the head. */
  ifMatch?: Revision;
  signal?: Signal;
  /** How many milliseconds it is tried for; default 60,000. */
  timeout?: number;
}

/** How to read one list that is not in the server's form; docs/api/shapes.md. */
export interface Shape {
  itemsAt?: string;
  idAt?: string;
  kindAt?: string;
  childrenAt?: string;
  expandedAt?: string;
  sectionsAt?: string;
  sectionIdAt?: string;
  sectionExpandedAt?: string;
  groupAt?: string;
  groupPrefix?: number;
  idScope?: 'section' | 'state';
  idBy?: 'match';
  map?: boolean;
  rest?: true | string;
  duplicates?: 'first' | 'refuse';
  missing?: 'empty' | 'refuse';
  invalid?: 'skip' | 'refuse';
}

/** The shape that a session keeps. Here an id may have several parts, and `rest` may name several members. */
export interface KeptShape extends Omit<Shape, 'idAt' | 'rest'> {
  idAt?: string | string[];
  rest?: true | string | string[];
}

/** What `GET …/settings` answers. */
export interface Settings {
  ttl: number;
  ignore: string[];
  keep: 'expanded'[];
  public: boolean;
  shape?: KeptShape;
}

/** What PUT takes of them, beside a `state` or alone; null is the default. */
export type NewSettings = { [Name in keyof Settings]?: Settings[Name] | null };

/** Shapes that say where something is, as a shape must. */
type Located = { [Name in 'itemsAt' | 'idAt' | 'kindAt' | 'childrenAt' | 'expandedAt' | 'sectionsAt' | 'sectionIdAt'
  | 'sectionExpandedAt' | 'groupAt' | 'idBy']: Shape & Required<Pick<Shape, Name>> };

export interface PostOptions extends WriteOptions {
  /** Redraw all rows, for every reader. */
  reload?: boolean;
}

/** A state with these contents; any JSON if the connection was given none. */
type Posted<Item, Header, List> = 0 extends 1 & Item ? unknown : NewState<Item, Header, List>;

/** One update of a loop over a connection. */
export interface Update<D extends Dialect = 'keyed', Item = any, Header = any, List = any> {
  state: Shown<D, Item, Header, List>;
  answer: Answer<D, Item, Header, List>;
}

/**
 * A loop over it, `for await (const { state, answer } of connection)`, gets the newest state, at first the current one.
 * If the loop was too busy for some states, the next has no `changes`: `bind` shows it as a whole. In other dialects
 * except counts, it gets every answer since it began. It ends when the connection is closed or aborted, throws a
 * `ProblemError` when asking again cannot help, and closes the connection when it is left.
 */
export interface Connection<D extends Dialect = 'keyed', Item = any, Header = any, List = any>
  extends AsyncIterable<Update<D, Item, Header, List>> {
  /** The rows at `revision`, without pending edits; null before the first answer, and in dialects other than keyed. */
  readonly state: Shown<D, Item, Header, List> | null;
  readonly revision: Revision | null;
  /** The place of the window's rows, from the last answer. */
  readonly window?: AnswerBase['window'];
  /** Writes that wait for the server; a new object for each change. */
  readonly pending: Pending;
  /** The seconds of silence, if the list's source or the server's store is silent; see `Status`. */
  readonly stale?: number;
  readonly status: 'connecting' | 'live' | 'waiting' | 'stopped' | 'closed';
  /**
   * Follows another window, or with null all rows. It is requested at once, from `revision`: rows that stay are not
   * sent again. What is shown stays until the answer comes, to `onChange`. Without a window, requests the same one
   * again.
   */
  show(window?: ListWindow | null): void;
  /**
   * Shows edits at once, and sends them when the earlier writes are done. They are applied to every newer list that
   * comes, until the list holds them; refused ones are taken back. Loads `edits.js` from beside this module on the
   * first call.
   *
   * Lost answers, 408, 425, 429 and 5xx are tried again, for `timeout` milliseconds, under one key, so that nothing is
   * done twice.
   *
   * @returns the revision that holds them
   * @throws `ProblemError`, once they are taken back; or the signal's reason
   */
  edit(edits: Edit<Item, Header>[], options?: WriteOptions): Promise<Revision>;
  /**
   * Sends the list's new state, when the earlier writes are done, and makes the session if there is none. It is tried
   * again as an edit is. Nothing is shown before the server has answered.
   *
   * @param state an array of ids and items, or an object with `sections` or `items`; with a `Shape`, any JSON. If the
   *   session keeps its shape, connect without naming contents, and any JSON is taken.
   * @returns the revision that holds it
   * @throws `ProblemError`; or the signal's reason
   */
  post(state: Posted<Item, Header, List>, options?: PostOptions): Promise<Revision>;
  post(document: unknown, options: PostOptions & Located[keyof Located]): Promise<Revision>;
  /** Asks again at once: instead of waiting, instead of a request that may be dead, and after `stopped`. */
  reconnect(): void;
  /** Ends it. No callback is called any more. */
  close(): void;
}

/** A refusal, or the reason why there was no answer. */
export class ProblemError extends Error {
  readonly problem: Problem;
}

/**
 * Follows a session until it is closed: over an event stream, or by long polls where streams do not get through. After
 * 404, 429, 503 and the end of a stream it keeps what is shown, waits as `Retry-After` says, and continues from its
 * revision. In browsers it stops waiting when they are online or the page is visible again, unless the server named the
 * time.
 *
 * `Item` is the content of rows, `Header` that of sections, `List` that of the list.
 *
 * @param url where the server is, such as `https://lists.example.org`; '' is the origin of the page. The path of a
 *   proxy that has the server below one ends with a slash: `/lists/`.
 * @throws `TypeError`, at once, if there is no session, or if the address or `poll` cannot be one
 */
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'keyed', Item, Header, List> & { dialect?: 'keyed' },
): Connection<'keyed', Item, Header, List>;
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'indexed', Item, Header, List> & { dialect: 'indexed' },
): Connection<'indexed', Item, Header, List>;
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'staged', Item, Header, List> & { dialect: 'staged' },
): Connection<'staged', Item, Header, List>;
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'diffable', Item, Header, List> & { dialect: 'diffable' },
): Connection<'diffable', Item, Header, List>;
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'sequential', Item, Header, List> & { dialect: 'sequential' },
): Connection<'sequential', Item, Header, List>;
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'counts', Item, Header, List> & { dialect: 'counts' },
): Connection<'counts', Item, Header, List>;
export function connect<Item = any, Header = any, List = any>(
  url: URLLike, options: ConnectOptions<'json-patch', Item, Header, List> & { dialect: 'json-patch' },
): Connection<'json-patch', Item, Header, List>;

/** A string or a `URL`. */
export type URLLike = string | { readonly href: string; toString(): string };

/** The rows after `keyed` changes. Pure: unchanged sections and rows are the same objects as before. */
export function apply<S extends State>(state: S, changes: Operation[], list?: ChangesAnswer['list']): S;

/** DOM elements, if their types exist. */
type Of<Name extends string> =
  typeof globalThis extends { [name in Name]: { prototype: infer Element } } ? Element : any;

export interface BindOptions<Item = any, Header = any> {
  /**
   * Makes the element of a row, or renews the one that shows it. A returned element replaces the old one; `undefined`
   * keeps it.
   */
  render: (row: Row<Item>, element?: Of<'HTMLElement'>) => Of<'HTMLElement'> | void;
  /**
   * The same for a section. Its rows go into the first `[data-rows]` inside it, else into the element itself, which
   * must stay.
   */
  renderSection?: (section: Section<Item, Header>, element?: Of<'HTMLElement'>) => Of<'HTMLElement'> | void;
  /** The duration of a glide in milliseconds; default 250. */
  duration?: number;
  /** At most this many elements glide or fade; default 1,000. With more, none does. */
  limit?: number;
}

export interface Binding<Item = any, Header = any> {
  /**
   * Shows `state`. With the `changes` that led to it, applies exactly these; without, sets everything again, using the
   * existing elements. Elements carry the id in `data-id`.
   */
  show(state: State<Item, Header>, changes?: Operation<Item, Header>[]): void;
}

/**
 * Shows rows as elements in `container`, by id. Moves are animated, unless reduced motion is requested; the focus
 * stays.
 *
 * @throws `TypeError` for null, which `getElementById` gives if there is no such element
 */
export function bind<Item = any, Header = any>(
  container: Of<'Element'> | null, options: BindOptions<Item, Header>,
): Binding<Item, Header>;

/**
 * Reads server-sent events from pieces of text that may break anywhere. `retry`, and the `id` of an event without data,
 * are reported as events of that name.
 */
export function eventParser(emit: (type: string, data: string) => void): (text: string) => void;
