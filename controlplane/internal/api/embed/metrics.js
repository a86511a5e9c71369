// Shows public counters on a page and counts events of it.
//
//   <script src="https://PORTAL/api/developer/embed/metrics.js" data-event="page_view" async></script>
//   <span data-modelgate-metric="page_view"></span>            shows a counter
//   <button data-modelgate-track="snippet_copied">Copy</button>  counts clicks
//
// data-event is counted once when the page loads; empty counts nothing. Nothing is stored in the browser and no cookie is
// sent. When the portal cannot be reached the page stays as it is.
(() => {
  "use strict";
  const script = document.currentScript;
  if (!script || !script.src) return;
  const base = new URL("../", script.src);

  function call(path, init) {
    return fetch(new URL(path, base), { credentials: "omit", ...init }).then((answer) => {
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      return answer.json();
    });
  }

  // A plain string is sent as text, which needs no question to the portal first when the page is of another origin.
  function track(event) {
    return call("track", { method: "POST", body: JSON.stringify({ event }), keepalive: true }).catch(() => {});
  }

  function show() {
    const places = [...document.querySelectorAll("[data-modelgate-metric]")];
    if (places.length === 0) return Promise.resolve();
    return call("metrics/formatted")
      .then(({ metrics }) => {
        const texts = new Map(metrics.map((metric) => [metric.event, metric.text]));
        for (const place of places) place.textContent = texts.get(place.dataset.modelgateMetric) ?? "0";
      })
      .catch(() => {});
  }

  function start() {
    const event = script.dataset.event ?? "page_view";
    return (event === "" ? Promise.resolve() : track(event)).then(show);
  }

  document.addEventListener("click", (click) => {
    const place = click.target instanceof Element && click.target.closest("[data-modelgate-track]");
    if (place) track(place.dataset.modelgateTrack).then(show);
  });
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
