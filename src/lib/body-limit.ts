/** How large the body of a request may be, in bytes: a delivery's or any other. */
export const maxBodyBytes = 1024 * 1024;
