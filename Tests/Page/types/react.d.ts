// The part of React's types that the guides use; Debian has none.

declare module 'react' {
  export function memo<Props>(component: (props: Props) => unknown): (props: Props & { key?: string | number }) => any;
  export function useCallback<Does>(does: Does, inputs: unknown[]): Does;
  export function createElement(type: unknown, props?: object | null, ...children: unknown[]): unknown;
}
declare module 'react-dom/client' {
  export function createRoot(container: Element | null): { render(element: unknown): void };
}
declare namespace JSX {
  interface IntrinsicElements { [name: string]: { key?: string | number; [name: string]: unknown } }
}
