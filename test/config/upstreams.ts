/** Every required upstream setting, and nothing else. */
export const upstreams = {
  NOTES_BASE_URL: 'https://notes.example/v1',
  APPOINTMENTS_BASE_URL: 'https://appointments.example/v1/',
  APPOINTMENTS_AUTH_URL: 'https://issuer.example',
  APPOINTMENTS_CLIENT_ID: 'client-id-value',
  APPOINTMENTS_CLIENT_SECRET: 'client-secret-value',
  SHIPMENT_WEBHOOKS: 'sub_1=shipment-secret-value',
  PAYMENT_WEBHOOKS: 'we_1=payment-secret-value',
};
