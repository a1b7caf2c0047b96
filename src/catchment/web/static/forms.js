// Forms without a reload: what the server answers is a page, of which the content and the notice are taken over.
import { keepOpen, listenAgain, sameAs } from "./live.js";
import { tellTimes } from "./times.js";

const PREVIEW_MILLISECONDS = 250;
const CHANGED = "changed";
const SEARCHED = " searched";

// What is under way is not sent once more: a key that is shown once would be gone with the first answer.
const underWay = new Set();

async function submit(form, submitter) {
  const sent = submitter ?? form;
  if (underWay.has(sent)) return;
  const main = document.getElementById("main");
  const fields = new FormData(form, submitter);
  const hasFile = [...fields.values()].some((value) => value instanceof File && value.size > 0);
  const body = hasFile ? fields : new URLSearchParams([...fields].filter(([, value]) => typeof value === "string"));
  underWay.add(sent);
  main.classList.add("dim");
  main.setAttribute("aria-busy", "true");
  const answer = await ask(form, body);
  underWay.delete(sent);
  main.classList.remove("dim");
  main.removeAttribute("aria-busy");
  if (answer) takeOver(answer.page, answer.url);
  else tellUnanswered();
}

// The page that the server answers with; nothing where it did not, or where only a proxy before it did.
async function ask(form, body) {
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.getElementById("main") && { page, url: answer.url };
  } catch {
    return null;
  }
}

// What was typed stays where it is.
function tellUnanswered() {
  const told = document.createElement("p");
  told.textContent = document.body.dataset.unanswered;
  const line = document.createElement("div");
  Object.assign(line, { className: "notice", role: "alert" }).dataset.mood = "bad";
  line.append(told);
  document.getElementById("notice").replaceChildren(line);
  line.scrollIntoView({ block: "nearest" });
}

// The address whose page is shown: a form may have led to another one.
let shown = location.pathname;

function takeOver(page, address) {
  const { pathname } = new URL(address);
  const isElsewhere = pathname !== shown;
  const place = document.activeElement;
  shown = pathname;
  // Whoever was refused goes on where they were.
  if (page.querySelector("#notice [data-mood=bad]")) keepOpen(document.getElementById("main"), page.getElementById("main"));
  // The bar marks where one is.
  for (const id of isElsewhere ? ["menu", "notice", "main"] : ["notice", "main"]) {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (old && fresh) old.replaceChildren(...fresh.childNodes);
  }
  document.title = page.title;
  const { liveOf, seen } = page.body.dataset;
  document.body.dataset.seen = seen ?? "";
  document.body.dataset.liveOf = liveOf ?? "";
  history[isElsewhere ? "pushState" : "replaceState"](null, "", address);
  tellTimes();
  if (isElsewhere) scrollTo(0, 0);
  goOnFrom(place);
  document.querySelector("#main [data-ready]")?.scrollIntoView({ block: "nearest" });
  dispatchEvent(new Event("taken"));
  listenAgain();
}

// Whoever works by keyboard goes on with what comes next, or where they were.
function goOnFrom(place) {
  const main = document.getElementById("main");
  (main.querySelector("[autofocus]") ?? sameAs(place, main) ?? main).focus({ preventScroll: true });
}

// An arrow key changes a list at once, which leads to another page: the next arrow is meant for the same list.
// Whoever searched goes on with what was found, and what can be done with it.
function goOnWithChanged() {
  const name = sessionStorage.getItem(CHANGED);
  sessionStorage.removeItem(CHANGED);
  if (name === SEARCHED) document.getElementById("main").focus({ preventScroll: true });
  [...document.querySelectorAll("[data-now]")].find((one) => one.name === name)?.focus({ preventScroll: true });
}

// Enter looks up what was pasted; Shift+Enter adds a line.
function onEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches("textarea[data-enter]")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

// A file that is dropped anywhere on a page that takes files is meant for it: else the browser would go to the file.
function onDrop(event) {
  const form = document.querySelector("form.drop");
  if (!form || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  form.classList.toggle("over", event.type === "dragover");
  const folded = form.closest("details");
  if (folded) folded.open = true;
  if (event.type !== "drop" || !event.dataTransfer.files.length) return;
  form.elements.file.files = event.dataTransfer.files;
  form.requestSubmit();
}

// What a form would come to is shown while it is being filled in.
let soon = 0;
let asked = 0;

function previewSoon(event) {
  const form = event.target.form;
  if (!form?.dataset.preview) return;
  clearTimeout(soon);
  soon = setTimeout(() => preview(form), PREVIEW_MILLISECONDS);
}

async function preview(form) {
  const body = new URLSearchParams(new FormData(form));
  const turn = ++asked;
  body.set("do", "preview");
  const answer = await ask(form, body);
  // A later question may have been answered sooner.
  if (turn !== asked || !answer) return;
  for (const id of form.dataset.preview.split(" ")) {
    const [old, fresh] = [document.getElementById(id), answer.page.getElementById(id)];
    // A button that stays the same keeps the focus.
    if (old && fresh && old.innerHTML !== fresh.innerHTML) old.replaceChildren(...fresh.childNodes);
  }
  tellTimes();
}

async function copy(button) {
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Only pages by HTTPS may use the clipboard; this older way works elsewhere.
    document.execCommand("copy");
  }
  button.textContent = button.dataset.done;
}

export function startForms() {
  document.documentElement.classList.add("scripted");
  addEventListener("input", previewSoon);
  addEventListener("submit", (event) => {
    if (event.target.matches("[role=search]")) sessionStorage.setItem(CHANGED, sessionStorage.getItem(CHANGED) ?? SEARCHED);
    if (event.defaultPrevented || !event.target.matches("form[data-quick]")) return;
    event.preventDefault();
    submit(event.target, event.submitter);
  });
  addEventListener("keydown", onEnter);
  for (const type of ["dragover", "dragleave", "drop"]) addEventListener(type, onDrop);
  addEventListener("change", (event) => {
    if (!event.target.matches("[data-now]")) return;
    sessionStorage.setItem(CHANGED, event.target.name);
    event.target.form.requestSubmit();
  });
  goOnWithChanged();
  addEventListener("click", (event) => {
    // Who clicks twice means it once: by then another button may stand there, such as the one that takes it back.
    if (event.detail > 1 && event.target.closest("form[method=post] button")) event.preventDefault();
    const opener = event.target.closest("[data-opens]");
    const dialog = opener && document.getElementById(opener.dataset.opens);
    if (dialog) {
      event.preventDefault();
      dialog.showModal();
    }
    if (event.target.matches("button.menu")) toggle(event.target);
    if (event.target.matches("[data-copy]")) copy(event.target);
  });
  // What was taken over is not what the browser has of a page that it goes back to.
  addEventListener("popstate", () => location.pathname === shown || location.reload());
  addEventListener("taken", fold);
  fold();
}

// On a phone, some things are behind a button.
function fold() {
  for (const button of document.querySelectorAll("button.menu[aria-expanded=false]")) behind(button).classList.add("folded");
}

function toggle(button) {
  const folded = behind(button).classList.toggle("folded");
  button.setAttribute("aria-expanded", String(!folded));
}

function behind(button) {
  return document.getElementById(button.getAttribute("aria-controls"));
}
