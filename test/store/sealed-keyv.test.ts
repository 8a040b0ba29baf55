import { describe } from 'vitest';
import { engines } from '../support/engines.js';
import { keyvContract } from './sealed-keyv.contract.js';

describe.each(engines)('keyv on %s', (_, freshUrl) => keyvContract(freshUrl));
