/** Whether a token can be sent in a header: visible ASCII, which is more than RFC 6750 §2.1 allows. */
export function isSendable(token: string): boolean {
  return /^[!-~]+$/.test(token);
}
