// The search of a site opened from disk. Sphinx's search fetches the pages it found to quote from them, and browsers
// refuse to fetch from disk: there its requests are answered from searchtexts.js, which holds the text of every page.
if (location.protocol === "file:") {
  const root = document.documentElement.dataset.content_root;
  const texts = new Promise((resolve) => {
    window.kvPageTexts = resolve; // what searchtexts.js calls
  });
  const script = document.createElement("script");
  script.src = `${root}_static/searchtexts.js`;
  document.head.append(script);
  window.fetch = async (address) => new Response(`<div role="main">${(await texts)[address.slice(root.length)]}</div>`);
}
