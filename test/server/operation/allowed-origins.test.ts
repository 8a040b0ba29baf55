import { describe, expect, test } from 'vitest';
import { ownOrigins } from '../../../src/server/operation/allowed-origins.js';

describe("the gateway's own origins", () => {
  const loopback = (port: string) => [
    `http://localhost${port}`,
    `http://127.0.0.1${port}`,
    `http://[::1]${port}`,
  ];

  test.each([
    ['127.0.0.1', 4000, ['http://127.0.0.1:4000', ...loopback(':4000')]],
    ['127.0.0.1', 80, ['http://127.0.0.1', ...loopback('')]],
    ['::', 80, ['http://[::]', ...loopback('')]],
    ['Gateway', 443, ['http://gateway:443', ...loopback(':443')]],
    ['fe80::1%eth0', 4000, loopback(':4000')],
  ])('at %s, port %i, are as a browser writes them', (host, port, origins) => {
    expect(ownOrigins(host, port, undefined)).toEqual(origins);
  });

  test('are only that of the public URL if there is one', () => {
    expect(ownOrigins('127.0.0.1', 80, 'https://api.example')).toEqual(['https://api.example']);
  });
});
