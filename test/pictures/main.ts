/** `npm run pictures`: draws the pictures of the documentation. */
import { makePlots } from './plots.js';

makePlots('docs/pictures');
