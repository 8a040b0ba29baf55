/** The operations of the sign-in bar; the gateway trusts them always. */
export const viewerQuery = 'query Viewer { viewer { email name grants } }';
export const signInMutation =
  'mutation SignIn($input: SignInInput!) { signIn(input: $input) { errors { message } } }';
export const signOutMutation = 'mutation SignOut { signOut { signedOut } }';
