/** How many seconds old a webhook's signature may be, absent if it may be any age, and how many ahead of the clock. */
export interface SignatureTimes {
  readonly maxAge?: number;
  readonly maxAhead?: number;
}

/** What the gateway tells its console in the page. */
export interface PageSettings {
  readonly version: string;
  readonly signatureTimes?: Readonly<Record<'shipments' | 'payments', SignatureTimes>>;
  readonly sandbox?: {
    readonly url: string;
    readonly users: readonly { readonly name: string; readonly email: string; readonly password: string }[];
  };
}

/** The settings of this page; those of a page that was not served by a gateway are empty. */
export const pageSettings = readSettings();

/** The address of the sandbox that the gateway has started, for a page that is open on the same machine: no other reaches it. */
export const sandboxUrl = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname)
  ? pageSettings.sandbox?.url
  : undefined;

function readSettings(): PageSettings {
  const content = document.querySelector<HTMLMetaElement>('meta[name="trivium"]')?.content ?? '';
  try {
    return JSON.parse(content) as PageSettings;
  } catch {
    return { version: '' };
  }
}
