"use strict";
// The page works without this: it opens the lines around a place that was linked
// to where the browser does not, and all of them at once, for a reader or a printer.
const all = () => document.querySelectorAll("details");

function reveal() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    return;
  }
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let e = target; e; e = e.parentElement) if (e.localName === "details") e.open = true;
  target.scrollIntoView({ block: target.localName === "pre" ? "center" : "start" });
}
addEventListener("hashchange", reveal);
addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[href^='#']");
  // A place that is linked to again, after it was closed, changes no address.
  if (link && link.getAttribute("href") === location.hash) reveal();
});
reveal();

for (const button of document.querySelectorAll(".tools button")) {
  button.addEventListener("click", () => {
    for (const d of all()) d.open = button.dataset.open === "true";
  });
}
document.querySelector(".tools").hidden = false;

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...all()].filter((d) => !d.open);
  for (const d of closed) d.open = true;
});
addEventListener("afterprint", () => {
  for (const d of closed) d.open = false;
  closed = [];
});
