/** The operations of the sign-in bar; the gateway trusts them always. */
export const viewerQuery = 'query Viewer { viewer { email name grants } }';
/** Signs in; the gateway answers with a cookie, so no token is selected. */
export const signInMutation =
  'mutation SignIn($input: SignInInput!) { signIn(input: $input) { errors { message } } }';
/** Ends the session of the cookie. */
export const signOutMutation = 'mutation SignOut { signOut { signedOut } }';
