import { useMemo, useSyncExternalStore } from 'react';

/** The views, in the order of the navigation. */
export const views = [
  'live',
  'shipments',
  'payments',
  'notes',
  'appointments',
  'webhooks',
  'gateway',
  'sandbox',
] as const;

/** A view's name in its address. */
export type View = (typeof views)[number];

/** What the address names: `#/<view>/<id>?<parameters>`. */
export interface Place {
  readonly view: View;
  readonly id: string | undefined;
  readonly params: Readonly<Record<string, string>>;
}

/** The place that the address names; it changes with the back button, too. */
export function usePlace(): Place {
  const hash = useSyncExternalStore(listen, () => location.hash);
  return useMemo(() => placeOf(hash), [hash]);
}

/** The place of an address' hash; one that is not known is the first view. */
function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [name = '', id] = path.split('/', 2).map(decode);
  const view = views.find((known) => known === name) ?? 'live';
  return { view, id: id || undefined, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Whether an address shows what is shown now, but perhaps for other parameters. */
export function isShown(url: string): boolean {
  const [there, here] = [new URL(url).hash, location.hash].map(placeOf);
  return there?.view === here?.view && there?.id === here?.id;
}

/** The address of a place; parameters without a value are left out. */
export function hrefOf(
  view: View,
  id?: string,
  params: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => !!pair[1]);
  const query = new URLSearchParams(given).toString();
  // Half of a surrogate pair, as an id may have it, has no place in an address.
  const path = id === undefined ? '' : `/${encodeURIComponent(id.toWellFormed())}`;
  return `#/${view}${path}${query && `?${query}`}`;
}

/** Goes to an address of `hrefOf`; `replace` leaves no step for the back button, as for each key typed into a filter. */
export function goTo(href: string, { replace = false } = {}): void {
  if (!replace) location.hash = href;
  else {
    history.replaceState(null, '', href);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

function listen(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

/** A part of an address that was typed or pasted may not be decodable. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
