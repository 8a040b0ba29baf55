import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.js';
import { type Answer, json, HttpError, type Request, type Route } from './http.js';
import { createTokens } from './tokens.js';

/** How a test inspects and controls the token issuer. */
export interface IssuerControl {
  /** Makes every access token invalid. */
  revokeTokens(): void;
  /** Limits the tokens issued from now on to these scopes. */
  grantScopes(...scopes: readonly string[]): void;
  /** The access tokens issued so far. */
  readonly issued: readonly string[];
}

/** The token issuer of the appointment service. */
export interface Issuer {
  readonly control: IssuerControl;
  readonly routes: readonly Route[];
  readonly clientId: string;
  readonly clientSecret: string;
  /** The scopes of a valid token. */
  scopesOf(token: string | undefined): readonly string[] | undefined;
}

const lifetimeSeconds = 3600;
const knownScopes = ['records:read', 'appointments:read', 'appointments:write'];

/** An issuer with one registered client, for OAuth 2.0 client credentials (apis/appointments.md §4, §5). */
export function createIssuer(
  clock: Clock,
  clientSecret: string = randomBytes(24).toString('base64url'),
): Issuer {
  const clientId = 'sandbox-client';
  const tokens = createTokens<readonly string[]>(clock, lifetimeSeconds * 1000);
  let granted: readonly string[] = knownScopes;

  function giveToken(request: Request): Answer {
    const { grant_type, client_id, client_secret, scope } = request.json();
    if (grant_type !== 'client_credentials') throw refuseOAuth(400, 'unsupported_grant_type');
    if (client_id !== clientId || client_secret !== clientSecret) throw refuseOAuth(401, 'invalid_client');
    const scopes = readScopes(scope).filter((name) => granted.includes(name));
    return json(200, {
      access_token: tokens.issue(scopes),
      token_type: 'bearer',
      expires_in: lifetimeSeconds,
      scope: scopes.join(' '),
    });
  }

  return {
    control: {
      revokeTokens: () => void tokens.revoke(),
      grantScopes: (...scopes) => void (granted = scopes),
      issued: tokens.issued,
    },
    routes: [{ method: 'POST', path: '/oauth/token', handle: giveToken }],
    clientId,
    clientSecret,
    scopesOf: (token) => tokens.find(token),
  };
}

function readScopes(scope: unknown): string[] {
  const scopes = typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [];
  if (scopes.length === 0) throw refuseOAuth(400, 'invalid_request');
  if (!scopes.every((name) => knownScopes.includes(name))) throw refuseOAuth(400, 'invalid_scope');
  return scopes;
}

/** An OAuth 2.0 error response. */
function refuseOAuth(status: number, error: string): HttpError {
  return new HttpError(json(status, { error }));
}
