/** Puts the address of the gateway that serves this page in place of the usual one: examples run here as they are copied. */
const usual = 'http://127.0.0.1:4000';
const own = (text) => text.replaceAll(usual, location.origin);

for (const link of document.querySelectorAll(`a[href^="${usual}"]`)) {
  link.href = own(link.href);
  link.textContent = own(link.textContent);
}
for (const code of document.querySelectorAll('pre')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = own(texts.currentNode.data);
}
