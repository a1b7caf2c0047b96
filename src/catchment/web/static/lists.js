// Rows that are chosen: several with Shift, and a bar that says what can be done to them.
let last = null;
let chosen = new Set();

function boxes() {
  return [...document.querySelectorAll("tbody input[type=checkbox][name=id]")];
}

function count() {
  const bar = document.querySelector(".bulk");
  if (!bar) return;
  chosen = new Set(boxes().filter((box) => box.checked).map((box) => box.value));
  bar.hidden = chosen.size === 0;
  const told = bar.querySelector("[data-chosen]");
  if (told) told.textContent = told.dataset.chosen.replace("{count}", chosen.size);
}

// What was chosen stays so where it was refused.
function chooseAgain() {
  const isRefused = document.querySelector("#notice [data-mood=bad]");
  if (isRefused) for (const box of boxes()) box.checked = chosen.has(box.value);
  count();
}

function onClick(event) {
  if (event.target.matches("[data-all]")) {
    for (const box of boxes()) box.checked = event.target.checked;
    count();
    return;
  }
  if (!event.target.matches("tbody input[type=checkbox][name=id]")) return;
  const all = boxes();
  const [from, to] = [all.indexOf(last), all.indexOf(event.target)].sort((a, b) => a - b);
  if (event.shiftKey && from >= 0) for (const box of all.slice(from, to + 1)) box.checked = event.target.checked;
  last = event.target;
  count();
}

export function startLists() {
  addEventListener("click", onClick);
  addEventListener("taken", chooseAgain);
  count();
}
