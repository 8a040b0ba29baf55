import { listen } from './listen.js';
import { answerOperation } from './operations.js';

/** The base of the queries. */
listen((request, body) => answerOperation(request, body));
