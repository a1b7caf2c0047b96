// The keyboard: / searches, a adds a source, g and a letter goes to a page, j and k walk through the rows, o f p e act on one, ? tells.
let before = "";
let here = null;

const ACTS = { o: "[data-open]", f: "[data-fetch]", p: "[data-pause]", e: "[data-edit]" };

function walk(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  if (!rows.length) return;
  const place = rows.findIndex((row) => row.id === here);
  const next = rows[Math.min(Math.max(place + step, 0), rows.length - 1)];
  for (const row of rows) row.classList.toggle("here", row === next);
  here = next.id;
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("[data-open]")?.focus({ preventScroll: true });
}

function act(selector) {
  const row = here && document.getElementById(here);
  (row?.querySelector(selector) ?? document.querySelector(`.head ${selector}`))?.click();
}

function add() {
  const way = document.querySelector("[data-add]");
  const field = document.getElementById("pasted");
  if (field) field.focus();
  else if (way) location.assign(way.dataset.add);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select, dialog[open]")) return;
  const key = event.key;
  const place = before === "g" && document.querySelector(`nav [data-key="${CSS.escape(key)}"]`);
  before = key;
  if (place) place.click();
  else if (key === "/") document.getElementById("find").focus();
  else if (key === "?") document.getElementById("keyboard").showModal();
  else if (key === "a") add();
  else if (key === "j") walk(1);
  else if (key === "k") walk(-1);
  else if (ACTS[key]) act(ACTS[key]);
  else return;
  event.preventDefault();
}

export function startKeys() {
  addEventListener("keydown", onKey);
  addEventListener("taken", () => document.getElementById(here)?.classList.add("here"));
}
