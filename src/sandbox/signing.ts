import { createHmac } from 'node:crypto';

/** The value of `Shipping-Signature`: hex HMAC-SHA256 of the raw body alone (apis/webhooks.md §5). */
export function signShipment(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${hmac(secret, body)}`;
}

/** The value of `Payments-Signature`, with a `v0` while a previous secret is valid (apis/webhooks.md §5). */
export function signPayment(
  secret: string,
  previous: string | undefined,
  seconds: number,
  body: string,
): string {
  const signed = `${seconds}.${body}`;
  const current = `t=${seconds},v1=${hmac(secret, signed)}`;
  return previous === undefined ? current : `${current},v0=${hmac(previous, signed)}`;
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}
