import type { ReactElement } from 'react';

/** Paths on a grid of 20, drawn as lines. */
const paths = {
  pulse: 'M2 10h3.5l2.5-6 4 12 2.5-6H18',
  box: 'M10 2.5 17 6v8l-7 3.5L3 14V6zM3 6l7 3.5L17 6M10 9.5v8',
  card: 'M3.5 4.5h13a1.5 1.5 0 0 1 1.5 1.5v8a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 2 14V6a1.5 1.5 0 0 1 1.5-1.5zM2 8.5h16M5 12.5h3',
  note: 'M5 2.5h7l4 4v11H5zM12 2.5v4h4M8 10.5h5M8 13.5h5',
  calendar: 'M3.5 4.5h13v12h-13zM3.5 8.5h13M7 2.5v4M13 2.5v4',
  hook: 'M10 6.5a2.5 2.5 0 1 0-2.2-1.3L5.5 10.500M5 11a3 3 0 1 0 3 3h6M14 14a2.500 2.500 0 1 0 .6-3.600L12 6',
  server: 'M3.500 3.500h13v5h-13zM3.500 11.500h13v5h-13zM6.500 6h.01M6.500 14h.01',
  braces:
    'M7.500 3H6a2 2 0 0 0-2 2v2.500L2.500 10 4 12.500V15a2 2 0 0 0 2 2h1.500M12.500 3H14a2 2 0 0 1 2 2v2.500l1.500 2.500-1.500 2.500V15a2 2 0 0 1-2 2h-1.500',
  book: 'M10 5c-1.500-1.300-3.700-2-7-2v12c3.300 0 5.500.7 7 2 1.500-1.300 3.700-2 7-2V3c-3.300 0-5.500.7-7 2zM10 5v12',
  play: 'M3 5.5h14v11H3zM7 2.500v3M13 2.500v3M8.500 8.500v5l4-2.500z',
  pin: 'M7 2.500h6l-.7 5.500 2.700 3H5l2.700-3zM10 11v6.500',
  close: 'M5 5l10 10M15 5 5 15',
  back: 'M12 4l-6 6 6 6',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon beside a text that says the same. */
export function Icon({ name }: { readonly name: IconName }): ReactElement {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** Trivium's mark: where three roads meet. */
export function Mark(): ReactElement {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 17.5V27M16 17.5 7 7.5M16 17.5 25 7.5" />
      <circle cx="16" cy="17.5" r="4" />
    </svg>
  );
}
